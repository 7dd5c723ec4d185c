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
            try requireSameSuperentity(entity, old, stored)
            try requireOneSource(of: entity, old, stored)
            try requireNoExchange(of: entity, old, stored)
            return try entity.replacing(old)
        }
        let left = stored.entities.filter { !$0.isDropped && !$0.isJoin && !sources.contains($0.name) }.map(\.name)
        var model = Model(
            entities: replaced, removed: removedEntities + (dropsEntities ? left : []), requests: requests)
        model.removedRequests = stored.requests.map(\.name).filter { name in !requests.contains { $0.name == name } }
        return model
    }

    private func requireSameSuperentity(_ entity: Entity, _ old: Entity, _ stored: Model) throws {
        let wanted = entity.superentity.flatMap { self.entity(named: $0) }
        if wanted.map({ source(of: $0, in: stored)?.name ?? $0.name }) == old.superentity { return }
        func place(_ superentity: String?) -> String {
            superentity.map { "a subentity of \($0)" } ?? "an entity of its own"
        }
        throw ModelError.mismatch(
            entity: entity.name,
            "it is \(place(old.superentity)) in the store, and \(place(entity.superentity)) in the model")
    }

    /// Throws `ModelError.invalid` if an entity is renamed from one that would go, but the store has its own name, too.
    private func requireOneSource(of entity: Entity, _ old: Entity, _ stored: Model) throws {
        guard let former = entity.renamedFrom, former != entity.name, old.name == entity.name,
            stored.entity(named: former) != nil, self.entity(named: former) == nil,
            !old.stored.formerNames.contains(former)
        else { return }
        throw ModelError.invalid(
            "\(entity.name) is renamed from \(former), but the store has both: remove \(entity.name) first")
    }

    /// Throws `ModelError.invalid` if two entities, or two properties of an entity, are renamed from each other, because
    /// nothing tells whether they have exchanged their names already; unless the store has known them so from the first.
    private func requireNoExchange(of entity: Entity, _ old: Entity, _ stored: Model) throws {
        func require(_ name: String, _ former: String?, _ others: [(name: String, former: String?)], _ isKnown: Bool)
            throws
        {
            guard let former, others.contains(where: { $0.name == former && $0.former == name }), !isKnown else {
                return
            }
            throw ModelError.invalid(
                "\(name) and \(former) are renamed from each other: rename one of them to a third name first")
        }
        try require(
            entity.name, entity.renamedFrom, entities.map { ($0.name, $0.renamedFrom) },
            entity.renamedFrom.map { stored.entity(named: $0) == nil || old.stored.formerNames.contains($0) } ?? true)
        let properties =
            entity.attributes.map { ($0.name, $0.renamedFrom) } + entity.relationships.map { ($0.name, $0.renamedFrom) }
        for (name, former) in properties {
            guard let former else { continue }
            let slot = old.slots.first { !$0.isRemoved && $0.attribute.name == name }
            let hasBoth =
                old.attributes.contains { $0.name == name } && old.attributes.contains { $0.name == former }
                || old.relationships.contains { $0.name == name } && old.relationships.contains { $0.name == former }
            try require(name, former, properties, !hasBoth || slot?.formerNames.contains(former) ?? false)
        }
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
        let renamed = try attributes.map { attribute in
            let former = try source(of: attribute.name, attribute.renamedFrom, declared) { name in
                old.slot(of: name).map { old.attribute(at: $0).name }
            }
            return AttributeDescription(
                attribute.name, attribute.type, isOptional: attribute.isOptional, isUnique: attribute.isUnique,
                defaultValue: attribute.defaultValue, renamedFrom: former ?? attribute.renamedFrom,
                derivation: attribute.derivation)
        }
        let related = try relationships.map { relationship in
            let former = try source(of: relationship.name, relationship.renamedFrom, declared) {
                old.relationship(named: $0)?.description.name
            }
            return relationship.renamed(from: former ?? relationship.renamedFrom)
        }
        var newNames = Dictionary(declared.map { ($0, $0) }) { first, _ in first }
        for (former, name) in renamed.map({ ($0.renamedFrom, $0.name) }) + related.map({ ($0.renamedFrom, $0.name) }) {
            if let former, !declared.contains(former) { newNames[former] = name }
        }
        let gone = (old.attributes.map(\.name) + old.relationships.map(\.name)).filter { newNames[$0] == nil }
        return Entity(
            name, renamed, relationships: related, unique: uniqueAttributes, indexes: indexes,
            removed: removedAttributes + gone, removedIndexes: removedIndexes + goneIndexes(of: old, newNames),
            superentity: superentity, isAbstract: isAbstract, renamedFrom: old.name == name ? renamedFrom : old.name)
    }

    /// The stored name of a property, found by its own name or by its former one. `stored` returns the stored name of
    /// the property that has or had a name.
    private func source(
        of name: String, _ former: String?, _ declared: Set<String>, _ stored: (String) -> String?
    ) throws -> String? {
        guard stored(name) == name else {
            return [former, name].compactMap { $0 }.compactMap(stored).first { !declared.contains($0) }
        }
        guard let former, let other = stored(former), other != name, !declared.contains(other) else { return nil }
        throw ModelError.invalid(
            "\(self.name).\(name) is renamed from \(former), but the store has both: remove \(name) first")
    }

    /// The old entity's indexes that this entity lacks, with new names. An index goes with an attribute that is removed.
    private func goneIndexes(of old: Entity, _ newNames: [String: String]) -> [Index] {
        old.indexes.compactMap { index in
            let keys = index.keys.compactMap { key in
                newNames[key.attribute].map { Index.Key($0, isDescending: key.isDescending) }
            }
            let renamed = Index(keys: keys)
            return keys.count == index.keys.count && !indexes.contains(renamed) ? renamed : nil
        }
    }
}
