internal import FetchIndexLMDB
internal import FetchIndexModels

/// Scan skipping, as a transaction maintains it: zones, and through them their columns, learn of every record that is inserted, updated
/// or removed, and are written once, at its end.
extension StoreWriter {
    /// Notes the change of an object's record; nil: it has none. O(slots), and O(log n) for the first record of a zone in a
    /// transaction.
    func noteRecord(_ object: RecordKey, old: RawSpan?, new: RawSpan?) throws {
        guard let new else { return try openZone(ZoneKey(object)).noteRemoved(object.number) }
        guard let old else { return try zone(ofInserted: object, count: 1).noteInserted(object.number, new) }
        try openZone(ZoneKey(object)).noteUpdated(object.number, new, replacing: old)
    }

    /// Notes new objects with numbers one after the other, the first of which is given, whose records are among those of a part of a
    /// batch. The places say which ones, where they follow each other there.
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

    /// The zone of objects with numbers one after the other, which are written and not noted.
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

    /// A damaged zone is no reason to write nothing: nothing is known of it from now on.
    private func readZone(_ key: ZoneKey) throws -> OpenZones.OpenZone {
        var zone: Zone?
        let isFound = try view.get(key.bytes, in: tables.meta) { zone = try? Zone($0, at: key) }
        return zones.open(key, zone, of: model.entities[key.entity], isDamaged: isFound && zone == nil)
    }

    /// Writes the zones that changed, and their columns where that is due. Those without objects go, unless numbers of theirs are still
    /// to be given out.
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
