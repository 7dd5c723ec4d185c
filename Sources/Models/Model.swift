internal import FetchIndexValues

/// Entities, as a program declares them or as a store has them. A store's file contains its model.
public struct Model: Hashable, Sendable {
    public package(set) var entities: [Entity]
    /// Types that a user of the model attaches to its entities, by the entities' names. They aren't stored or compared.
    package var attachedTypes: [String: Any.Type] = [:]
    /// The names of entities that the store is to drop, with their objects and relationships.
    public package(set) var removedEntities: [String]
    /// The named requests. In a stored model, they are sorted by name.
    public package(set) var requests: [NamedRequest]
    /// The names of requests that the store is to forget.
    package var removedRequests: [String] = []

    /// Makes a model of entities, which inherit the attributes, relationships and unique attributes of their
    /// superentities. `removed` are entities of older models that the store is to drop. `requests` are kept by the store.
    public init(entities: [Entity], removed: [String] = [], requests: [NamedRequest] = []) {
        self.entities = Self.inheriting(entities)
        removedEntities = removed
        self.requests = requests
    }

    public static func == (left: Model, right: Model) -> Bool {
        left.entities == right.entities && Set(left.removedEntities) == Set(right.removedEntities)
            && Set(left.requests) == Set(right.requests)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(entities) }

    public func entity(named name: String) -> Entity? { entities.first { $0.name == name && !$0.isDropped } }

    /// The error for an unknown entity name.
    package func unknownEntity(_ name: String) -> ModelError {
        let names = entities.filter { !$0.isDropped && !$0.isJoin }.map(\.name)
        return .unknownEntity(name, near: NearName(names.nearest(to: name)))
    }

    /// The number of the entity that caches know by a name; nil if the store has none.
    package func number(ofPermanent name: String) -> Int? {
        entities.firstIndex { $0.permanentName == name && !$0.isDropped }
    }

    /// Replaces an entity by a placeholder, which keeps the other entities' numbers unchanged, its own from being reused,
    /// and its name. Its named requests go.
    package mutating func drop(_ number: Int) {
        let name = entities[number].name
        entities[number] = .dropped
        requests.removeAll { $0.entity == name }
        if !name.isEmpty { entities[number].stored.formerNames = [name] }
    }

    package func number(of entity: String) throws -> Int {
        guard let number = entities.firstIndex(where: { $0.name == entity && !$0.isDropped }) else {
            throw unknownEntity(entity)
        }
        return number
    }

    /// Throws `ModelError.invalid` if a name is missing or used twice, if entities, attributes or relationships don't
    /// fit together, or if an entity, an index or the model exceeds one of the limits that are checked here.
    package func validate() throws {
        let entities = entities.filter { !$0.isDropped }
        guard entities.count <= 1 << 15 else { throw ModelError.invalid("it has more than 32,768 entities") }
        guard Set(entities.map(\.name)).count == entities.count else {
            throw ModelError.invalid("two entities have the same name")
        }
        if let name = removedEntities.first(where: { name in entities.contains { $0.name == name } }) {
            throw ModelError.invalid("\(name) is both declared and removed")
        }
        guard Set(requests.map(\.name)).count == requests.count else {
            throw ModelError.invalid("two requests have the same name")
        }
        if requests.contains(where: \.name.isEmpty) { throw ModelError.invalid("a request has no name") }
        for request in requests where entity(named: request.entity) == nil {
            throw ModelError.invalid("the request \(request.name) is for \(request.entity), which is not in the model")
        }
        for entity in entities {
            let names = entity.attributes.map(\.name)
            for attribute in entity.attributes { try validate(attribute, of: entity) }
            guard !entity.name.isEmpty else { throw ModelError.invalid("an entity has no name") }
            guard !names.contains("") else {
                throw ModelError.invalid("an attribute of \(entity.name) has no name")
            }
            guard entity.slots.count <= 1 << 15 else {
                throw ModelError.invalid("\(entity.name) has more than 32,768 slots for attributes and relationships")
            }
            guard Set(names).count == names.count else {
                throw ModelError.invalid("two attributes of \(entity.name) have the same name")
            }
            if let name = entity.removedAttributes.first(where: names.contains) {
                throw ModelError.invalid("\(entity.name).\(name) is both declared and removed")
            }
            try validateUniqueAttributes(of: entity)
            try validateIndexes(of: entity)
            try validateHierarchy(of: entity)
            try validateRelationships(of: entity)
        }
    }

