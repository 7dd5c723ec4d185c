package import FetchIndexModels
internal import FetchIndexCountedTree

extension SectionedOrder {
    /// The number of row keys that are less than these bytes. O(log n).
    package func rowRank(of key: [UInt8]) throws -> Int { try rows.rank(of: key.span.bytes).before.count }

    /// Calls the body with the objects of the rows in a range of ranks of the rows tree, in the order of the tree's
    /// keys or backwards, until the body returns false. The sections are then sorted by value, not as they are displayed.
    /// Leaves out ranks after the last row's. O(log n + rows).
    package func walkObjects(
        ranks: Range<Int>, isBackward: Bool = false, _ body: (RecordKey) throws -> Bool
    ) throws {
        let ranks = ranks.clamped(to: 0..<rowCount)
        guard let first = isBackward ? ranks.last : ranks.first else { return }
        var left = ranks.count
        try rows.walk(from: first, isBackward ? .backward : .forward) { row in
            guard let object = RowKey.object(in: row.key, entity: entity) else {
                throw Self.corrupted("a row key is too short")
            }
            left -= 1
            return try body(object) && left > 0
        }
    }
}
