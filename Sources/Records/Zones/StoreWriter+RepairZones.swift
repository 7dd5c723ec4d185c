internal import Bytes
internal import LMDB
internal import Models

extension StoreWriter {
    /// What a repair does with zones: see `renewZones`.
    func repairZones() throws -> [String] {
        var renewed = 0
        for entity in model.entities.indices { renewed += try renewZones(of: entity) }
        return renewed > 0 ? ["zones that were missing or wrong: \(renewed), made anew"] : []
    }

    /// Makes the zones of an entity anew from its records: those that are missing or wrong, or all. A zone with a damaged record
    /// goes. Returns how many were changed. O(n).
    @discardableResult
    func renewZones(of entity: Int, all: Bool = false) throws -> Int {
        try writeZones()
        zones.removeAll()
        var stored: [ZoneKey: StoredZone] = [:]
        try forEachZone(of: entity) { key, value in
            stored[key] = (try? Zone(value, at: key)).map(StoredZone.whole) ?? .damaged
        }
        var renewed = 0
        for (key, made) in try zonesOfRecords(of: entity) {
            let old = stored.removeValue(forKey: key)
            switch (old, made) {
            case (.whole(let old), .whole(let zone))
            where !all && old.count == zone.count && old.bounds.firstSlot(exceededBy: zone.bounds) == nil:
                continue
            case (nil, .damaged): continue
            case (_, .damaged): try view.delete(key.bytes, in: tables.meta)
            case (_, .whole(let zone)): try view.put(zone.encoded(at: key), for: key.bytes, in: tables.meta)
            }
            renewed += 1
        }
        let next = try? entityState(entity).nextObject
        for (key, zone) in stored {
            let isEmpty = if case .whole(let zone) = zone { zone.count == 0 } else { false }
            if isEmpty && !all { continue }
            // Numbers of the last zone are still to be given out.
            if let next, key.numbers.contains(next) {
                let empty = Zone(of: model.entities[entity])
                try view.put(empty.encoded(at: key), for: key.bytes, in: tables.meta)
            } else {
                try view.delete(key.bytes, in: tables.meta)
            }
            renewed += 1
        }
        return renewed
    }

    private enum StoredZone {
        case whole(Zone)
        /// It is damaged, or one of its records is.
        case damaged
    }

    private func zonesOfRecords(of number: Int) throws -> [(ZoneKey, StoredZone)] {
        let entity = model.entities[number]
        var zones: [(ZoneKey, StoredZone)] = []
        var open: (key: ZoneKey, zone: Zone, isDamaged: Bool)?
        func end() { if let open { zones.append((open.key, open.isDamaged ? .damaged : .whole(open.zone))) } }
        try scanStored(number) { object, record in
            let key = ZoneKey(object)
            if open?.key != key {
                end()
                open = (key, Zone(of: entity), false)
            }
            do {
                if try open?.zone.insert(record, missing: entity.missingValues) != true { open?.isDamaged = true }
            } catch { open?.isDamaged = true }
            return true
        }
        end()
        return zones
    }
}
