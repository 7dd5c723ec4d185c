package import FetchIndexModels
internal import FetchIndexCountedTree

extension SectionedOrder {
    /// How many row keys are less than some bytes. O(log n).
    package func rowRank(of key: [UInt8]) throws -> Int { try rows.rank(of: key.span.bytes).before.count }

    /// Hands out the objects of row keys between two ranks, in the order of the row keys: of a sectioned order by section
    /// value, not as sections are displayed. O(log n + rows). Traps unless the ranks are the tree's.
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
