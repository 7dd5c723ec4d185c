package import FetchIndexValues

/// The slots of attributes or references whose combined values must be unique among an entity's objects. Objects with a
/// null among these values are exempt.
package struct UniqueConstraint: Hashable, Sendable {
    /// The constraint's number, which unique keys contain if `owner` is nil: the slot of an attribute with `isUnique`,
    /// or a number of at least `firstCompound` for a list.
    package let number: Int
    package let slots: [Int]

    /// The entity and the constraint number that unique keys contain if the constraint is inherited: those of the
    /// topmost superentity with the constraint, so that values are unique among its objects and those of all its
    /// subentities. Nil if the constraint isn't inherited.
    package var owner: Owner?

    package struct Owner: Hashable, Sendable {
        package let entity: Int
        package let number: Int
    }

    /// The first number of constraints that are lists. It's greater than the slot of any attribute.
    package static let firstCompound = 1 << 15
}

/// The slot and the type of an attribute, and whether a record must be given a value; a derived attribute's value is
/// computed instead. The struct has no references, so loops over rules don't retain objects.
package struct ValueRule: Sendable {
    package let slot: Int
    package let type: ValueType
    package let isRequired: Bool

    init(slot: Int, _ attribute: AttributeDescription) {
        self.slot = slot
        type = attribute.type
        isRequired = !attribute.isOptional && attribute.derivation == nil
    }
}

extension Entity {
    /// The constraint of an attribute or a reference that is unique by itself; nil for other slots.
    package func uniqueConstraint(ofSlot slot: Int) -> UniqueConstraint? {
        uniqueConstraints.first { $0.slots == [slot] }
    }

    /// The constraint of attributes that are unique together, in any order, or of one alone; nil for others.
    package func uniqueConstraint(ofSlots slots: [Int]) -> UniqueConstraint? {
        let wanted = Set(slots)
        return uniqueConstraints.first { $0.slots.count == slots.count && Set($0.slots) == wanted }
    }

    /// The names of a constraint's attributes and references, as messages show them.
    package func name(of constraint: UniqueConstraint) -> String {
        constraint.slots.map { attribute(at: $0).name }.joined(separator: ", ")
    }
}
