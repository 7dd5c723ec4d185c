internal import Bytes
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

/// What no two objects have in common.
package struct UniqueConstraint: Hashable, Sendable {
    /// In keys: the slot of a unique attribute; from `firstCompound` on, attributes that are unique together.
    package let number: Int
    package let slots: [Int]

    /// More than the slot of any attribute.
    package static let firstCompound = 1 << 15
}

/// A kind of object: a name and its attributes, whose order is the order of their slots in records.
public struct Entity: Hashable, Sendable {
    public let name: String
    public let attributes: [AttributeDescription]
    /// Lists of attributes whose combined values are unique among the objects that have no null among them. Together, the
    /// keys of the values have at most 500 bytes.
    public let uniqueAttributes: [[String]]
    private let slots: [String: Int]

    /// `unique` names attributes that are unique together, as `[["isbn", "edition"]]`.
    public init(_ name: String, _ attributes: [AttributeDescription], unique: [[String]] = []) {
        self.name = name
        self.attributes = attributes
        self.uniqueAttributes = unique
        let slots = Dictionary(attributes.indices.map { (attributes[$0].name, $0) }) { first, _ in first }
        self.slots = slots
        uniqueConstraints =
            attributes.indices.filter { attributes[$0].isUnique }.map { UniqueConstraint(number: $0, slots: [$0]) }
            + unique.enumerated().map { index, names in
                UniqueConstraint(number: UniqueConstraint.firstCompound + index, slots: names.compactMap { slots[$0] })
            }
    }

    /// The slot of an attribute; nil when there is none of that name.
    package func slot(of attribute: String) -> Int? { slots[attribute] }

    package func requireSlot(of attribute: String) throws -> Int {
        guard let slot = slots[attribute] else {
            throw StoreError.unknownAttribute(entity: name, attribute: attribute)
        }
        return slot
    }

    /// The placeholder of an entity that was dropped: numbers of entities are never reused.
    package static let dropped = Entity("", [])

    /// Whether the entity was dropped.
    package var isDropped: Bool { name.isEmpty && attributes.isEmpty }

    /// The unique attributes, then the attributes that are unique together.
    package let uniqueConstraints: [UniqueConstraint]

    /// The unique attribute of a slot; nil when it is not unique by itself.
    package func uniqueConstraint(ofSlot slot: Int) -> UniqueConstraint? {
        uniqueConstraints.first { $0.slots == [slot] }
    }

    /// The names of a constraint's attributes, as messages say them.
    package func name(of constraint: UniqueConstraint) -> String {
        constraint.slots.map { attributes[$0].name }.joined(separator: ", ")
    }

    /// A hash of the entity's definition. Caches store it, to detect a changed entity.
    package var versionHash: String {
        var bytes: [UInt8] = []
        bytes.appendEntity(self)
        return String(bytes.span.bytes.checksum, radix: 16)
    }
}

/// The entities of a store. The model is stored in the file.
public struct Model: Hashable, Sendable {
    public package(set) var entities: [Entity]
    /// Types that a user of the model keeps with its entities, by name. Not stored, and not compared.
    package var attachedTypes: [String: Any.Type] = [:]

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
    package func validate() throws {
        let entities = entities.filter { !$0.isDropped }
        guard entities.count <= 1 << 15 else { throw StoreError.invalidModel("it has more than 32,768 entities") }
        guard Set(entities.map(\.name)).count == entities.count else {
            throw StoreError.invalidModel("two entities have the same name")
        }
        for entity in entities {
            let names = entity.attributes.map(\.name)
            guard !entity.name.isEmpty else { throw StoreError.invalidModel("an entity has no name") }
            guard !names.isEmpty else { throw StoreError.invalidModel("\(entity.name) has no attributes") }
            guard !names.contains("") else {
                throw StoreError.invalidModel("an attribute of \(entity.name) has no name")
            }
            guard names.count <= 1 << 15 else {
                throw StoreError.invalidModel("\(entity.name) has more than 32,768 attributes")
            }
            guard Set(names).count == names.count else {
                throw StoreError.invalidModel("two attributes of \(entity.name) have the same name")
            }
            try validateUniqueAttributes(of: entity)
        }
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
    package func merged(with given: Model) throws -> Model {
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
            guard stored.uniqueAttributes == entity.uniqueAttributes else {
                throw StoreError.modelMismatch(
                    entity: entity.name, "its compound uniqueness constraints differ from those of the model")
            }
            merged.entities[number] = entity
        }
        try merged.validate()
        return merged
    }
}
