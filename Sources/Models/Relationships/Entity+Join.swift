internal import FetchIndexValues

extension Entity {
    /// Makes the entity whose objects are the links of a many-to-many relationship. Slots 0 and 1 are references to the
    /// objects on the two sides. Slots 2 and 3 are the link's positions among the links of the first and of the second
    /// object.
    static func join(_ name: String, of first: String, and second: String) -> Entity {
        let sides = [("first", first), ("second", second)]
        let references = sides.map { SlotDescription(AttributeDescription($0.0, .integer), role: .reference) }
        let positions = sides.map { SlotDescription(AttributeDescription($0.0, .data), role: .position) }
        let relationships = sides.enumerated().map { side, entry in
            StoredRelationship(
                RelationshipDescription(entry.0, toOne: entry.1, isOptional: false),
                .reference(slot: side, position: side + 2))
        }
        return Entity(
            name, slots: references + positions, uniqueLists: [], relationships: relationships, isJoin: true)
    }
}
