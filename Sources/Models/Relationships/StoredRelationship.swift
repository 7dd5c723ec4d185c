/// A relationship of a stored entity.
package struct StoredRelationship: Hashable, Sendable {
    /// The place in which a relationship's links are stored.
    package enum Storage: Hashable, Sendable {
        /// In the records of the entity: one slot has the key of the related object, and another slot has the holder's
        /// position among the objects of the inverse relationship.
        case reference(slot: Int, position: Int)
        /// In the records of the destination, by the inverse relationship.
        case inverse
        /// Many-to-many: in the records of a join entity, one for each link. Its references 0 and 1 are the two sides;
        /// `side` is the reference to objects of this entity.
        case join(entity: Int, side: Int)
    }

    /// The relationship, with its newest name.
    package var description: RelationshipDescription
    /// The relationship's name in the identities of caches, which stays the same when the relationship is renamed: its
    /// first name, with a suffix if another relationship's permanent name is the same.
    package var permanentName: String
    /// The relationship's former names. Requests and older programs may use a former name that no attribute and no
    /// other relationship has or had.
    package var formerNames: [String] = []
    package var isRemoved = false
    package let storage: Storage

    package init(_ description: RelationshipDescription, permanentName: String? = nil, _ storage: Storage) {
        self.description = description
        self.permanentName = permanentName ?? description.name
        self.storage = storage
    }
}

/// The content of a record's slot.
package enum SlotRole: UInt8, Sendable {
    case attribute
    /// The key of a related object, as an integer.
    case reference
    /// Bytes that sort the objects of an ordered to-many relationship.
    case position
}
