// Unsupported declarations that users of Core Data may try. The compiler's message says what to write instead.

extension Relationship {
    @available(
        *, unavailable,
        message: "A to-many relationship needs its inverse, a relationship of the other class: inverse: \"author\"."
    )
    public init<Destination: ManagedObject>(
        _ name: String, ordered: Bool = false, deleteRule: DeleteRule = .nullify, minCount: Int = 0, maxCount: Int = 0,
        renamedFrom: String? = nil
    ) where Wrapped == Related<Destination> { preconditionFailure("A to-many relationship needs its inverse.") }

    @available(*, unavailable, message: "A to-many relationship is not an array: declare it as Related<Author>.")
    public init<Destination: ManagedObject>(
        _ name: String, inverse: String? = nil, ordered: Bool = false, deleteRule: DeleteRule = .nullify,
        minCount: Int = 0, maxCount: Int = 0, renamedFrom: String? = nil
    ) where Wrapped == [Destination] { preconditionFailure("A to-many relationship is Related.") }

    @available(*, unavailable, message: "A to-many relationship is not a set: declare it as Related<Author>.")
    public init<Destination: ManagedObject>(
        _ name: String, inverse: String? = nil, ordered: Bool = false, deleteRule: DeleteRule = .nullify,
        minCount: Int = 0, maxCount: Int = 0, renamedFrom: String? = nil
    ) where Wrapped == Set<Destination> { preconditionFailure("A to-many relationship is Related.") }
}

@available(*, unavailable, message: "A to-many relationship is not an array: declare it as Related<Author>.")
extension Array: RelationshipValue where Element: ManagedObject {
    public typealias Destination = Element
    public static var isToMany: Bool { true }
    public init(relationship name: String, of object: ManagedObject) { self = [] }
    public func set(asRelationship name: String, of object: ManagedObject) {}
}

@available(*, unavailable, message: "A to-many relationship is not a set: declare it as Related<Author>.")
extension Set: RelationshipValue where Element: ManagedObject {
    public typealias Destination = Element
    public static var isToMany: Bool { true }
    public init(relationship name: String, of object: ManagedObject) { self = [] }
    public func set(asRelationship name: String, of object: ManagedObject) {}
}
