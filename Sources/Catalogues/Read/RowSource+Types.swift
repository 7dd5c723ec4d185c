internal import FetchIndexValues

/// Ends a reading early if the remaining rows can't change the result.
private struct Decided: Error {}

extension RowSource {
    /// Infers the types of some columns from all remaining rows; the others are text. Errors that end the reading are
    /// ignored here, because `forEachRow` throws them later. O(bytes), less if all columns are text.
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
