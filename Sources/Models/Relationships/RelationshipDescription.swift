/// What happens to related objects when an object is deleted.
public enum DeleteRule: UInt8, Hashable, Sendable {
    /// They aren't related to the object any more.
    case nullify
    /// They are deleted too, by their own rules.
    case cascade
    /// The object can't be deleted while it has any: the save throws `ValidationError`.
    case deny
    /// Nothing: a to-one relationship to it reads as nil from then on. Links of a many-to-many relationship are deleted.
    case noAction
}

/// A named relation of an entity's objects to objects of an entity.
///
/// Its inverse is the same fact seen from the other side: a book has an author exactly when the author's books have the
/// book. Each of the two names the other. A to-one relationship may lack an inverse; a to-many relationship needs one.
public struct RelationshipDescription: Hashable, Sendable {
    public let name: String
    /// The name of the entity whose objects, including those of its subentities, are related.
    public let destination: String
    /// The name of the destination's relationship that is the other side of this one.
    public let inverse: String?
    public let isToMany: Bool
    /// Whether related objects have positions.
    public let isOrdered: Bool
    /// Whether a to-one relationship may be nil.
    public let isOptional: Bool
    public let deleteRule: DeleteRule
    /// The minimum number of objects that a to-many relationship has when it is saved.
    public let minCount: Int
    /// The maximum number; 0 means any number.
    public let maxCount: Int
    /// The relationship's name in an older model: adding the relationship to a store that has one of that name renames
    /// the stored one.
    public let renamedFrom: String?

    /// A relation to one object, or to none if it's optional.
    public init(
        _ name: String, toOne destination: String, inverse: String? = nil, isOptional: Bool = true,
        deleteRule: DeleteRule = .nullify, renamedFrom: String? = nil
    ) {
        self.name = name
        self.destination = destination
        self.inverse = inverse
        self.isOptional = isOptional
        self.deleteRule = deleteRule
        self.renamedFrom = renamedFrom
        (isToMany, isOrdered, minCount, maxCount) = (false, false, 0, 0)
    }

    /// A relation to any number of objects.
    public init(
        _ name: String, toMany destination: String, inverse: String, ordered: Bool = false,
        deleteRule: DeleteRule = .nullify, minCount: Int = 0, maxCount: Int = 0, renamedFrom: String? = nil
    ) {
        self.name = name
        self.destination = destination
        self.inverse = inverse
        self.deleteRule = deleteRule
        self.minCount = minCount
        self.maxCount = maxCount
        self.renamedFrom = renamedFrom
        (isToMany, isOrdered, isOptional) = (true, ordered, true)
    }

    /// The relationship under another name, and without `renamedFrom`.
    func named(_ name: String, inverse: String?) -> RelationshipDescription {
        isToMany
            ? RelationshipDescription(
                name, toMany: destination, inverse: inverse ?? "", ordered: isOrdered, deleteRule: deleteRule,
                minCount: minCount, maxCount: maxCount)
            : RelationshipDescription(
                name, toOne: destination, inverse: inverse, isOptional: isOptional, deleteRule: deleteRule)
    }

    public static func == (left: RelationshipDescription, right: RelationshipDescription) -> Bool {
        left.name == right.name && left.destination == right.destination && left.inverse == right.inverse
            && left.isToMany == right.isToMany && left.isOrdered == right.isOrdered
            && left.isOptional == right.isOptional && left.deleteRule == right.deleteRule
            && left.minCount == right.minCount && left.maxCount == right.maxCount
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
