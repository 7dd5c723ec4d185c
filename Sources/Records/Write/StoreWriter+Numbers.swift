package import FetchIndexModels

extension StoreWriter {
    /// As `insert`, of an object with a given number, as a file has it that was made of a store. Throws `invalidValue` for one that
    /// was given out before, or is too great. O(log n).
    @discardableResult
    package func insert(_ entity: Int, _ record: RawSpan, as number: UInt64) throws -> RecordKey {
        try requireChangeable()
        let state = try entityState(entity)
        guard number >= state.nextObject else {
            throw invalid(
                entity, "is \(number), and the numbers below \(state.nextObject) are not given to new objects any more")
        }
        guard number <= state.greatestNext else {
            throw invalid(
                entity,
                "is \(number), and the next object of the entity has a number from \(state.nextObject) to \(state.greatestNext)"
            )
        }
        if let completed = try completed(entity, record) {
            return try insertCompleted(entity, completed.span.bytes, as: number)
        }
        return try insertCompleted(entity, record, as: number)
    }

    private func invalid(_ entity: Int, _ reason: String) -> StoreError {
        .invalidValue(entity: model.entities[entity].name, attribute: RecordKey.numberName(), reason)
    }
}

extension EntityState {
    /// Scans ask for the objects of every number, so numbers with large gaps would make them slow.
    private static let mostSkipped: UInt64 = 1 << 28

    /// The greatest number that the next object may have.
    var greatestNext: UInt64 { min(nextObject + Self.mostSkipped, RecordKey.firstTemporaryNumber - 1) }

    func skipping(to number: UInt64) -> EntityState {
        var state = self
        state.nextObject = max(nextObject, min(number, greatestNext))
        return state
    }
}
