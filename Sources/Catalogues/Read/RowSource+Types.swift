internal import FetchIndexValues

/// Ends a reading whose rest decides nothing.
private struct Decided: Error {}

extension RowSource {
    /// The types of some columns from all rows that are left; text for others. What ends the reading is met again, by those who read
    /// the rows. O(bytes), less when all are text.
    func readTypes(of asked: Set<Int>, key: String?) -> [ValueType] {
        var inference = TypeInference(
            columns: columns.count, key: key.flatMap { columns.firstIndex(of: $0) }, asked: asked)
        let count = columns.count
        do {
            try forEachRow(
                { row in
                    if row.count == count { inference.note(row) }
                    if inference.isDecided { throw Decided() }
                }, bad: { _ in })
        } catch {}
        return inference.types
    }
}
