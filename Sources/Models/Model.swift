internal import Values

/// The entities of a store. The model is stored in the file.
public struct Model: Hashable, Sendable {
    public package(set) var entities: [Entity]
    /// Types that a user of the model keeps with its entities, by name. Not stored, and not compared.
    package var attachedTypes: [String: Any.Type] = [:]

    /// Entities get the attributes, relationships and unique attributes of their superentities.
    public init(entities: [Entity]) { self.entities = Self.inheriting(entities) }

    public static func == (left: Model, right: Model) -> Bool { left.entities == right.entities }

    public func hash(into hasher: inout Hasher) { hasher.combine(entities) }

    public func entity(named name: String) -> Entity? { entities.first { $0.name == name && !$0.isDropped } }

    package func number(of entity: String) throws -> Int {
        guard let number = entities.firstIndex(where: { $0.name == entity && !$0.isDropped }) else {
            throw StoreError.unknownEntity(entity)
        }
        return number
    }

    /// Throws unless names are there, differ, and fit the format.
    package func validate() throws {
        let entities = entities.filter { !$0.isDropped }
        guard entities.count <= 1 << 15 else { throw StoreError.invalidModel("it has more than 32,768 entities") }
        guard Set(entities.map(\.name)).count == entities.count else {
            throw StoreError.invalidModel("two entities have the same name")
        }
        for entity in entities {
            let names = entity.attributes.map(\.name)
            for attribute in entity.attributes { try validate(attribute, of: entity) }
            guard !entity.name.isEmpty else { throw StoreError.invalidModel("an entity has no name") }
            guard !names.isEmpty || !entity.relationships.isEmpty else {
                throw StoreError.invalidModel("\(entity.name) has no attributes")
            }
            guard !names.contains("") else {
                throw StoreError.invalidModel("an attribute of \(entity.name) has no name")
            }
            guard entity.slots.count <= 1 << 15 else {
                throw StoreError.invalidModel("\(entity.name) has more than 32,768 attributes")
            }
            guard Set(names).count == names.count else {
                throw StoreError.invalidModel("two attributes of \(entity.name) have the same name")
            }
            if let name = entity.removedAttributes.first(where: names.contains) {
                throw StoreError.invalidModel("\(entity.name).\(name) is both declared and removed")
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
                throw StoreError.invalidModel(
                    "an index of \(entity.name) needs one attribute, or several different ones")
            }
            if let unknown = names.first(where: { entity.slot(of: $0) == nil }) {
                throw StoreError.invalidModel("\(entity.name) has no attribute \"\(unknown)\" for the index \(index)")
            }
            let slots = names.compactMap { entity.slot(of: $0) }
            let length = slots.reduce(entity.name.utf8.count) { length, slot in
                length + max(entity.slots[slot].permanentName.utf8.count, entity.attribute(at: slot).name.utf8.count)
                    + 8
            }
            guard length <= 400 else {
                throw StoreError.invalidModel("the names of the index \(index) of \(entity.name) are too long")
            }
            if entity.removedIndexes.contains(index) {
                throw StoreError.invalidModel("the index \(index) of \(entity.name) is both declared and removed")
            }
        }
        guard Set(entity.indexes).count == entity.indexes.count else {
            throw StoreError.invalidModel("two indexes of \(entity.name) are the same")
        }
    }

    private func validate(_ attribute: AttributeDescription, of entity: Entity) throws {
        if attribute.derivation != nil && !attribute.defaultValue.isNull {
            throw StoreError.invalidModel("\(entity.name).\(attribute.name) is derived, and has a default value")
        }
        if attribute.defaultValue.isUnstorable {
            throw StoreError.invalidModel("the default value of \(entity.name).\(attribute.name) is not a number")
        }
        guard let type = attribute.defaultValue.type, type != attribute.type else { return }
        throw StoreError.invalidModel(
            "the default value of \(entity.name).\(attribute.name) is \(type.nameWithArticle), not "
                + attribute.type.nameWithArticle)
    }

    private func validateUniqueAttributes(of entity: Entity) throws {
        guard entity.uniqueAttributes.count < 1 << 15 else {
            throw StoreError.invalidModel("\(entity.name) has more than 32,767 lists of unique attributes")
        }
        for names in entity.uniqueAttributes {
            let list = names.joined(separator: ", ")
            guard names.count > 1, Set(names).count == names.count else {
                throw StoreError.invalidModel(
                    "attributes of \(entity.name) that are unique together must be several different ones: \(list)")
            }
            if let unknown = names.first(where: { entity.slot(of: $0) == nil }) {
                throw StoreError.invalidModel("\(entity.name) has no attribute \"\(unknown)\" that could be unique")
            }
        }
    }
}
