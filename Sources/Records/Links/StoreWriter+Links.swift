internal import Bytes
package import Models
internal import LMDB
package import Values

extension StoreWriter {
    func links(of entity: Int) -> EntityLinks? {
        linksByEntity.indices.contains(entity) ? linksByEntity[entity] : nil
    }

    private func references(of entity: Int) -> [EntityLinks.Reference] { links(of: entity)?.references ?? [] }

    /// Throws `invalidValue` for a reference of a record to an object that is not there, and `notUnique` when the object of a
    /// one-to-one relationship is linked already. References that the old record has too are not looked at. O(log n) for each.
    func checkLinks(of entity: Int, _ record: RawSpan, replacing old: RawSpan? = nil) throws {
        let references = references(of: entity)
        if references.isEmpty { return }
        let entity = model.entities[entity]
        let view = try RecordView(record, of: entity)
        for reference in references {
            // Whoever holds it.
            guard let link = try StoredLink(reference, of: view, RecordKey(rawValue: 0)) else {
                if reference.isOptional || acceptsMissingReferences { continue }
                throw StoreError.invalidValue(
                    entity: entity.name, attribute: reference.relationship, "is required")
            }
            var oldTarget: RecordKey?
            if let old {
                oldTarget = try StoredLink(reference, of: RecordView(old, of: entity), RecordKey(rawValue: 0))?.target
            }
            if link.target != oldTarget { try require(link, reference, of: entity.name) }
        }
    }

    /// Writes the keys of a record's links, and deletes those of its old one. O(log n) for each link that differs.
    func putLinks(of object: RecordKey, _ record: RawSpan, replacing old: RawSpan? = nil) throws {
        let references = references(of: object.entity)
        if references.isEmpty { return }
        let entity = model.entities[object.entity]
        let view = try RecordView(record, of: entity)
        for reference in references {
            let link = try StoredLink(reference, of: view, object)
            var oldLink: StoredLink?
            if let old { oldLink = try StoredLink(reference, of: RecordView(old, of: entity), object) }
            if link == oldLink { continue }
            if let oldLink { try delete(oldLink) }
            if let link { try put(link) }
        }
    }

    func deleteLinks(of object: RecordKey, _ record: RawSpan) throws {
        let references = references(of: object.entity)
        if references.isEmpty { return }
        let entity = model.entities[object.entity]
        let view = try RecordView(record, of: entity)
        for reference in references {
            if let link = try StoredLink(reference, of: view, object) { try delete(link) }
        }
    }

    /// Frees the objects of one-to-one relationships that an object's new record gives up, so that others may be linked to them
    /// before it is updated.
    package func releaseLinks(of object: RecordKey, _ old: RawSpan, for new: RawSpan) throws {
        let references = references(of: object.entity).filter(\.isUnique)
        if references.isEmpty { return }
        let entity = model.entities[object.entity]
        for reference in references {
            guard let link = try StoredLink(reference, of: RecordView(old, of: entity), object),
                try link != StoredLink(reference, of: RecordView(new, of: entity), object)
            else { continue }
            try delete(link)
        }
    }

    private func require(_ link: StoredLink, _ reference: EntityLinks.Reference, of entity: String) throws {
        func invalid(_ reason: String) -> StoreError {
            .invalidValue(entity: entity, attribute: reference.relationship, reason)
        }
        guard reference.destinations.contains(link.target.entity) else {
            throw invalid("refers to \(name(of: link.target)), which it does not lead to")
        }
        guard try reference.mayDangle || view.get(link.target.rawValue, in: tables.records, { _ in }) else {
            throw invalid("refers to \(name(of: link.target)), which is not in the store")
        }
        if reference.isUnique, try linkCount(reference.name, to: link.target) > 0 {
            throw StoreError.notUnique(
                entity: entity, attribute: reference.relationship, value: name(of: link.target))
        }
        guard link.key.count <= Table.maximumKeyLength else {
            throw invalid("has a position of more than \(LinkKey.greatestPosition) bytes")
        }
    }

    /// Writes the links of an object that `releaseLinks` has deleted, and that its record has still.
    package func restoreLinks(of object: RecordKey) throws {
        guard let record = try copy(of: object) else { return }
        let entity = model.entities[object.entity]
        let view = try RecordView(record.span.bytes, of: entity)
        for reference in references(of: object.entity) where reference.isUnique {
            if let link = try StoredLink(reference, of: view, object) { try put(link) }
        }
    }

    /// As `update`, of a record that was made of an object's attributes: its references stay. O(log n).
    @discardableResult
    package func updateAttributes(of object: RecordKey, _ record: RawSpan) throws -> Bool {
        guard hasLinks, let old = try copy(of: object),
            let kept = try keepingReferences(of: old.span.bytes, in: record, object.entity)
        else { return try update(object, record) }
        return try update(object, kept.span.bytes)
    }

