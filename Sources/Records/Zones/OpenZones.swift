internal import Models

/// The zones that a transaction has read, some of which it changed.
final class OpenZones {
    final class OpenZone {
        let key: ZoneKey
        /// Nil: nothing is known of the zone. A program that did not know zones wrote its first objects, or it was damaged.
        private(set) var zone: Zone?
        fileprivate var isChanged = false
        private let entity: Entity
        private let missing: [UInt8]

        /// A zone that was damaged goes.
        fileprivate init(_ key: ZoneKey, _ zone: Zone?, of entity: Entity, isDamaged: Bool) {
            (self.key, self.entity, missing) = (key, entity, entity.missingValues)
            // Without objects, the bounds begin anew, with all slots that the entity has now.
            self.zone = zone?.count == 0 ? Zone(of: entity) : zone
            self.zone?.bounds.forgetOthers(than: RecordBounds.types(of: entity))
            isChanged = isDamaged
        }

        /// Makes the zone known: it has no objects yet but those that are noted next.
        func begin() { if zone == nil { zone = Zone(of: entity) } }

        func noteInserted(_ count: UInt64, within bounds: RecordBounds) {
            if zone == nil { return }
            zone?.count += count
            zone?.bounds.include(bounds)
            isChanged = true
        }

        func noteInserted(_ record: RawSpan) throws {
            if zone == nil { return }
            try noteUpdated(record)
            zone?.count += 1
            isChanged = true
        }

        func noteUpdated(_ record: RawSpan) throws {
            let missing = missing
            if try zone?.bounds.include(record, missing: missing.span.bytes) ?? false { isChanged = true }
        }

        func noteRemoved() {
            guard let count = zone?.count else { return }
            isChanged = true
            if count <= 1 { zone = Zone(of: entity) } else { zone?.count -= 1 }
        }
    }

    private var zones: [ZoneKey: OpenZone] = [:]
    private var last: OpenZone?

    /// A zone that was opened before.
    @inline(__always)
    subscript(key: ZoneKey) -> OpenZone? {
        if let last, last.key == key { return last }
        return zones[key]
    }

    /// Opens a zone, as it is stored.
    func open(_ key: ZoneKey, _ zone: Zone?, of entity: Entity, isDamaged: Bool) -> OpenZone {
        let open = OpenZone(key, zone, of: entity, isDamaged: isDamaged)
        zones[key] = open
        return open
    }

    func noteLast(_ zone: OpenZone) { last = zone }

    /// Hands out the changed zones by number, and marks them as unchanged.
    func forEachChanged(_ body: (ZoneKey, Zone?) throws -> Void) rethrows {
        let changed = zones.values.filter(\.isChanged)
        for open in changed.sorted(by: { ($0.key.entity, $0.key.index) < ($1.key.entity, $1.key.index) }) {
            try body(open.key, open.zone)
            open.isChanged = false
        }
    }

    var haveChanged: Bool { zones.values.contains(where: \.isChanged) }

    func removeAll() {
        zones = [:]
        last = nil
    }
}
