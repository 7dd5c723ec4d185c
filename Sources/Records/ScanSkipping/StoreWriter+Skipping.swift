internal import FetchIndexLMDB
internal import FetchIndexModels

/// Scan skipping for writers. A transaction notes insertions, updates and deletions of records in their zones. Changed
/// zones, and columns that are due, are written at the end of a commit, and before the model changes.
extension StoreWriter {
    /// Changes the zone of a record. `old` is nil for an insertion, `new` for a deletion. O(slots + log n).
    func noteRecord(_ object: RecordKey, old: RawSpan?, new: RawSpan?) throws {
        guard let new else { return try openZone(ZoneKey(object)).noteRemoved(object.number) }
        guard let old else { return try zone(ofInserted: object, count: 1).noteInserted(object.number, new) }
        try openZone(ZoneKey(object)).noteUpdated(object.number, new, replacing: old)
    }

    /// Includes inserted objects with successive object numbers, beginning at `first`, in their zones. `places` are the
    /// indexes of the objects' records in a part of a batch; nil if they aren't successive.
    func noteInsertedRecords(_ first: RecordKey, count: UInt64, of part: BatchPart, places: Range<Int>?) throws {
        try (first.number..<first.number + count).forEachZone(of: first.entity) { _, numbers in
            let count = UInt64(numbers.count)
            let rows = places.map { places in
                let start = places.lowerBound + Int(numbers.lowerBound - first.number)
                return BatchRows(part: part, places: start..<start + numbers.count)
            }
            try zone(ofInserted: RecordKey(entity: first.entity, number: numbers.lowerBound), count: count)
                .noteInserted(numbers, within: part.bounds, rows)
        }
    }

    /// The zone of inserted objects with successive object numbers. The objects' records are written, but the zone
    /// doesn't include them yet. If the zone is unknown and has no other objects, it's created.
    private func zone(ofInserted first: RecordKey, count: UInt64) throws -> OpenZones.OpenZone {
        if let open = zones[ZoneKey(first)], open.zone != nil { return open }
        let open = try openZone(ZoneKey(first))
        if open.zone == nil, try isEmpty(open.key, but: first, count: count) { open.begin() }
        return open
    }

    private func isEmpty(_ zone: ZoneKey, but first: RecordKey, count: UInt64) throws -> Bool {
        try view.withCursor(on: tables.records) { cursor in
            let start = RecordKey(entity: zone.entity, number: zone.numbers.lowerBound)
            guard try cursor.seek(toKeyFrom: start.rawValue), cursor.integerKey == first.rawValue else { return false }
            let next = RecordKey(entity: zone.entity, number: first.number + count)
            return try !cursor.seek(toKeyFrom: next.rawValue) || ZoneKey(RecordKey(rawValue: cursor.integerKey)) != zone
        }
    }

    private func openZone(_ key: ZoneKey) throws -> OpenZones.OpenZone {
        let open = try zones[key] ?? readZone(key)
        zones.noteLast(open)
        return open
    }

    /// Reads a zone from the store. A damaged zone becomes unknown, so that it doesn't prevent writing.
    private func readZone(_ key: ZoneKey) throws -> OpenZones.OpenZone {
        var zone: Zone?
        let isFound = try view.get(key.bytes, in: tables.meta) { zone = try? Zone($0, at: key) }
        return zones.open(key, zone, of: model.entities[key.entity], isDamaged: isFound && zone == nil)
    }

    /// Writes the changed zones, and their columns if these must be rebuilt. Deletes those of the changed zones that
    /// are unknown, and those without objects unless some of their numbers aren't allocated yet.
    func writeZones() throws {
        try zones.forEachChanged { open in
            let (key, next) = try (open.key, entityState(open.key.entity).nextObject)
            guard let zone = open.zone, zone.count > 0 || next < key.numbers.upperBound else {
                try deleteColumns(of: key)
                try view.delete(key.bytes, in: tables.meta)
                return
            }
            if zone.count == 0 {
                try deleteColumns(of: key)
                open.setCoded(CodedPlaces())
            } else if open.columnsAreDue(next) {
                open.setCoded(try writeColumns(of: key, next, open.columns))
            } else if open.hasStrayColumns {
                try deleteColumns(of: key)
            }
            if let zone = open.zone { try view.put(zone.encoded(at: key), for: key.bytes, in: tables.meta) }
        }
    }
}