    private func validateIndexes(of entity: Entity) throws {
        for index in entity.indexes {
            let names = index.keys.map(\.attribute)
            guard !names.isEmpty, Set(names).count == names.count else {
                throw ModelError.invalid(
                    "an index of \(entity.name) needs one key, or several different ones")
            }
            for name in names { try requireKey(name, of: entity, "for the index \(index)") }
            let length = names.reduce(entity.name.utf8.count) { length, name in
                let permanent = entity.slot(of: name).map { entity.slots[$0].permanentName } ?? name
                return length + max(permanent.utf8.count, name.utf8.count) + 8
            }
            guard length <= 400 else {
                throw ModelError.invalid("the names of the index \(index) of \(entity.name) are too long")
            }
            if entity.removedIndexes.contains(index) {
                throw ModelError.invalid("the index \(index) of \(entity.name) is both declared and removed")
            }
        }
    }

    /// Whether an index or a list of unique attributes of an entity may have a name.
    package func isKey(_ name: String, of entity: Entity) -> Bool { (try? requireKey(name, of: entity, "")) != nil }

    /// Throws unless the name is that of an attribute, or of a to-one relationship that the entity's records hold.
    private func requireKey(_ name: String, of entity: Entity, _ purpose: String) throws {
        if entity.slot(of: name) != nil { return }
        guard let relationship = entity.relationship(named: name)?.description else {
            throw ModelError.invalid(
                "\(entity.name) has no attribute or to-one relationship \"\(name)\" \(purpose)")
        }
        if relationship.isToMany {
            throw ModelError.invalid("\(entity.name).\(name) leads to many objects, and has no value \(purpose)")
        }
        guard case .reference = kind(of: relationship, in: entity) else {
            throw ModelError.invalid(
                "\(entity.name).\(name) is one-to-one, and its links belong to "
                    + "\(relationship.destination).\(relationship.inverse ?? ""): it has no value \(purpose)")
        }
    }

    private func validate(_ attribute: AttributeDescription, of entity: Entity) throws {
        if attribute.derivation != nil && !attribute.defaultValue.isNull {
            throw ModelError.invalid("\(entity.name).\(attribute.name) is derived, so it cannot have a default value")
        }
        if attribute.defaultValue.isUnstorable {
            throw ModelError.invalid("the default value of \(entity.name).\(attribute.name) is not a number")
        }
        guard let type = attribute.defaultValue.type, type != attribute.type else { return }
        throw ModelError.invalid(
            "the default value of \(entity.name).\(attribute.name) is \(type.nameWithArticle), not "
                + attribute.type.nameWithArticle)
    }

    private func validateUniqueAttributes(of entity: Entity) throws {
        guard entity.uniqueAttributes.count < 1 << 15 else {
            throw ModelError.invalid("\(entity.name) has more than 32,767 lists of unique attributes")
        }
        for names in entity.uniqueAttributes {
            if names.isEmpty { throw ModelError.invalid("\(entity.name) has an empty list of unique attributes") }
            let list = names.joined(separator: ", ")
            guard Set(names).count == names.count else {
                throw ModelError.invalid(
                    "\(entity.name) has a list of unique attributes with a repeated name: \(list)")
            }
            for name in names { try requireKey(name, of: entity, "that could be unique") }
        }
    }
}
