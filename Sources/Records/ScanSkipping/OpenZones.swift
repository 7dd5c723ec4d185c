internal import FetchIndexModels

/// The zones that a transaction has open.
final class OpenZones {
    final class OpenZone {
        let key: ZoneKey
        /// The zone; nil if it's unknown, for example because an older program wrote its first objects without zones,
        /// or because it was damaged.
        fileprivate(set) var zone: Zone?
        fileprivate var isChanged = false
        /// Whether the store may have columns that the zone doesn't list.
        fileprivate(set) var hasStrayColumns = false
        /// The columns of all objects in the zone, while this transaction inserts all of these objects from batches;
        /// otherwise nil.
        fileprivate(set) var columns: OpenColumns?
        private let entity: Entity
        private let missing: [UInt8]

        /// Opens a stored zone. If it's damaged, it counts as changed, so that `writeZones` replaces or deletes it.
        fileprivate init(_ key: ZoneKey, _ zone: Zone?, of entity: Entity, isDamaged: Bool) {
            (self.key, self.entity, missing) = (key, entity, entity.missingValues)
            // A zone without objects gets new bounds, with all current slots of the entity.
            self.zone = zone?.count == 0 ? Zone(of: entity) : zone
            self.zone?.bounds.forgetOthers(than: RecordBounds.types(of: entity))
            self.zone?.coded.forgetOthers(than: entity.columnSlots)
            hasStrayColumns = zone == nil || zone?.coded.slots != self.zone?.coded.slots
            // Unlisted columns must be deleted before new columns can be listed.
            isChanged = isDamaged || zone != nil && hasStrayColumns
        }

        /// Creates the zone if it's unknown. The objects that are noted afterwards must be the zone's only objects.
        func begin() { if zone == nil { zone = Zone(of: entity) } }

        /// Includes inserted objects in the zone. If `rows` is nil, or can't be appended to `columns`, `columns`
        /// becomes nil.
        func noteInserted(_ numbers: Range<UInt64>, within bounds: RecordBounds, _ rows: BatchRows?) {
            guard let zone else { return }
            let place = key.place(of: numbers.lowerBound)
            // New object numbers are greater than numbers with codes, unless counters were damaged.
            if place < zone.coded.end {
                self.zone?.coded = CodedPlaces()
                hasStrayColumns = true
            }
            if zone.count == 0 { columns = OpenColumns(of: entity, from: place) }
            if rows.map({ columns?.append($0, at: place) ?? false }) != true { columns = nil }
            self.zone?.count += UInt64(numbers.count)
            self.zone?.bounds.include(bounds)
            isChanged = true
        }

        func noteInserted(_ number: UInt64, _ record: RawSpan) throws {
            if zone == nil { return }
            columns = nil
            let missing = missing
            _ = try zone?.bounds.include(record, missing: missing.span.bytes)
            zone?.count += 1
            zone?.coded.noteChange(at: key.place(of: number))
            isChanged = true
        }

        func noteUpdated(_ number: UInt64, _ record: RawSpan, replacing old: RawSpan) throws {
            let missing = missing
            if try zone?.bounds.include(record, missing: missing.span.bytes) ?? false { isChanged = true }
            columns = nil
            guard let (end, count) = zone.map({ ($0.coded.end, $0.count) }) else { return }
            if end == 0 {
                // A zone without columns, for example one of an older program, may get columns once it has enough
                // objects.
                if !isChanged, count >= CodedPlaces.mostChanges { isChanged = !entity.columnSlots.isEmpty }
                return
            }
            guard let slots = zone?.coded.slots, !slots.isEmpty, zone?.coded.isCoded(key.place(of: number)) == true
            else { return }
            let (record, old) = try (
                RecordView(record, missing: missing.span.bytes), RecordView(old, missing: missing.span.bytes)
            )
            for slot in slots where try !record.isEqual(to: old, at: slot) {
                noteChange(of: number)
                return
            }
        }

        func noteRemoved(_ number: UInt64) {
            guard let count = zone?.count else { return }
            noteChange(of: number)
            columns = nil
            if count <= 1 { zone = Zone(of: entity) } else { zone?.count -= 1 }
        }

        private func noteChange(of number: UInt64) {
            zone?.coded.noteChange(at: key.place(of: number))
            isChanged = true
        }

        /// Whether the columns must be written now, given that the object numbers below `next` are allocated.
        func columnsAreDue(_ next: UInt64) -> Bool {
            guard let zone, !entity.columnSlots.isEmpty else { return false }
            return zone.coded.areDue(of: key, next)
        }

        func setCoded(_ coded: CodedPlaces) {
            zone?.coded = coded
            hasStrayColumns = false
            columns = nil
        }
    }

    private var zones: [ZoneKey: OpenZone] = [:]
    private var last: OpenZone?

    /// The zone of a key; nil if it isn't open.
    @inline(__always)
    subscript(key: ZoneKey) -> OpenZone? {
        if let last, last.key == key { return last }
        return zones[key]
    }

    /// Adds a zone with its stored value, which is nil if it's missing or damaged.
    func open(_ key: ZoneKey, _ zone: Zone?, of entity: Entity, isDamaged: Bool) -> OpenZone {
        let open = OpenZone(key, zone, of: entity, isDamaged: isDamaged)
        zones[key] = open
        return open
    }

    func noteLast(_ zone: OpenZone) { last = zone }

    /// Calls the body with the changed zones, by entity and index, and marks each as unchanged.
    func forEachChanged(_ body: (OpenZone) throws -> Void) rethrows {
        let changed = zones.values.filter(\.isChanged)
        for open in changed.sorted(by: { ($0.key.entity, $0.key.index) < ($1.key.entity, $1.key.index) }) {
            try body(open)
            open.isChanged = false
        }
    }

    var haveChanged: Bool { zones.values.contains(where: \.isChanged) }

    func removeAll() {
        zones = [:]
        last = nil
    }
}
