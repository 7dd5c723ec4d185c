internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexValues

extension Entity {
    /// The slots that may have columns: the slots of text attributes, except attributes that are unique alone.
    var columnSlots: [Int] { attributeSlots.filter { type(at: $0) == .string && uniqueConstraint(ofSlot: $0) == nil } }
}

/// The columns of a zone, while a transaction inserts all objects of the zone in order.
struct OpenColumns {
    private(set) var builders: [TextColumnBuilder]
    /// The place of the next object: the index of its number in the zone.
    private(set) var end: Int

    init(of entity: Entity, from start: Int) {
        end = start
        builders = entity.columnSlots.map { TextColumnBuilder(slot: $0, places: Int(Zone.length)) }
    }

    /// Appends successive records of a batch. The first one is at `place`. Returns false if that isn't the place after
    /// the previous records, or if the batch has columns of other slots.
    mutating func append(_ rows: BatchRows, at place: Int) -> Bool {
        guard place == end, rows.part.columns.map(\.slot) == builders.map(\.slot) else { return false }
        for index in builders.indices { builders[index].set(rows.part.columns[index], rows.places, at: end) }
        end += rows.places.count
        if end == Int(Zone.length) { for index in builders.indices { builders[index].finish() } }
        return true
    }
}

extension StoreWriter {
    /// Replaces the columns of a zone in which the object numbers below `next` are allocated. Builds them from the
    /// zone's records, unless `built` has them. If a record that is read is damaged, the zone gets no columns. Returns
    /// the places for which the new columns have codes. O(numbers of a zone).
    func writeColumns(of key: ZoneKey, _ next: UInt64, _ built: OpenColumns?) throws -> CodedPlaces {
        try deleteColumns(of: key)
        let end = key.usedLength(next)
        var builders: [TextColumnBuilder]
        if let built, built.end == end {
            builders = built.builders
        } else {
            let entity = model.entities[key.entity]
            builders = OpenColumns(of: entity, from: 0).builders
            if builders.isEmpty { return CodedPlaces() }
            guard try read(key, entity, into: &builders) else { return CodedPlaces() }
        }
        var slots: [Int] = []
        for builder in builders {
            let column = TextColumnKey(key, slot: builder.slot)
            guard let value = builder.encoded(end, at: column) else { continue }
            try view.put(value, for: column.bytes, in: tables.meta)
            slots.append(builder.slot)
        }
        return CodedPlaces(slots, end: end)
    }

    /// Reads the records of a zone into column builders, until all have given up. Returns false at a damaged record.
    private func read(_ key: ZoneKey, _ entity: Entity, into builders: inout [TextColumnBuilder]) throws -> Bool {
        let missing = entity.missingValues
        let numbers = key.numbers
        do {
            return try view.withCursor(on: tables.records) { cursor in
                var isWhole = true
                let first = RecordKey(entity: key.entity, number: numbers.lowerBound).rawValue
                try cursor.walk(fromKey: first) { rawValue, record in
                    guard ZoneKey(RecordKey(rawValue: rawValue)) == key else { return false }
                    guard record.endsWithChecksum() else {
                        isWhole = false
                        return false
                    }
                    let place = Int(truncatingIfNeeded: rawValue &- first)
                    let record = try RecordView(record, missing: missing.span.bytes)
                    var isWanted = false
                    for index in builders.indices where !builders[index].hasGivenUp {
                        try builders[index].set(record, at: place)
                        isWanted = true
                    }
                    return isWanted
                }
                return isWhole
            }
        } catch  where error.isDamage {
            return false
        }
    }

    func deleteColumns(of zone: ZoneKey) throws {
        let prefix = TextColumnKey.prefix(of: zone)
        try view.withCursor(on: tables.meta) { cursor in
            var isFound = try cursor.seek(toKeyFrom: prefix.span.bytes)
            while isFound, TextColumnKey(cursor.key)?.zone == zone {
                try cursor.deleteCurrent()
                isFound = try cursor.seekToNext()
            }
        }
    }
}