    /// A record that was made of an object's attributes, with the references of its stored record where it has none.
    func keepingReferences(of old: RawSpan, in new: RawSpan, _ entity: Int) throws -> [UInt8]? {
        let references = references(of: entity)
        if references.isEmpty { return nil }
        let stored = model.entities[entity]
        let view = try RecordView(new, of: stored)
        var kept: Set<Int> = []
        for reference in references where try view.range(of: reference.slot) == nil {
            kept.formUnion([reference.slot, reference.position])
        }
        return try stored.record(from: new, keeping: kept, of: old)
    }

    private func put(_ link: StoredLink) throws {
        let value = LinkKey.value(of: link.key)
        var isNew = true
        _ = try view.get(link.key, in: tables.unique) { _ in isNew = false }
        if !isNew { return }
        try view.put(value, for: link.key, in: tables.unique)
        try count(link, by: 1)
    }

    /// One that was released already is counted no more.
    private func delete(_ link: StoredLink) throws {
        if try view.delete(link.key, in: tables.unique) { try count(link, by: -1) }
    }

    private func count(_ link: StoredLink, by difference: Int) throws {
        let key = Array(link.key[..<LinkKey.targetLength])
        var count: UInt64 = 0
        _ = try view.get(key, in: tables.unique) { count = try LinkKey.count($0, under: key.span.bytes) }
        let new = Int(clamping: count) + difference
        guard new >= 0 else {
            throw StoreError.corrupted("more links lead to \(name(of: link.target)) than are counted")
        }
        if new == 0 {
            try view.delete(key, in: tables.unique)
        } else {
            try view.put(LinkKey.count(UInt64(new), under: key), for: key, in: tables.unique)
        }
    }

    /// The object that links two others in a many-to-many relationship; nil when there is none. O(log n); where either side has
    /// positions, O(links of the side with fewer).
    package func join(like record: RawSpan, of entity: Int) throws -> RecordKey? {
        let references = references(of: entity)
        guard references.count == 2 else { return nil }
        let entity = model.entities[entity]
        let view = try RecordView(record, of: entity)
        guard let first = try StoredLink(references[0], of: view, RecordKey(rawValue: 0))?.target,
            let second = try StoredLink(references[1], of: view, RecordKey(rawValue: 0))?.target
        else { return nil }
        let sides = [(references[0].name, first, second), (references[1].name, second, first)]
        for (name, target, other) in sides {
            var start: [UInt8] = []
            OrderKey.appendNull(to: &start)
            OrderKey.append(.integer(Int64(bitPattern: other.rawValue)), to: &start)
            if let found = try join(name, from: target, to: other, after: start, isFirstOnly: true) { return found }
            // Links with positions come last.
            guard let last = try lastLink(name, to: target), !OrderKey.isNull(last.sortKey.span.bytes) else {
                return nil
            }
        }
        let fewer = try linkCount(sides[0].0, to: first) <= linkCount(sides[1].0, to: second) ? sides[0] : sides[1]
        return try join(fewer.0, from: fewer.1, to: fewer.2, after: nil, isFirstOnly: false)
    }

    private func join(
        _ name: EntityLinks.Name, from target: RecordKey, to other: RecordKey, after start: [UInt8]?, isFirstOnly: Bool
    ) throws -> RecordKey? {
        var found: RecordKey?
        try forEachLink(name, to: target, after: start) { holder, sortKey in
            // The other side stands between the position and the holder.
            if let length = OrderKey.lengthOfFirst(in: sortKey) {
                let value = OrderKey.first(in: sortKey.extracting(length..<sortKey.byteCount))?.value
                if value == .integer(Int64(bitPattern: other.rawValue)) { found = holder }
            }
            return found == nil && !isFirstOnly
        }
        return found
    }

    // MARK: Delete rules

    package typealias DeletedObject = (object: RecordKey, record: [UInt8])

