/// Entities that specialize other entities. Each entity has its own number and its own records with all of its
/// attributes, including inherited ones. The superentity is found by its name.
extension Model {
    /// Whether any entity specializes another one.
    package var hasHierarchies: Bool { entities.contains { $0.superentity != nil } }

    /// The numbers of an entity and of its subentities at any depth, in ascending order. O(entities^2 x depth) if the
    /// model has hierarchies.
    package func hierarchy(of number: Int) -> [Int] {
        if !hasHierarchies { return [number] }
        return entities.indices.filter { $0 == number || superentities(of: $0).contains(number) }
    }

    /// The numbers of an entity's superentities, the nearest first.
    package func superentities(of number: Int) -> [Int] {
        var chain: [Int] = []
        var name = entities[number].superentity
        while let wanted = name, let next = entities.firstIndex(where: { $0.name == wanted && !$0.isDropped }),
            next != number, !chain.contains(next)
        {
            chain.append(next)
            name = entities[next].superentity
        }
        return chain
    }

    /// Whether an entity is the named one or a subentity of it, at any depth.
    package func isSubentity(_ entity: Entity, of name: String) -> Bool {
        guard let (inner, outer) = try? (number(of: entity.name), number(of: name)) else { return false }
        return hierarchy(of: outer).contains(inner)
    }

    /// The numbers of an entity's topmost superentity (of the entity itself, if it has none) and of all subentities of
    /// that one, at any depth.
    package func family(of number: Int) -> [Int] { hierarchy(of: superentities(of: number).last ?? number) }

    /// The entities that aren't dropped, each after its superentity.
    var superentitiesFirst: [Entity] {
        let depths = entities.indices.map { superentities(of: $0).count }
        return entities.indices.filter { !entities[$0].isDropped }.sorted { (depths[$0], $0) < (depths[$1], $1) }
            .map { entities[$0] }
    }

    /// Returns the entities with the attributes, relationships and unique attributes that they inherit.
    static func inheriting(_ entities: [Entity]) -> [Entity] {
        if !entities.contains(where: { $0.superentity != nil }) { return entities }
        var known: [String: Entity] = [:]
        func complete(_ entity: Entity, _ below: Set<String>) -> Entity {
            if let done = known[entity.name] { return done }
            guard let name = entity.superentity, !below.contains(name),
                let parent = entities.first(where: { $0.name == name })
            else { return entity }
            let completed = entity.inheriting(from: complete(parent, below.union([entity.name])))
            known[entity.name] = completed
            return completed
        }
        return entities.map { complete($0, [$0.name]) }
    }

    /// Returns the model with the owners of inherited unique constraints in its entities.
    package func withKeyOwners() -> Model {
        if !hasHierarchies { return self }
        var model = self
        for number in entities.indices {
            let entity = entities[number]
            let chain = superentities(of: number)
            if chain.isEmpty { continue }
            var owners: [Int: UniqueConstraint.Owner] = [:]
            for constraint in entity.uniqueConstraints {
                let names = entity.names(of: constraint)
                for ancestor in chain {
                    let above = entities[ancestor]
                    guard let same = above.uniqueConstraints.first(where: { above.names(of: $0) == names }) else {
                        continue
                    }
                    owners[constraint.number] = UniqueConstraint.Owner(entity: ancestor, number: same.number)
                }
            }
            model.entities[number].stored.keyOwners = owners
        }
        return model
    }

    func validateHierarchy(of entity: Entity) throws {
        guard let name = entity.superentity else { return }
        guard let parent = self.entity(named: name) else {
            throw ModelError.invalid("\(entity.name) is a subentity of \(name), which is not in the model")
        }
        let number = try number(of: entity.name)
        let top = superentities(of: number).last ?? number
        guard entities[top].superentity == nil || self.entity(named: entities[top].superentity ?? "") == nil else {
            throw ModelError.invalid("\(entity.name) is a subentity of itself")
        }
        let inherited = Set(parent.attributes.map(\.name))
        if let taken = entity.attributes.first(where: {
            !inherited.contains($0.name) && parent.slot(of: $0.name) != nil
        }) {
            throw ModelError.invalid(
                "\(entity.name).\(taken.name) has a name that an attribute of \(name) had, which requests may still use"
            )
        }
        for attribute in parent.attributes {
            guard let own = entity.attributes.first(where: { $0.name == attribute.name }) else {
                throw ModelError.invalid("\(entity.name) lacks the attribute \(attribute.name) of \(name)")
            }
            guard own == attribute else {
                throw ModelError.invalid("\(entity.name).\(own.name) differs from that of \(name)")
            }
        }
    }
}

extension Entity {
    /// Returns the entity with the attributes, relationships and unique attributes of its superentity. If `isStored`,
    /// an inherited attribute gets the default value of the superentity's equal attribute.
    func inheriting(from parent: Entity, isStored: Bool = false) -> Entity {
        let above = Dictionary(parent.attributes.map { ($0.name, $0.isUnique) }) { first, _ in first }
        // A list of one attribute makes that attribute unique. If the superentity has the attribute and doesn't make it
        // unique, the list is kept, and the values are unique among the subentity's objects. The lists of a
        // stored entity stay as they are.
        let declared = declarations.isEmpty ? uniqueAttributes : []
        let alone = Set(declared.filter { $0.count == 1 }.map { $0[0] }).filter {
            slot(of: $0) != nil && above[$0] ?? true
        }
        let attributes = attributes.map { alone.contains($0.name) ? $0.with(isUnique: true) : $0 }
        let uniqueAttributes = uniqueAttributes.filter { names in
            names.count != 1 || !alone.contains(names[0])
        }
        let names = Set(attributes.map(\.name))
        let parentNames = Set(parent.attributes.map(\.name))
        let ownLists = Set(uniqueAttributes.map(Set.init))
        let lists = parent.uniqueAttributes.filter { !ownLists.contains(Set($0)) }
        let related = Set(relationships.map(\.name))
        let removed = parent.removedAttributes.filter {
            !removedAttributes.contains($0) && !names.contains($0) && !related.contains($0)
        }
        let relationships = parent.relationships.filter { !related.contains($0.name) } + relationships
        let inheritsRelationships = relationships.count > related.count
        if !isStored && names.isSuperset(of: parentNames) && lists.isEmpty && removed.isEmpty && !inheritsRelationships
            && alone.isEmpty
        {
            return self
        }
        let inherited = parent.attributes.map { above in
            attributes.first { $0.name == above.name && (!isStored || $0 != above) } ?? above
        }
        let own = attributes.filter { !parentNames.contains($0.name) }
        return Entity(
            name, inherited + own, relationships: relationships, unique: lists + uniqueAttributes, indexes: indexes,
            removed: removedAttributes + removed, removedIndexes: removedIndexes, superentity: superentity,
            isAbstract: isAbstract, renamedFrom: renamedFrom)
    }

    fileprivate func names(of constraint: UniqueConstraint) -> Set<String> {
        Set(constraint.slots.map { attribute(at: $0).name })
    }
}
