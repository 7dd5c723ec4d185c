internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexPlatform

extension StoreWriter {
    /// Repairs the zones of all entities with `renewZones`. Returns a report of the repair.
    func repairZones() throws -> [String] {
        var renewed = 0
        for entity in model.entities.indices { renewed += try renewZones(of: entity) }
        return renewed > 0 ? ["\(counted(renewed, "zone was", "zones were")) missing or wrong: corrected"] : []
    }

    /// Rebuilds zones of an entity from its records: the zones that are missing or wrong, or every zone if `all`. A
    /// rebuilt zone gets columns if they are due. Deletes a zone with a damaged record. Also deletes a wrong zone
    /// without objects (if `all`, any zone without objects), unless its numbers include that of the next object.
    /// Deletes columns that no zone lists. Returns the number of changed zones. O(n) for the objects of all entities.
    @discardableResult
    func renewZones(of entity: Int, all: Bool = false) throws -> Int {
        try writeZones()
        zones.removeAll()
        var stored: [ZoneKey: StoredZone] = [:]
        try forEachZone(of: entity) { key, value in
            stored[key] = (try? Zone(value, at: key)).map(StoredZone.whole) ?? .damaged
        }
        var renewed = 0
        let next = try? entityState(entity).nextObject
        for (key, made, hasRightColumns) in try zonesOfRecords(of: entity, all ? [:] : stored) {
            let old = stored.removeValue(forKey: key)
            switch (old, made) {
            case (.whole(let old), .whole(let zone))
            where !all && old.count == zone.count && old.bounds.firstSlot(exceededBy: zone.bounds) == nil
                && hasRightColumns && old.coded.end <= key.usedLength(next ?? .max):
                continue
            case (nil, .damaged): continue
            case (_, .damaged):
                try deleteColumns(of: key)
                try view.delete(key.bytes, in: tables.meta)
            case (_, .whole(var zone)):
                if let next, zone.coded.areDue(of: key, next) {
                    zone.coded = try writeColumns(of: key, next, nil)
                } else {
                    try deleteColumns(of: key)
                }
                try view.put(zone.encoded(at: key), for: key.bytes, in: tables.meta)
            }
            renewed += 1
        }
        for (key, zone) in stored {
            let isEmpty = if case .whole(let zone) = zone { zone.count == 0 && zone.coded.slots.isEmpty } else { false }
            if isEmpty && !all { continue }
            try empty(key, next)
            renewed += 1
        }
        return try renewed + deleteStrayColumns(of: entity)
    }

    /// Deletes a zone without objects. The entity's last zone stays, because not all of its numbers are allocated.
    private func empty(_ key: ZoneKey, _ next: UInt64?) throws {
        try deleteColumns(of: key)
        if let next, key.numbers.contains(next) {
            let empty = Zone(of: model.entities[key.entity])
            try view.put(empty.encoded(at: key), for: key.bytes, in: tables.meta)
        } else {
            try view.delete(key.bytes, in: tables.meta)
        }
    }

    /// Deletes columns that their zone doesn't list. Returns the number of zones that had such columns.
    private func deleteStrayColumns(of entity: Int) throws -> Int {
        var named: [ZoneKey: [Int]] = [:]
        try forEachZone(of: entity) { named[$0] = try Zone($1, at: $0).coded.slots }
        var stray: [TextColumnKey] = []
        try forEachColumn { key in
            if key.zone.entity == entity, named[key.zone]?.contains(key.slot) != true { stray.append(key) }
        }
        for key in stray { try view.delete(key.bytes, in: tables.meta) }
        return Set(stray.map(\.zone)).count
    }

    private enum StoredZone {
        case whole(Zone)
        /// The zone or one of its records is damaged.
        case damaged
    }

    private func zonesOfRecords(
        of number: Int, _ stored: [ZoneKey: StoredZone]
    ) throws -> [(ZoneKey, StoredZone, hasRightColumns: Bool)] {
        let entity = model.entities[number]
        let missing = entity.missingValues
        var zones: [(ZoneKey, StoredZone, hasRightColumns: Bool)] = []
        var open: (key: ZoneKey, zone: Zone, columns: ColumnCheck?, isDamaged: Bool)?
        func end() {
            guard var last = open else { return }
            last.columns?.end()
            let isRight = last.columns?.defects.isEmpty ?? false
            zones.append((last.key, last.isDamaged ? .damaged : .whole(last.zone), isRight))
        }
        try scanStored(number) { object, record in
            let key = ZoneKey(object)
            if open?.key != key {
                end()
                var columns: ColumnCheck?
                if case .whole(let zone) = stored[key] { columns = try ColumnCheck(key, zone.coded, in: self) }
                open = (key, Zone(of: entity), columns, false)
            }
            do {
                if try open?.zone.insert(record, missing: missing) != true { open?.isDamaged = true }
                try open?.columns?.read(
                    RecordView(record, missing: missing.span.bytes), at: key.place(of: object.number))
            } catch { open?.isDamaged = true }
            return true
        }
        end()
        return zones
    }
}
