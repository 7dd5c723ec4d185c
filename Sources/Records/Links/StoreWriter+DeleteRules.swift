package import FetchIndexModels
internal import FetchIndexValues

/// Delete rules: the effects of a deletion on linked objects.
extension StoreWriter {
    package typealias DeletedObject = (object: RecordKey, record: [UInt8])

    /// Applies the delete rules after objects were deleted: deletes or unlinks the objects linked to the deleted ones.
    /// Returns false if no other record changed. Throws `deletionDenied` if objects linked by a relationship with the
    /// rule deny still exist, and `invalidValue` if a required relationship would become nil; after an error, release
    /// the writer. O(links x log n).
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

    /// Throws if the holder still exists and refers to the deleted object.
    private func requireGone(_ link: RequiredLink) throws {
        guard let record = try copy(of: link.holder) else { return }
        let entity = model.entities[link.holder.entity]
        let view = try RecordView(record.span.bytes, of: entity)
        guard try StoredLink(link.reference, of: view, link.holder)?.target == link.object else { return }
        throw StoreError.invalidValue(
            entity: entity.name, attribute: link.reference.relationship,
            "is required, but \(name(of: link.holder)) would lose \(name(of: link.object)), which is deleted")
    }

    /// The objects that a record refers to by references with the rule cascade or deny.
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
            let far = RecordKey(reference: number)
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
