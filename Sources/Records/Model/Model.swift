public import Values

/// A named value of an entity's objects.
public struct AttributeDescription: Hashable, Sendable {
    public let name: String
    public let type: ValueType
    /// Whether the value may be null.
    public let isOptional: Bool
    /// Whether no two objects have the same value (null aside). A unique value has 500 bytes at most.
    public let isUnique: Bool

    public init(_ name: String, _ type: ValueType, isOptional: Bool = true, isUnique: Bool = false) {
        self.name = name
        self.type = type
        self.isOptional = isOptional
        self.isUnique = isUnique
    }
}

/// A kind of object: a name and its attributes, whose order is the order of their slots in records.
public struct Entity: Hashable, Sendable {
    public let name: String
    public let attributes: [AttributeDescription]
    private let slots: [String: Int]

    public init(_ name: String, _ attributes: [AttributeDescription]) {
        self.name = name
        self.attributes = attributes
        self.uniqueSlots = attributes.indices.filter { attributes[$0].isUnique }
        self.slots = Dictionary(attributes.indices.map { (attributes[$0].name, $0) }) { first, _ in first }
    }

    /// The slot of an attribute; nil when there is none of that name.
    package func slot(of attribute: String) -> Int? { slots[attribute] }

    package func requireSlot(of attribute: String) throws -> Int {
        guard let slot = slots[attribute] else {
            throw StoreError.unknownAttribute(entity: name, attribute: attribute)
        }
        return slot
    }

    /// What stands in the place of an entity that was dropped: numbers of entities are never used again.
    static let dropped = Entity("", [])

    /// Whether the entity was dropped.
    package var isDropped: Bool { name.isEmpty && attributes.isEmpty }

    /// The slots of the unique attributes.
    package let uniqueSlots: [Int]

    /// Changes whenever the entity does: what a cache of its rows was made for.
    package var versionHash: String {
        var bytes: [UInt8] = []
        bytes.appendEntity(self)
        return String(bytes.span.bytes.checksum, radix: 16)
    }
}

/// The entities of a store. The model is stored in the file.
public struct Model: Hashable, Sendable {
    public internal(set) var entities: [Entity]
    /// The classes that users of the model make of its entities' objects, by entity. Not stored, and no part of what
    /// models are compared by.
    package var objectClasses: [String: AnyClass] = [:]

    public init(entities: [Entity]) { self.entities = entities }

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
    func validate() throws {
        let entities = entities.filter { !$0.isDropped }
        guard entities.count <= 1 << 15 else { throw StoreError.invalidModel("it has more than 32,768 entities") }
        guard Set(entities.map(\.name)).count == entities.count else {
            throw StoreError.invalidModel("two entities have the same name")
        }
        for entity in entities {
            let names = entity.attributes.map(\.name)
            guard !entity.name.isEmpty, !names.isEmpty, !names.contains("") else {
                throw StoreError.invalidModel("an entity needs a name and attributes with names")
            }
            guard names.count <= 1 << 15 else {
                throw StoreError.invalidModel("\(entity.name) has more than 32,768 attributes")
            }
            guard Set(names).count == names.count else {
                throw StoreError.invalidModel("two attributes of \(entity.name) have the same name")
            }
        }
    }

    /// In one sentence.
    private static func difference(from old: AttributeDescription, to new: AttributeDescription) -> String {
        if old.name != new.name { return "where it has the attribute \(old.name), the model has \(new.name)" }
        if old.type != new.type {
            return "its attribute \(old.name) is stored as \(old.type.name), not as \(new.type.name)"
        }
        if old.isOptional != new.isOptional {
            let (stored, given) = old.isOptional ? ("optional", "required") : ("required", "optional")
            return "its attribute \(old.name) is \(stored), and \(given) in the model"
        }
        let (stored, given) = old.isUnique ? ("unique", "not unique") : ("not unique", "unique")
        return "its attribute \(old.name) is \(stored), and \(given) in the model"
    }

    /// The stored model brought to a given one: entities may be new, and have new optional attributes at their end.
    /// Stored entities that are not given stay.
    func merged(with given: Model) throws -> Model {
        var merged = self
        for entity in given.entities where !entity.isDropped {
            guard let number = merged.entities.firstIndex(where: { $0.name == entity.name }) else {
                merged.entities.append(entity)
                continue
            }
            let stored = merged.entities[number]
            for (old, new) in zip(stored.attributes, entity.attributes) where old != new {
                throw StoreError.modelMismatch(entity: entity.name, Self.difference(from: old, to: new))
            }
            guard entity.attributes.count >= stored.attributes.count else {
                throw StoreError.modelMismatch(entity: entity.name, "attributes were removed")
            }
            for new in entity.attributes.dropFirst(stored.attributes.count) where !new.isOptional || new.isUnique {
                throw StoreError.modelMismatch(
                    entity: entity.name, "the new attribute \(new.name) must be optional and not unique")
            }
            merged.entities[number] = entity
        }
        try merged.validate()
        return merged
    }
}
