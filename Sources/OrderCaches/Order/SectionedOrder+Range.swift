package import FetchIndexModels
internal import FetchIndexCountedTree

extension SectionedOrder {
    /// The number of row keys that are less than some bytes. O(log n).
    package func rowRank(of key: [UInt8]) throws -> Int { try rows.rank(of: key.span.bytes).before.count }

    /// Passes the objects of the row keys in a range of ranks to the body, in the order of the keys: a sectioned order
    /// is sorted by section value here, not as sections are displayed. O(log n + rows). Traps unless the tree has these
    /// ranks.
    package func walkObjects(ranks: Range<Int>, _ body: (RecordKey) throws -> Void) throws {
        guard !ranks.isEmpty else { return }
        var left = ranks.count
        try rows.walk(from: ranks.lowerBound) { row in
            guard let object = RowKey.object(in: row.key, entity: entity) else {
                throw Self.corrupted("a row key is too short")
            }
            try body(object)
            left -= 1
            return left > 0
        }
    }
}
