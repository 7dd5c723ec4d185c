internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels
internal import FetchIndexValues

/// Checks zones and their columns against the records, which must be read in the order of their keys.
struct ZoneCheck {
    private(set) var defects: [String] = []
    private let reader: StoreReader
    private var key: ZoneKey?
    private var stored: Zone?
    /// The zone as computed from the records that were read so far; nil if one of them is damaged.
    private var found: Zone?
    private var columns: ColumnCheck?
    private var checked: Set<ZoneKey> = []
    /// The slots of the columns that each zone lists; nil for a damaged zone.
    private var named: [ZoneKey: [Int]?] = [:]

    init(_ reader: StoreReader) { self.reader = reader }

    /// Checks a record against its zone. A damaged record ends the check of its zone, because its values are unknown;
    /// the check of records reports it.
    mutating func read(_ object: RecordKey, _ record: RawSpan) {
        let key = ZoneKey(object)
        if key != self.key { begin(key) }
        guard stored != nil else { return }
        let missing = reader.model.entities[object.entity].missingValues
        do {
            guard try found?.insert(record, missing: missing) == true else { return found = nil }
            try columns?.read(RecordView(record, missing: missing.span.bytes), at: key.place(of: object.number))
        } catch { found = nil }
    }

    private mutating func begin(_ key: ZoneKey) {
        endZone()
        (self.key, stored, columns) = (key, nil, nil)
        checked.insert(key)
        found = Zone(of: reader.model.entities[key.entity])
        do {
            _ = try reader.view.get(key.bytes, in: reader.tables.meta) { stored = try Zone($0, at: key) }
            guard let stored else { return }
            named[key] = stored.coded.slots
            columns = try ColumnCheck(key, stored.coded, in: reader)
        } catch { noteDamage(key, error) }
    }

    private mutating func noteDamage(_ key: ZoneKey, _ error: any Error) {
        defects.append("\(error)")
        named.updateValue(nil, forKey: key)
    }

    private mutating func endZone() {
        if found != nil { columns?.end() }
        defects += columns?.defects ?? []
        guard let key, let stored, let found else { return }
        if stored.count != found.count {
            defects.append("\(name(of: key)) counts \(counted(stored.count, "object")), but has \(found.count)")
        }
        if let slot = stored.bounds.firstSlot(exceededBy: found.bounds) {
            let attribute = reader.model.entities[key.entity].attribute(at: slot).name
            defects.append("\(name(of: key)): an object has a value of \(attribute) outside of the bounds")
        }
    }

    private func name(of key: ZoneKey) -> String { "\(key.name) (\(reader.model.entities[key.entity].name))" }

    /// Checks the zones without records. Must be called after the last record.
    mutating func end() throws {
        endZone()
        for entity in reader.model.entities.indices {
            try reader.forEachZone(of: entity) { key, value in
                if checked.contains(key) { return }
                do {
                    let zone = try Zone(value, at: key)
                    if zone.count > 0 {
                        defects.append("\(name(of: key)) counts \(counted(zone.count, "object")), but has 0")
                    }
                    named[key] = zone.coded.slots
                } catch { noteDamage(key, error) }
            }
        }
        try reader.forEachColumn { column in
            if let slots = named[column.zone, default: []], !slots.contains(column.slot) {
                defects.append("\(column.name) is not listed by a zone")
            }
        }
    }
}
