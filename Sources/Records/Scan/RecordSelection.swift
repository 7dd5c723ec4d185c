package import FetchIndexModels
internal import FetchIndexValues

/// The records that a fetch has to read. A `Scan` reads them.
package enum RecordSelection: Sendable {
    /// Candidates: objects that may match, found by a cache, a unique key, links or ids, sorted by entity and number.
    case objects([RecordKey])
    /// The object numbers to scan, by entity. If an entity is missing, all of its records are scanned.
    case numbers([Int: NumberRanges])

    /// All records of all entities.
    package static let all = RecordSelection.numbers([:])

    /// The candidates of an entity; nil if its records are to be scanned.
    func objects(of entity: Int) -> ArraySlice<RecordKey>? {
        guard case .objects(let objects) = self else { return nil }
        let first = objects.indices.firstNumber { objects[$0].entity >= entity }
        let end = objects.indices.firstNumber { objects[$0].entity > entity }
        return objects[first..<max(first, end)]
    }

    /// The object numbers of an entity that a scan reads.
    package func numbers(of entity: Int) -> NumberRanges {
        if case .numbers(let numbers) = self { numbers[entity] ?? .all } else { .all }
    }

    /// This selection without the candidates for which a condition holds. A selection of numbers is unchanged.
    package func excluding(_ isExcluded: (RecordKey) -> Bool) -> RecordSelection {
        guard case .objects(let objects) = self else { return self }
        return .objects(objects.filter { !isExcluded($0) })
    }

    /// The number of objects in the zones that this selection skips. A filter may skip more objects during the scan.
    package var skippedCount: UInt64 {
        if case .numbers(let numbers) = self { numbers.values.reduce(0) { $0 &+ $1.skippedCount } } else { 0 }
    }

    /// The maximum number of records of these entities that a scan of this selection reads.
    package func count(of entities: [Int], in reader: StoreReader) throws -> UInt64 {
        if case .objects(let objects) = self { return UInt64(objects.count) }
        return try entities.reduce(0) { count, entity in
            let numbers = numbers(of: entity)
            let all = try reader.count(of: entity, from: numbers.start)
            return count + all - min(all, numbers.skippedCount)
        }
    }
}

/// Thrown if a selection contains an object that has no record.
package struct MissingObject: Error {
    package let object: RecordKey
}
