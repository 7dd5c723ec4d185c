internal import FetchIndexModels

extension StoreWriter {
    /// Throws `invalidValue` if an object number is less than the entity's next number, or too great for the next
    /// object.
    func requireFree(_ number: UInt64, in entity: Int) throws {
        let state = try entityState(entity)
        guard number >= state.nextObject else {
            throw invalid(
                entity, "is \(number), but numbers below \(state.nextObject) are no longer given to new objects")
        }
        guard number <= state.greatestNext else {
            throw invalid(
                entity,
                "is \(number), but the next object of the entity must have a number from \(state.nextObject) to \(state.greatestNext)"
            )
        }
    }

    /// Gives the next object of an entity a number. Throws like `requireFree`.
    func skipNumbers(to number: UInt64, of entity: Int) throws {
        try requireFree(number, in: entity)
        entities[entity] = try entityState(entity).skipping(to: number)
    }

    private func invalid(_ entity: Int, _ reason: String) -> StoreError {
        .invalidValue(entity: model.entities[entity].name, attribute: RecordKey.numberName(), reason)
    }
}

extension EntityState {
    /// The maximum number of object numbers that a given number may skip. A scan on several threads divides all numbers
    /// into parts, used or not, so larger gaps would make it slow.
    private static let mostSkipped: UInt64 = 1 << 28

    /// The greatest object number that may be given for the next object.
    var greatestNext: UInt64 { min(nextObject + Self.mostSkipped, RecordKey.firstTemporaryNumber - 1) }

    func skipping(to number: UInt64) -> EntityState {
        var state = self
        state.nextObject = max(nextObject, min(number, greatestNext))
        return state
    }
}
