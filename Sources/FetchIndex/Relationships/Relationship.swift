public import FetchIndexModels

/// Declares a relationship of a managed object's class. The class of the related objects declares the inverse, which
/// only a to-one relationship may lack.
///
///     final class Author: ManagedObject {
///         @Attribute("name") var name: String
///         @Relationship("books", inverse: "author", deleteRule: .cascade) var books: Related<Book>
///     }
///     final class Book: ManagedObject {
///         @Attribute("title") var title: String
///         @Relationship("author", inverse: "books") var author: Author?
///     }
///
/// Both declarations describe the same links: when one property is set, the other immediately shows the change. A
/// property whose type is an optional class declares a to-one relationship, a property of type ``Related`` a to-many
/// one. Reading a to-one relationship costs O(log n + unsaved edits); setting one costs O(log n) more when it is saved.
@propertyWrapper
public struct Relationship<Wrapped: RelationshipValue> {
    private let name: String
    private let inverse: String?
    private let options: Options

    private final class Options {
        let isOrdered: Bool
        let isRequired: Bool
        let deleteRule: DeleteRule
        let counts: (least: Int, greatest: Int)
        let renamedFrom: String?

        init(_ isOrdered: Bool, _ isRequired: Bool, _ rule: DeleteRule, _ counts: (Int, Int), _ renamedFrom: String?) {
            (self.isOrdered, self.isRequired, deleteRule) = (isOrdered, isRequired, rule)
            (self.counts, self.renamedFrom) = (counts, renamedFrom)
        }
    }

    private init(_ name: String, _ inverse: String?, _ options: Options) {
        (self.name, self.inverse, self.options) = (name, inverse, options)
    }

    @available(*, unavailable, message: "Relationships belong to classes of managed objects.")
    public var wrappedValue: Wrapped {
        get { preconditionFailure("A relationship is read through its object.") }
        set { preconditionFailure("A relationship is set through its object.") }
    }

    public static subscript<Object: ManagedObject>(
        _enclosingInstance object: Object, wrapped wrapped: ReferenceWritableKeyPath<Object, Wrapped>,
        storage storage: ReferenceWritableKeyPath<Object, Relationship<Wrapped>>
    ) -> Wrapped {
        get { Wrapped(relationship: object[keyPath: storage].name, of: object) }
        set { newValue.set(asRelationship: object[keyPath: storage].name, of: object) }
    }
}

extension Relationship {
    /// Declares a relationship to one object. `inverse` is the relationship of the destination that has the same links;
    /// if nil, the destination has no property for these links. If `isRequired`, an object can't be saved without a
    /// related object. `renamedFrom` is the relationship's name in stores that were made with an older version of the
    /// class.
    public init<Destination: ManagedObject>(
        _ name: String, inverse: String? = nil, isRequired: Bool = false, deleteRule: DeleteRule = .nullify,
        renamedFrom: String? = nil
    ) where Wrapped == Destination? {
        self.init(name, inverse, Options(false, isRequired, deleteRule, (0, 0), renamedFrom))
    }

    /// Declares a relationship to any number of objects. If `ordered`, the objects have positions. A save fails if a
    /// new object, or one that gained or lost related objects, has fewer than `minCount` or more than `maxCount` of
    /// them in the context; 0 means no limit. If the context's `onUniqueConflict` is `.update`, new objects aren't
    /// checked.
    public init<Destination: ManagedObject>(
        _ name: String, inverse: String, ordered: Bool = false, deleteRule: DeleteRule = .nullify, minCount: Int = 0,
        maxCount: Int = 0, renamedFrom: String? = nil
    ) where Wrapped == Related<Destination> {
        self.init(name, inverse, Options(ordered, false, deleteRule, (minCount, maxCount), renamedFrom))
    }
}

/// The type of a relationship's property: an optional managed object, or ``Related``.
public protocol RelationshipValue {
    associatedtype Destination: ManagedObject
    static var isToMany: Bool { get }
    /// Reads the current value of an object's relationship.
    init(relationship name: String, of object: ManagedObject)
    func set(asRelationship name: String, of object: ManagedObject)
}

extension Optional: RelationshipValue where Wrapped: ManagedObject {
    public typealias Destination = Wrapped
    public static var isToMany: Bool { false }

    public init(relationship name: String, of object: ManagedObject) {
        object.core?.know(Wrapped.self)
        if let probe = object.probe {
            self = probe.follow(name, to: Wrapped.self)
            return
        }
        guard let found = object.relatedObject(name) else {
            self = .none
            return
        }
        guard let typed = found as? Wrapped else {
            preconditionFailure(
                "\(found) is not a \(Wrapped.self), the class that \(object.entity.name).\(name) leads to.")
        }
        self = typed
    }

    public func set(asRelationship name: String, of object: ManagedObject) { object.setRelatedObject(self, name) }
}

extension Relationship: DeclaredProperty {
    var declared: PropertyDeclaration { .relationship(description) }

    private var description: RelationshipDescription {
        let destination = Wrapped.Destination.entityName
        if Wrapped.isToMany {
            return RelationshipDescription(
                name, toMany: destination, inverse: inverse ?? "", ordered: options.isOrdered,
                deleteRule: options.deleteRule, minCount: options.counts.least, maxCount: options.counts.greatest,
                renamedFrom: options.renamedFrom)
        }
        return RelationshipDescription(
            name, toOne: destination, inverse: inverse, isOptional: !options.isRequired,
            deleteRule: options.deleteRule, renamedFrom: options.renamedFrom)
    }
}
