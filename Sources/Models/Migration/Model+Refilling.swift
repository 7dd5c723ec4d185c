// Migrations of a store whose objects are about to be written anew by another program's: what the stored values don't allow
// need not be refused, because these values go anyway.
extension Model {
    /// This stored model without what can't become the same property of another model: attributes of another type,
    /// relationships to another entity or to another number of objects, and relationships of entities that only this
    /// model has whose other sides the other model lacks. Nil if nothing must go.
    package func withoutConflicts(with new: Model) -> Model? {
        var gone: Set<Property> = []
        for entity in new.entities {
            guard let stored = self.entity(named: entity.name) else { continue }
            for property in stored.attributes.map(\.name) + stored.relationships.map(\.name)
            where entity.conflicts(with: stored, property, in: new, self) {
                gone.insert(Property(root: root(of: stored.name), name: property))
            }
        }
        for entity in entities where !entity.isDropped {
            for relationship in entity.relationships {
                guard let inverse = relationship.inverse else { continue }
                let other = Property(root: root(of: relationship.destination), name: inverse)
                let isLost = new.entity(named: entity.name) == nil && new.lacks(inverse, of: relationship.destination)
                if gone.contains(other) || isLost {
                    gone.insert(Property(root: root(of: entity.name), name: relationship.name))
                    if isLost { gone.insert(other) }
                }
            }
        }
        if gone.isEmpty { return nil }
        return Model(
            entities: entities.filter { !$0.isDropped && !$0.isJoin }.map { entity in
                entity.removing { gone.contains(Property(root: root(of: entity.name), name: $0)) }
            })
    }

    /// This model without former names that other entities of `whole`, or other properties of the same hierarchy there,
    /// have now: present names decide which of the two has the stored values.
    package func withoutFormerNames(usedIn whole: Model) -> Model {
        var used: [String: Set<String>] = [:]
        for entity in whole.entities {
            used[whole.root(of: entity.name), default: []].formUnion(
                entity.attributes.map(\.name) + entity.relationships.map(\.name))
        }
        let names = Set(whole.entities.map(\.name))
        return Model(
            entities: entities.map { entity in
                let used = used[whole.root(of: entity.name)] ?? []
                return entity.withFormerNames(own: entity.renamedFrom.flatMap { names.contains($0) ? nil : $0 }) {
                    _, former in used.contains(former)
                }
            }, requests: requests)
    }

    /// This model without former names of entities and properties that a stored model has under their present names.
    package func withoutFormerNames(ofKnownIn stored: Model) -> Model {
        Model(
            entities: entities.map { entity in
                guard let known = source(of: entity, in: stored) else { return entity }
                let names = Set(known.attributes.map(\.name) + known.relationships.map(\.name))
                let isKnown = known.name == entity.name
                return entity.withFormerNames(own: isKnown ? nil : entity.renamedFrom) { name, _ in names.contains(name)
                }
            }, requests: requests)
    }

    /// This model without the rules that stored objects may break until they are written anew: what it requires, makes
    /// unique or abstract, and the stored model doesn't. `hasObjects` says whether an entity of the stored model has objects.
    package func relaxed(for stored: Model, hasObjects: (String) throws -> Bool) rethrows -> Model {
        var optional: Set<Property> = []
        var shared: Set<String> = []
        var concrete: Set<String> = []
        for entity in entities {
            guard let old = stored.entity(named: entity.name), try hasObjects(entity.name) else { continue }
            let root = root(of: entity.name)
            if entity.isAbstract, !old.isAbstract { concrete.insert(entity.name) }
            for attribute in entity.attributes
            where !attribute.isOptional && attribute.derivation == nil && !old.requires(attribute.name) {
                optional.insert(Property(root: root, name: attribute.name))
            }
            for relationship in entity.relationships where !relationship.isOptional && !old.requires(relationship.name)
            {
                optional.insert(Property(root: root, name: relationship.name))
            }
            let known = Set(old.allUniqueLists.map { Set($0) })
            if !entity.allUniqueLists.allSatisfy({ known.contains(Set($0)) }) { shared.insert(root) }
        }
        if optional.isEmpty && shared.isEmpty && concrete.isEmpty { return self }
        return Model(
            entities: entities.map { entity in
                let root = root(of: entity.name)
                return entity.relaxed(
                    isUnique: !shared.contains(root), isAbstract: entity.isAbstract && !concrete.contains(entity.name)
                ) {
                    optional.contains(Property(root: root, name: $0))
                }
            })
    }

    /// A property of a hierarchy of entities.
    private struct Property: Hashable {
        let root: String
        let name: String
    }

    private func root(of name: String) -> String {
        var root = name
        for _ in entities {
            guard let above = entity(named: root)?.superentity else { return root }
            root = above
        }
        return root
    }

