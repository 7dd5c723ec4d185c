internal import FetchIndexLMDB
internal import FetchIndexModels

/// Migrates links: changes link keys as relationships change.
extension StoreWriter {
    /// Deletes the link keys of removed relationships, and the join objects of removed many-to-many relationships.
    /// Returns `applied` without the join entities of removed many-to-many relationships. O(links x log n).
    func deleteLinks(goneFrom old: Model, in new: Model, _ applied: Model) throws -> Model {
        if !old.hasRelationships { return applied }
        var applied = applied
        let used = new.usedJoins
        for number in new.entities.indices where new.entities[number].isJoin && !used.contains(number) {
            var links: [RecordKey] = []
            try scan(number) { link, _ in
                links.append(link)
                return true
            }
            for link in links { try remove(link) }
            applied.drop(number)
        }
        let names = new.linkNames
        for name in old.linkNames where !names.contains(name) {
            try deleteUniqueKeys(beginningWith: LinkKey.prefix(name))
        }
        return applied
    }

    /// Corrects the link keys of all relationships if one of the relationships has moved to a superentity, because link
    /// keys begin with the topmost entity that has the relationship. Costs O(n log n) for the records of entities with
    /// relationships if one has moved, otherwise O(relationships).
    func renewLinks(from old: Model) throws {
        let before = old.namesBySlot
        let hasMoved = model.namesBySlot.contains { slot, name in before[slot].map { $0 != name } ?? false }
        if hasMoved { _ = try repairLinks() }
    }

    /// Throws `modelMismatch` if a relationship becomes one-to-one and several objects are linked to one of its
    /// targets. O(links of such relationships).
    func requireUniqueLinks(from old: Model, to new: Model) throws {
        let before = old.references
        for (name, reference) in new.references where reference.isUnique && before[name]?.isUnique == false {
            let prefix = LinkKey.prefix(name)
            try view.walk(tables.unique, from: prefix.span.bytes) { cursor in
                guard let key = LinkKey(cursor.key), key.name == name else { return false }
                guard key.holder == nil, try LinkKey.count(cursor.value, under: cursor.key) > 1 else { return true }
                throw StoreError.modelMismatch(
                    entity: new.entities[name.entity].name,
                    "its relationship \(reference.relationship) becomes one-to-one, but several objects refer to "
                        + self.name(of: key.target))
            }
        }
    }
}

extension Model {
    /// The references of all entities. The dictionary's keys are the entity and slot with which the references' link
    /// keys begin.
    fileprivate var references: [EntityLinks.Name: EntityLinks.Reference] {
        Dictionary(entities.flatMap { $0.links?.references ?? [] }.map { ($0.name, $0) }) { first, _ in first }
    }

    fileprivate var linkNames: Set<EntityLinks.Name> { Set(references.keys) }

    /// For the entity and slot of each reference, the entity and slot with which its link keys begin. The two differ
    /// for a reference that is inherited from a superentity.
    fileprivate var namesBySlot: [EntityLinks.Name: EntityLinks.Name] {
        var names: [EntityLinks.Name: EntityLinks.Name] = [:]
        for (number, entity) in entities.enumerated() {
            for reference in entity.links?.references ?? [] {
                names[EntityLinks.Name(entity: number, slot: reference.slot)] = reference.name
            }
        }
        return names
    }

    /// The join entities that the model's many-to-many relationships use.
    var usedJoins: Set<Int> {
        Set(
            entities.flatMap(\.storedRelationships).compactMap { relationship -> Int? in
                guard !relationship.isRemoved, case .join(let entity, _) = relationship.storage else { return nil }
                return entity
            })
    }
}
