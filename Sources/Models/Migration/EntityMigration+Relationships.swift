internal import FetchIndexValues

/// The migration of relationships.
extension EntityMigration {
    func liveRelationship(named name: String) -> Int? {
        relationships.firstIndex { !$0.isRemoved && $0.description.name == name }
    }

    /// Matches each declared relationship with a stored one, or adds it. `storage` decides where the links of an added
    /// relationship are stored.
    mutating func matchRelationships(_ storage: (RelationshipDescription) -> NewStorage) throws {
        let present = Set(given.relationships.map(\.name)).intersection(old.relationships.map(\.name))
        for relationship in given.relationships {
            if present.contains(relationship.name), let index = liveRelationship(named: relationship.name) {
                try change(index, to: relationship)
            } else if let former = relationship.renamedFrom, let index = liveRelationship(named: former),
                index < old.storedRelationships.count
            {
                try rename(index, to: relationship, isFormerDeclared: present.contains(former))
            } else if let taken = old.relationship(named: relationship.name) {
                throw mismatch("its relationship \(relationship.name) is called \(taken.description.name) now")
            } else if old.slot(of: relationship.name) != nil {
                throw mismatch("it has an attribute \(relationship.name), which cannot become a relationship")
            } else {
                insert(relationship, storage(relationship))
            }
        }
    }

    private mutating func rename(
        _ index: Int, to relationship: RelationshipDescription, isFormerDeclared: Bool
    ) throws {
        let former = relationships[index].description.name
        if isFormerDeclared {
            throw mismatch("\(relationship.name) is renamed from \(former), which the model declares too")
        }
        note(.renameRelationship(from: former, to: relationship.name), .free, "its links stay")
        relationships[index].formerNames.append(former)
        relationships[index].description = relationships[index].description.named(
            relationship.name, inverse: relationships[index].description.inverse)
        if case .reference(let slot, let position) = relationships[index].storage {
            for slot in [slot, position] {
                slots[slot].attribute = slots[slot].attribute.with(name: relationship.name)
            }
        }
        try change(index, to: relationship)
    }

    private mutating func insert(_ relationship: RelationshipDescription, _ storage: NewStorage) {
        let addition = ModelDifference.Change.addRelationship(
            relationship.name, to: relationship.destination, isToMany: relationship.isToMany)
        let place: StoredRelationship.Storage
        switch storage {
        case .inverse: place = .inverse
        case .join(let entity, let side): place = .join(entity: entity, side: side)
        case .reference:
            place = .reference(slot: slots.count, position: slots.count + 1)
            if !relationship.isOptional { required.append((slots.count, .null)) }
            append(AttributeDescription(relationship.name, .integer, isOptional: relationship.isOptional), .reference)
            append(AttributeDescription(relationship.name, .data), .position)
        }
        let isMissing = storage == .reference && !relationship.isOptional
        if isMissing {
            note(addition, .decision, "it is required, but existing objects have no related object")
        } else {
            note(addition, .free, "no objects are related yet")
        }
        // A relationship that replaces a removed one continues it: caches that read it know the names, and its other slots
        // make them unusable.
        let former = relationships.last {
            $0.isRemoved
                && ($0.description.name == relationship.name || $0.description.name == relationship.renamedFrom)
        }
        var permanentName = former?.permanentName ?? relationship.name
        while relationships.contains(where: { !$0.isRemoved && $0.permanentName == permanentName }) {
            permanentName += "~\(relationships.count)"
        }
        var added = StoredRelationship(
            relationship.named(relationship.name, inverse: relationship.inverse), permanentName: permanentName, place)
        if let former {
            let names = former.formerNames + [former.description.name]
            added.formerNames = names.filter { $0 != relationship.name }
        }
        relationships.append(added)
    }

