extension Model {
    /// The place in which the links of a declared relationship are stored, unless the store already has the inverse.
    enum RelationshipKind: Equatable {
        case reference
        case inverse
        /// If `isFirst`, the join entity is named after this side, and its reference 0 leads to this side's objects.
        case join(isFirst: Bool)
    }

    func kind(of relationship: RelationshipDescription, in entity: Entity) -> RelationshipKind {
        guard let inverse = inverse(of: relationship) else { return .reference }
        // Both objects of a link hold it.
        if isOwnInverse(relationship) { return relationship.isToMany ? .join(isFirst: true) : .reference }
        // Compares the sides by their declared destinations instead of by `entity`, so that subentities get the same
        // result.
        let own = (relationship.name, inverse.destination)
        let other = (inverse.name, relationship.destination)
        let isFirst = (own.1, own.0) < (other.1, other.0)
        switch (relationship.isToMany, inverse.isToMany) {
        case (false, true): return .reference
        case (true, false): return .inverse
        case (true, true): return .join(isFirst: isFirst)
        case (false, false):
            if relationship.isOptional != inverse.isOptional { return relationship.isOptional ? .inverse : .reference }
            return isFirst ? .reference : .inverse
        }
    }

    /// Whether a relationship is its own inverse: if one object is related to another, that object is related to it, too.
    package func isOwnInverse(_ relationship: RelationshipDescription) -> Bool {
        relationship.inverse == relationship.name
            && inverse(of: relationship)?.destination == relationship.destination
    }

    private func inverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
        entity(named: relationship.destination)?.relationship(named: relationship.inverse)?.description
    }

    /// Checks that the two sides of each stored relationship have the same links. Throws `ModelError.mismatch` if a
    /// relationship has come to name another side.
    func requireFittingSides() throws {
        for entity in entities where !entity.isDropped && !entity.isJoin {
            for side in entity.storedRelationships where !side.isRemoved {
                let description = side.description
                guard let destination = self.entity(named: description.destination),
                    let other = destination.relationship(named: description.inverse)
                else { continue }
                let fits: Bool =
                    switch (side.storage, other.storage) {
                    case (.reference, .inverse), (.inverse, .reference): true
                    case (.reference, .reference), (.join(_, 0), .join(_, 0)): isOwnInverse(description)
                    case (.join(let one, let near), .join(let two, let far)): one == two && near != far
                    default: false
                    }
                if fits { continue }
                throw ModelError.mismatch(
                    entity: entity.name,
                    "its relationship \(description.name) gets another inverse, \(description.inverse ?? ""): remove its present "
                        + "inverse, or add a relationship of another name")
            }
        }
    }

    func validateRelationships(of entity: Entity) throws {
        let names = entity.relationships.map(\.name)
        guard !names.contains("") else {
            throw ModelError.invalid("a relationship of \(entity.name) has no name")
        }
        guard Set(names).count == names.count else {
            throw ModelError.invalid("two relationships of \(entity.name) have the same name")
        }
        if let name = names.first(where: { name in entity.attributes.contains { $0.name == name } }) {
            throw ModelError.invalid("\(entity.name).\(name) is both an attribute and a relationship")
        }
        if let name = entity.removedAttributes.first(where: names.contains) {
            throw ModelError.invalid("\(entity.name).\(name) is both declared and removed")
        }
        if let superentity = entity.superentity, let parent = self.entity(named: superentity) {
            for inherited in parent.relationships where !entity.relationships.contains(inherited) {
                throw ModelError.invalid(
                    "\(entity.name).\(inherited.name) is missing or differs from that of \(superentity)")
            }
        }
        if entity.isJoin { return }
        for relationship in entity.relationships { try validate(relationship, of: entity) }
    }

    private func validate(_ relationship: RelationshipDescription, of entity: Entity) throws {
        let name = "\(entity.name).\(relationship.name)"
        guard let destination = self.entity(named: relationship.destination), !destination.isJoin else {
            throw ModelError.invalid("\(name) leads to \(relationship.destination), which is not in the model")
        }
        guard relationship.minCount >= 0, relationship.maxCount >= 0,
            relationship.maxCount == 0 || relationship.minCount <= relationship.maxCount
        else {
            throw ModelError.invalid(
                "\(name) may have \(relationship.minCount) to \(relationship.maxCount) objects, which is not a range")
        }
        guard let inverseName = relationship.inverse else { return }
        if inverseName.isEmpty {
            throw ModelError.invalid(
                "\(name) needs its other side: declare a relationship of \(destination.name) that leads to \(entity.name), "
                    + "and name each as the inverse of the other")
        }
        guard let inverse = destination.relationship(named: inverseName)?.description else {
            throw ModelError.invalid(
                "\(name) has the inverse \(destination.name).\(inverseName), which is not in the model: declare it, with "
                    + "the inverse \(relationship.name)")
        }
        guard inverse.inverse == relationship.name else {
            throw ModelError.invalid(
                "\(name) has the inverse \(destination.name).\(inverseName), whose inverse is "
                    + (inverse.inverse.map { "\(inverse.destination).\($0)" } ?? "not declared"))
        }
        let chain = [entity.name] + superentities(of: try number(of: entity.name)).map { entities[$0].name }
        guard chain.contains(inverse.destination) else {
            throw ModelError.invalid(
                "\(name) has the inverse \(destination.name).\(inverseName), which leads to \(inverse.destination)")
        }
    }
}
