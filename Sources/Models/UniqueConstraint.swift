package import FetchIndexValues

/// Attributes whose combined values must be unique among an entity's objects.
package struct UniqueConstraint: Hashable, Sendable {
    /// The constraint's number in unique keys: the slot of an attribute that is unique alone, or a number of at least
    /// `firstCompound` for attributes that are unique together.
    package let number: Int
    package let slots: [Int]

    /// The entity and the constraint number that unique keys contain if the constraint is inherited: those of the
    /// topmost superentity with the constraint, so that values are unique among the objects of all its subentities. Nil
    /// if the constraint isn't inherited.
    package var owner: Owner?

    package struct Owner: Hashable, Sendable {
        package let entity: Int
        package let number: Int
    }

    /// The first number of compound constraints. It's greater than the slot of any attribute.
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
