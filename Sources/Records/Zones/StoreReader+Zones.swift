internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels

extension StoreReader {
    /// Calls the body with an entity's zones by number. O(zones).
    func forEachZone(of entity: Int, _ body: (ZoneKey, RawSpan) throws -> Void) throws {
        try view.withCursor(on: tables.meta) { cursor in
            var isFound = try cursor.seek(toKeyFrom: ZoneKey(entity: entity, index: 0).bytes.span.bytes)
            while isFound, let key = ZoneKey(cursor.key), key.entity == entity {
                try body(key, cursor.value)
                isFound = try cursor.seekToNext()
            }
        }
    }

    /// The numbers of an entity's objects, except those of zones whose bounds show that no object can have what is wanted. All when less
    /// than a quarter can be left out: a scan of all verifies the records for the next ones. Throws `corrupted` when a zone is
    /// damaged. O(zones).
    package func numbers(of entity: Int, where mayHave: (RecordBounds) -> Bool) throws -> NumberRanges {
        // What a transaction has not written yet would be missing.
        if hasOpenZones { return .all }
        let types = RecordBounds.types(of: model.entities[entity])
        var skipped: [NumberRanges.Skipped] = []
        try forEachZone(of: entity) { key, value in
            var zone = try Zone(value, at: key)
            zone.bounds.forgetOthers(than: types)
            if !mayHave(zone.bounds) { skipped.append(.init(numbers: key.numbers, count: zone.count)) }
        }
        let numbers = NumberRanges(skipping: skipped)
        return try numbers.skippedCount >= entityState(entity).count / 4 ? numbers : .all
    }
}