    /// What deleting objects does to those that are linked to them. Throws `deletionDenied` for an object with links that a rule
    /// protects, and `invalidValue` when a required relationship would become nil; then drop the writer. O(links x log n).
    package func applyDeleteRules(of deleted: [DeletedObject]) throws -> Bool {
        var pending = deleted
        var denied: [(object: RecordKey, link: EntityLinks.Incoming)] = []
        var deniedTargets: [(object: RecordKey, relationship: String, target: RecordKey)] = []
        var required: [RequiredLink] = []
        var hasChanged = false
        while let (object, record) = pending.popLast() {
            for (reference, target) in try targets(of: object, record) {
                if reference.rule == .deny { deniedTargets.append((object, reference.relationship, target)) }
                guard reference.rule == .cascade, let removed = try remove(target) else { continue }
                hasChanged = true
                pending.append((target, removed))
            }
            for incoming in links(of: object.entity)?.incoming ?? [] {
                if incoming.rule == .deny {
                    denied.append((object, incoming))
                    continue
                }
                if incoming.rule == .noAction && !incoming.isJoin { continue }
                var holders: [RecordKey] = []
                try forEachLink(incoming.name, to: object) { holder, _ in
                    holders.append(holder)
                    return true
                }
                for holder in holders {
                    hasChanged = true
                    try follow(incoming, from: object, to: holder, &pending, &required)
                }
            }
        }
        for (object, incoming) in denied where try linkCount(incoming.name, to: object) > 0 {
            throw try denial(of: object, incoming)
        }
        for (object, relationship, target) in deniedTargets where try storedRecord(target, { _ in }) {
            throw StoreError.deletionDenied(
                object: name(of: object), relationship: relationship, by: name(of: target))
        }
        for link in required { try requireGone(link) }
        return hasChanged
    }

    /// A required reference to a deleted object.
    private struct RequiredLink {
        let object: RecordKey
        let holder: RecordKey
        let reference: EntityLinks.Reference
    }

    /// Throws when the holder of a required reference is still there, with it.
    private func requireGone(_ link: RequiredLink) throws {
        guard let record = try copy(of: link.holder) else { return }
        let entity = model.entities[link.holder.entity]
        let view = try RecordView(record.span.bytes, of: entity)
        guard try StoredLink(link.reference, of: view, link.holder)?.target == link.object else { return }
        throw StoreError.invalidValue(
            entity: entity.name, attribute: link.reference.relationship,
            "is required, and \(name(of: link.object)), to which it leads from \(name(of: link.holder)), is deleted")
    }

    /// The objects that a record refers to by relationships whose rules matter when it is deleted.
    private func targets(
        of object: RecordKey, _ record: [UInt8]
    ) throws -> [(reference: EntityLinks.Reference, target: RecordKey)] {
        let references = references(of: object.entity).filter { $0.rule == .cascade || $0.rule == .deny }
        if references.isEmpty { return [] }
        let entity = model.entities[object.entity]
        let view = try RecordView(record.span.bytes, of: entity)
        var targets: [(EntityLinks.Reference, RecordKey)] = []
        for reference in references {
            if let link = try StoredLink(reference, of: view, object) { targets.append((reference, link.target)) }
        }
        return targets
    }

    private func follow(
        _ incoming: EntityLinks.Incoming, from object: RecordKey, to holder: RecordKey,
        _ pending: inout [DeletedObject],
        _ required: inout [RequiredLink]
    ) throws {
        guard let record = try copy(of: holder), model.entities.indices.contains(holder.entity) else {
            throw StoreError.corrupted("a link to \(name(of: object)) belongs to \(name(of: holder)), which is missing")
        }
        let entity = model.entities[holder.entity]
        guard let reference = references(of: holder.entity).first(where: { $0.name == incoming.name }) else { return }
        if incoming.isJoin {
            try remove(holder)
            guard incoming.rule == .cascade, let other = reference.other else { return }
            let view = try RecordView(record.span.bytes, of: entity)
            guard let number = try view.integer(at: other) else { return }
            let far = RecordKey(rawValue: UInt64(bitPattern: number))
            if let removed = try remove(far) { pending.append((far, removed)) }
        } else if incoming.rule == .cascade {
            if let removed = try remove(holder) { pending.append((holder, removed)) }
        } else {
            guard reference.isOptional else {
                required.append(RequiredLink(object: object, holder: holder, reference: reference))
                return
            }
            let bytes = record.span.bytes
            let new = try entity.record(bytes, setting: [reference.slot: .null, reference.position: .null])
            try update(holder, new.span.bytes)
        }
    }

    private func denial(of object: RecordKey, _ incoming: EntityLinks.Incoming) throws -> StoreError {
        var first: RecordKey?
        try forEachLink(incoming.name, to: object) { holder, _ in
            first = holder
            return false
        }
        return .deletionDenied(
            object: name(of: object), relationship: incoming.relationship ?? "", by: first.map { name(of: $0) } ?? "")
    }
}

extension Entity {
    /// A record with other values in some slots.
    package func record(_ record: RawSpan, setting values: [Int: Value]) throws -> [UInt8] {
        let view = try RecordView(record, of: self)
        var builder = RecordBuilder()
        for slot in 0..<max(slots.count, view.slotCount) {
            if let value = values[slot] { builder.append(value) } else { try builder.append(slot, of: view) }
        }
        return builder.finish()
    }
}