    private mutating func change(_ index: Int, to relationship: RelationshipDescription) throws {
        let stored = relationships[index].description
        guard stored.destination == relationship.destination, stored.isToMany == relationship.isToMany else {
            throw mismatch(
                "its relationship \(stored.name) leads to \(stored.isToMany ? "many objects" : "one object") of "
                    + "\(stored.destination): remove it, and add one of another name")
        }
        if stored == relationship { return }
        if stored.inverse != relationship.inverse { changesInverses = true }
        if stored.isOptional && !relationship.isOptional {
            note(.makeRequired(relationship.name), .pass, "no object may have nil")
            if case .reference(let slot, _) = relationships[index].storage { required.append((slot, .null)) }
        } else if !stored.isOptional && relationship.isOptional {
            note(.makeOptional(relationship.name), .free, "every record stays valid")
        }
        if stored.deleteRule != relationship.deleteRule || stored.isOrdered != relationship.isOrdered
            || stored.minCount != relationship.minCount || stored.maxCount != relationship.maxCount
        {
            note(.changeRelationship(relationship.name), .free, "later saves follow the new rules")
        }
        relationships[index].description = relationship.named(relationship.name, inverse: relationship.inverse)
        if case .reference(let slot, _) = relationships[index].storage {
            slots[slot].attribute = slots[slot].attribute.with(isOptional: relationship.isOptional)
        }
    }

    /// Removes a relationship. The migration deletes the link keys of a reference, or the records of the join entity.
    mutating func removeRelationship(_ index: Int) {
        if case .reference(let slot, _) = relationships[index].storage { removeFromLists(slot) }
        note(.removeRelationship(relationships[index].description.name), .pass, "its links are deleted")
        relationships[index].isRemoved = true
        guard case .reference(let slot, let position) = relationships[index].storage else { return }
        for slot in [slot, position] {
            slots[slot].isRemoved = true
            slots[slot].attribute = slots[slot].attribute.with(isOptional: true)
        }
    }
}

/// The place in which the links of an added relationship are stored.
enum NewStorage: Equatable {
    case reference
    case inverse
    case join(entity: Int, side: Int)

    init(_ storage: StoredRelationship.Storage) {
        switch storage {
        case .reference: self = .reference
        case .inverse: self = .inverse
        case .join(let entity, let side): self = .join(entity: entity, side: side)
        }
    }
}

/// Decides where the links of relationships that a model adds are stored, and makes the join entities of the
/// many-to-many ones.
struct NewJoins {
    private let stored: Model
    private let given: Model
    private let first: Int
    private let taken: Set<String>
    private var numbers: [String: Int] = [:]
    private(set) var entities: [Entity] = []

    /// The join entities get the numbers after all other new entities.
    init(from stored: Model, to given: Model) {
        (self.stored, self.given) = (stored, given)
        taken = Set((stored.entities + given.entities).map(\.name))
        first =
            stored.entities.count
            + given.entities.filter { !$0.isDropped && stored.entity(named: $0.name) == nil }.count
    }

    /// Decides where the links of a new relationship are stored. An inherited relationship is stored like in the
    /// superentity.
    mutating func storage(
        of relationship: RelationshipDescription, in entity: Entity, inheritedFrom parent: Entity?
    ) -> NewStorage {
        if let inherited = parent?.relationship(named: relationship.name) { return NewStorage(inherited.storage) }
        // If the other side is stored already, this side must match it.
        let declared = given.entity(named: relationship.destination)?.relationship(named: relationship.inverse)
        let destination = stored.entity(named: relationship.destination)
        let other =
            given.isOwnInverse(relationship)
            ? nil
            : destination?.relationship(named: relationship.inverse)
                ?? destination?.relationship(named: declared?.description.renamedFrom)
        switch other?.storage {
        case .reference: return .inverse
        case .inverse: return .reference
        case .join(let entity, let side): return .join(entity: entity, side: 1 - side)
        case nil: break
        }
        switch given.kind(of: relationship, in: entity) {
        case .reference: return .reference
        case .inverse: return .inverse
        case .join(let isFirst):
            let inverse = given.entity(named: relationship.destination)?.relationship(named: relationship.inverse)
            let sides = [
                (entity.name, relationship.name), (relationship.destination, inverse?.description.name ?? ""),
            ]
            let (first, second) = isFirst ? (sides[0], sides[1]) : (sides[1], sides[0])
            let number = self.number(of: "\(first.0).\(first.1)", of: first.0, and: second.0)
            return .join(entity: number, side: isFirst ? 0 : 1)
        }
    }

    private mutating func number(of key: String, of first: String, and second: String) -> Int {
        if let known = numbers[key] { return known }
        let number = self.first + entities.count
        entities.append(.join(taken.contains(key) ? "\(key)~\(number)" : key, of: first, and: second))
        numbers[key] = number
        return number
    }
}