    private func lacks(_ relationship: String, of name: String) -> Bool {
        guard let entity = entity(named: name) else { return false }
        return entity.relationship(named: relationship) == nil
    }
}

extension Entity {
    /// All lists of attributes whose values are unique together, also lists of one attribute.
    fileprivate var allUniqueLists: [[String]] { uniqueAttributes + attributes.filter(\.isUnique).map { [$0.name] } }

    fileprivate func requires(_ property: String) -> Bool {
        attributes.contains { $0.name == property && !$0.isOptional }
            || relationships.contains { $0.name == property && !$0.isOptional }
    }

    /// Whether a property of the stored entity can't become the property of this entity that has its name or is renamed
    /// from it.
    fileprivate func conflicts(with stored: Entity, _ name: String, in new: Model, _ old: Model) -> Bool {
        let attribute = attributes.first { $0.name == name } ?? attributes.first { $0.renamedFrom == name }
        let relationship = relationships.first { $0.name == name } ?? relationships.first { $0.renamedFrom == name }
        if let before = stored.attributes.first(where: { $0.name == name }) {
            return relationship?.name == name || attribute.map { $0.type != before.type } ?? false
        }
        guard let before = stored.relationships.first(where: { $0.name == name }) else { return false }
        if attribute?.name == name { return true }
        guard let relationship else { return false }
        func isInverseToMany(_ relationship: RelationshipDescription, in model: Model) -> Bool? {
            model.entity(named: relationship.destination)?.relationship(named: relationship.inverse)?.description
                .isToMany
                ?? model.entity(named: relationship.destination)?.relationships.first {
                    $0.name == relationship.inverse
                }?.isToMany
        }
        return relationship.isToMany != before.isToMany || relationship.destination != before.destination
            || new.isOwnInverse(relationship) != old.isOwnInverse(before)
            || isInverseToMany(relationship, in: new) != isInverseToMany(before, in: old)
    }

    /// The entity without some of its properties, which are removed from the store, with the uniqueness of their values
    /// and their indexes.
    func removing(_ isGone: (String) -> Bool) -> Entity {
        let gone = (attributes.map(\.name) + relationships.map(\.name)).filter(isGone)
        if gone.isEmpty { return self }
        return Entity(
            name, attributes.filter { !isGone($0.name) }, relationships: relationships.filter { !isGone($0.name) },
            unique: uniqueAttributes.filter { !$0.contains(where: isGone) },
            indexes: indexes.filter { !$0.keys.contains { isGone($0.attribute) } },
            removed: removedAttributes + gone, removedIndexes: removedIndexes, superentity: superentity,
            isAbstract: isAbstract, renamedFrom: renamedFrom)
    }

    /// The entity with this former name, and without the former names of some properties. The closure gets a property's name
    /// and its former one.
    fileprivate func withFormerNames(own: String?, without isGone: (String, String) -> Bool) -> Entity {
        func loses(_ name: String, _ former: String?) -> Bool { former.map { isGone(name, $0) } ?? false }
        if own == renamedFrom, !attributes.contains(where: { loses($0.name, $0.renamedFrom) }),
            !relationships.contains(where: { loses($0.name, $0.renamedFrom) })
        {
            return self
        }
        return Entity(
            name,
            attributes.map { attribute in
                guard loses(attribute.name, attribute.renamedFrom) else { return attribute }
                return AttributeDescription(
                    attribute.name, attribute.type, isOptional: attribute.isOptional, isUnique: attribute.isUnique,
                    defaultValue: attribute.defaultValue, derivation: attribute.derivation)
            },
            relationships: relationships.map {
                loses($0.name, $0.renamedFrom) ? $0.named($0.name, inverse: $0.inverse) : $0
            },
            unique: uniqueAttributes, indexes: indexes, removed: removedAttributes, removedIndexes: removedIndexes,
            superentity: superentity, isAbstract: isAbstract, renamedFrom: own)
    }

    fileprivate func relaxed(isUnique: Bool, isAbstract: Bool, _ isOptional: (String) -> Bool) -> Entity {
        Entity(
            name,
            attributes.map { attribute in
                AttributeDescription(
                    attribute.name, attribute.type, isOptional: attribute.isOptional || isOptional(attribute.name),
                    isUnique: isUnique && attribute.isUnique, defaultValue: attribute.defaultValue,
                    renamedFrom: attribute.renamedFrom, derivation: attribute.derivation)
            },
            relationships: relationships.map { relationship in
                isOptional(relationship.name) ? relationship.changed(isOptional: true) : relationship
            },
            unique: isUnique ? uniqueAttributes : [], indexes: indexes, removed: removedAttributes,
            removedIndexes: removedIndexes, superentity: superentity, isAbstract: isAbstract, renamedFrom: renamedFrom)
    }
}
