/// A relationship of a stored entity.
package struct StoredRelationship: Hashable, Sendable {
    /// Where the links of a relationship are.
    package enum Storage: Hashable, Sendable {
        /// In the records of the entity: a slot with the key of the related object, and one with the position that the object has among
        /// those of the inverse relationship.
        case reference(slot: Int, position: Int)
        /// In the records of the destination, as its inverse relationship.
        case inverse
        /// Many-to-many: in the records of an entity of its own, which has one for each link. Its references 0 and 1 are the two
        /// sides; `side` is the reference to objects of this entity.
        case join(entity: Int, side: Int)
    }

    /// With its newest name.
    package var description: RelationshipDescription
    /// Its name in the requests of caches: the first that it had, unless another's was the same.
    package var permanentName: String
    /// The names that it had. Requests and older programs may use them as long as nothing else has them.
    package var formerNames: [String] = []
    package var isRemoved = false
    package let storage: Storage

    package init(_ description: RelationshipDescription, permanentName: String? = nil, _ storage: Storage) {
        self.description = description
        self.permanentName = permanentName ?? description.name
        self.storage = storage
    }
}

/// What a slot of a record has.
package enum SlotRole: UInt8, Sendable {
    case attribute
    /// The key of a related object, as an integer.
    case reference
    /// Bytes that order the objects of a to-many relationship.
    case position
}
