package import FetchIndexModels
internal import FetchIndexLMDB
package import FetchIndexValues

extension StoreWriter {
    func links(of entity: Int) -> EntityLinks? {
        linksByEntity.indices.contains(entity) ? linksByEntity[entity] : nil
    }

    func references(of entity: Int) -> [EntityLinks.Reference] { links(of: entity)?.references ?? [] }

    /// Checks the references of a record. Throws `invalidValue` for a required reference that is null (unless
    /// `acceptsMissingReferences`), for a target that is missing or of a wrong entity, and for a position that is too
    /// long. Throws `notUnique` if another object is linked to the target of a one-to-one relationship. Doesn't check a
    /// reference whose target is the same in the old record. O(log n) for each reference.
    func checkLinks(of entity: Int, _ record: RawSpan, replacing old: RawSpan? = nil) throws {
        let references = references(of: entity)
        if references.isEmpty { return }
        let entity = model.entities[entity]
        let view = try RecordView(record, of: entity)
        for reference in references {
            // Only the link's target and the length of its key are used, so the holder may be any number.
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

    /// Writes the link keys of a record, and deletes those that only its old record has. O(log n) for each link that
    /// differs.
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

    /// Deletes the links of one-to-one relationships that an object's new record will no longer have, so that other
    /// objects can be linked to the same targets before this object is updated.
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
            throw invalid("refers to \(name(of: link.target)), which is of another entity")
        }
        guard try reference.mayDangle || view.get(link.target.rawValue, in: tables.records, { _ in }) else {
            throw invalid("refers to \(name(of: link.target)), which is not in the store")
        }
        if reference.isUnique, try linkCount(reference.name, to: link.target) > 0 {
            throw StoreError.notUnique(
                entity: entity, attribute: reference.relationship, value: name(of: link.target))
        }
        guard link.key.count <= Table.maximumKeyLength else {
            throw invalid(
                "has a position that is too long: its link key would exceed 511 bytes (a position of up to \(LinkKey.greatestPosition) bytes without zero bytes always fits)"
            )
        }
    }

    /// Writes the links of one-to-one relationships that `releaseLinks` deleted and the object's stored record still
    /// has.
    package func restoreLinks(of object: RecordKey) throws {
        guard let record = try copy(of: object) else { return }
        let entity = model.entities[object.entity]
        let view = try RecordView(record.span.bytes, of: entity)
        for reference in references(of: object.entity) where reference.isUnique {
            if let link = try StoredLink(reference, of: view, object) { try put(link) }
        }
    }

    /// Returns the new record, which was made from attributes only, with the old record's references where the new
    /// record's are null. Returns nil if the entity has no references.
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

    /// Deletes a link and decrements the count of its target's links. Does nothing if the link doesn't exist, for
    /// example because it was released.
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

    /// The stored join object that links the same two objects as `record`; nil if there isn't one. O(log n); if the links of
    /// both objects have positions, linear in the smaller number of links.
    package func join(like record: RawSpan, of entity: Int) throws -> RecordKey? {
        let references = references(of: entity)
        guard references.count == 2 else { return nil }
        let entity = model.entities[entity]
        let view = try RecordView(record, of: entity)
        guard let first = try StoredLink(references[0], of: view, RecordKey(rawValue: 0))?.target,
            let second = try StoredLink(references[1], of: view, RecordKey(rawValue: 0))?.target
        else { return nil }
        return try join(of: references, between: first, and: second)
    }
}

extension Entity {
    /// A copy of a record with the given values in their slots.
    package func record(_ record: RawSpan, setting values: [Int: Value]) throws -> [UInt8] {
        let view = try RecordView(record, of: self)
        var builder = RecordBuilder()
        for slot in 0..<max(slots.count, view.slotCount) {
            if let value = values[slot] { builder.append(value) } else { try builder.append(slot, of: view) }
        }
        return builder.finish()
    }
}
