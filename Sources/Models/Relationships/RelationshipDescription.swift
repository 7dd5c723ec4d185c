/// The effect of deleting an object on its related objects.
public enum DeleteRule: UInt8, Hashable, Sendable {
    /// The related objects stay, without the relation to the deleted object.
    case nullify
    /// The related objects are deleted too, by their own delete rules.
    case cascade
    /// The object can't be deleted while it has related objects: a save throws `ValidationError`, a batch
    /// `StoreError.deletionDenied`.
    case deny
    /// The related objects stay unchanged: their to-one relationships to the deleted object read as nil. Links of a
    /// many-to-many relationship are deleted.
    case noAction
}

/// A relation of an entity's objects to objects of an entity.
///
/// Its inverse describes the same links from the other side: a book's author is A exactly if A's books contain the
/// book. Both relationships name each other as `inverse`. A to-one relationship may lack an inverse; a to-many
/// relationship needs one. A relationship between objects of one entity may be its own inverse: if A is a friend of B, B
/// is a friend of A.
public struct RelationshipDescription: Hashable, Sendable {
    public let name: String
    /// The name of the entity whose objects, including those of its subentities, are related.
    public let destination: String
    /// The name of the destination's relationship that is the other side of this one.
    public let inverse: String?
    public let isToMany: Bool
    /// Whether the related objects have a fixed order.
    public let isOrdered: Bool
    /// Whether a to-one relationship may be nil.
    public let isOptional: Bool
    public let deleteRule: DeleteRule
    /// The minimum number of related objects, for a to-many relationship. The save of a context checks it for objects
    /// that gained or lost related objects, and for new objects unless the context's `onUniqueConflict` is `.update`.
    /// Batches don't check it.
    public let minCount: Int
    /// The maximum number of related objects, for a to-many relationship, checked like `minCount`; 0 means any number.
    public let maxCount: Int
    /// The relationship's name in an older model: adding the relationship to a store that has one of that name renames
    /// the stored one.
    public let renamedFrom: String?

    /// Describes a relationship to one object, or to none if `isOptional`.
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

    /// Describes a to-many relationship.
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

    /// Returns a copy with another name and inverse, and without `renamedFrom`.
    func named(_ name: String, inverse: String?) -> RelationshipDescription {
        isToMany
            ? RelationshipDescription(
                name, toMany: destination, inverse: inverse ?? "", ordered: isOrdered, deleteRule: deleteRule,
                minCount: minCount, maxCount: maxCount)
            : RelationshipDescription(
                name, toOne: destination, inverse: inverse, isOptional: isOptional, deleteRule: deleteRule)
    }

    /// Returns a copy that leads to another entity, or, if it leads to one object, may be nil or not.
    func changed(destination: String? = nil, isOptional: Bool? = nil) -> RelationshipDescription {
        let destination = destination ?? self.destination
        return isToMany
            ? RelationshipDescription(
                name, toMany: destination, inverse: inverse ?? "", ordered: isOrdered, deleteRule: deleteRule,
                minCount: minCount, maxCount: maxCount, renamedFrom: renamedFrom)
            : RelationshipDescription(
                name, toOne: destination, inverse: inverse, isOptional: isOptional ?? self.isOptional,
                deleteRule: deleteRule, renamedFrom: renamedFrom)
    }

    /// Returns a copy with another former name.
    func renamed(from former: String?) -> RelationshipDescription {
        isToMany
            ? RelationshipDescription(
                name, toMany: destination, inverse: inverse ?? "", ordered: isOrdered, deleteRule: deleteRule,
                minCount: minCount, maxCount: maxCount, renamedFrom: former)
            : RelationshipDescription(
                name, toOne: destination, inverse: inverse, isOptional: isOptional, deleteRule: deleteRule,
                renamedFrom: former)
    }

    public static func == (left: RelationshipDescription, right: RelationshipDescription) -> Bool {
        left.name == right.name && left.destination == right.destination && left.inverse == right.inverse
            && left.isToMany == right.isToMany && left.isOrdered == right.isOrdered
            && left.isOptional == right.isOptional && left.deleteRule == right.deleteRule
            && left.minCount == right.minCount && left.maxCount == right.maxCount
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
