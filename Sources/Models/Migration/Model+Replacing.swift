extension Model {
    /// The model as the whole of what a stored model's entities are to have: what they have and this model's entities lack
    /// is removed. An attribute or a relationship of the stored model that has `renamedFrom` among its former names, or
    /// the name itself, is renamed, so a name that lasts through several versions may stand for it; so is an entity.
    /// Entities that only the stored model has stay, unless `dropsEntities`. Throws `ModelError.invalid` if a renamed
    /// attribute would replace another one.
    package func replacing(_ stored: Model, dropsEntities: Bool = false) throws -> Model {
        var sources: Set<String> = []
        let replaced = try entities.map { entity in
            guard let old = source(of: entity, in: stored) else { return entity }
            sources.insert(old.name)
            return try entity.replacing(old)
        }
        let left = stored.entities.filter { !$0.isDropped && !$0.isJoin && !sources.contains($0.name) }.map(\.name)
        var model = Model(
            entities: replaced, removed: removedEntities + (dropsEntities ? left : []), requests: requests)
        model.removedRequests = stored.requests.map(\.name).filter { name in !requests.contains { $0.name == name } }
        return model
    }

    /// The stored entity that becomes an entity of this model: that of its name, or one that has or had that name or
    /// the one before, and that this model lacks.
    func source(of entity: Entity, in stored: Model) -> Entity? {
        if let same = stored.entity(named: entity.name) { return same }
        for name in [entity.renamedFrom, entity.name].compactMap({ $0 }) {
            let found = stored.entities.first { other in
                !other.isDropped && (other.name == name || other.stored.formerNames.contains(name))
                    && self.entity(named: other.name) == nil
            }
            if let found { return found }
        }
        return nil
    }
}

extension Entity {
    fileprivate func replacing(_ old: Entity) throws -> Entity {
        let declared = Set(attributes.map(\.name) + relationships.map(\.name))
        /// The stored name of what is called `name`, by its own name or by former ones.
        func source(_ name: String, _ former: String?, _ current: (String) -> String?) throws -> String? {
            if current(name) == name {
                guard let former, let other = current(former), other != name, !declared.contains(other) else {
                    return nil
                }
                throw ModelError.invalid(
                    "\(self.name).\(name) is renamed from \(former), but the store has both: remove \(name) first")
            }
            return [former, name].compactMap { $0 }.compactMap(current).first { !declared.contains($0) }
        }
        let renamed = try attributes.map { attribute in
            let former = try source(attribute.name, attribute.renamedFrom) { name in
                old.slot(of: name).map { old.attribute(at: $0).name }
            }
            return AttributeDescription(
                attribute.name, attribute.type, isOptional: attribute.isOptional, isUnique: attribute.isUnique,
                defaultValue: attribute.defaultValue, renamedFrom: former ?? attribute.renamedFrom,
                derivation: attribute.derivation)
        }
        let related = try relationships.map { relationship in
            let former = try source(relationship.name, relationship.renamedFrom) {
                old.relationship(named: $0)?.description.name
            }
            return relationship.renamed(from: former ?? relationship.renamedFrom)
        }
        var newNames = Dictionary(declared.map { ($0, $0) }) { first, _ in first }
        for (former, name) in renamed.map({ ($0.renamedFrom, $0.name) }) + related.map({ ($0.renamedFrom, $0.name) }) {
            if let former, !declared.contains(former) { newNames[former] = name }
        }
        let gone = (old.attributes.map(\.name) + old.relationships.map(\.name)).filter { newNames[$0] == nil }
        // An index goes with an attribute that is removed.
        let goneIndexes = old.indexes.compactMap { index -> Index? in
            let keys = index.keys.compactMap { key in
                newNames[key.attribute].map { Index.Key($0, isDescending: key.isDescending) }
            }
            let renamed = Index(keys: keys)
            return keys.count == index.keys.count && !indexes.contains(renamed) ? renamed : nil
        }
        return Entity(
            name, renamed, relationships: related, unique: uniqueAttributes, indexes: indexes,
            removed: removedAttributes + gone, removedIndexes: removedIndexes + goneIndexes,
            superentity: superentity, isAbstract: isAbstract, renamedFrom: old.name == name ? renamedFrom : old.name)
    }
}
