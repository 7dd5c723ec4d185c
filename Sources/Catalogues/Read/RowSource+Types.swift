internal import FetchIndexValues

/// Thrown to end a reading early, because the remaining rows can't change the result.
private struct Decided: Error {}

extension RowSource {
    /// Infers the types of the asked columns from all remaining rows; all other columns are text. Errors that end the
    /// reading are ignored here, because `forEachRow` throws them later. O(bytes), less if all columns are text.
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
