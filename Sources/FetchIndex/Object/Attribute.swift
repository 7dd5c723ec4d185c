internal import FetchIndexModels
/// Declares an attribute of a managed object's class.
///
///     final class Book: ManagedObject {
///         @Attribute("isbn", isUnique: true) var isbn: String
///         @Attribute("price") var price: Int?
///         @Attribute("pages") var pages = 0
///     }
///
/// An optional type makes the attribute optional. A value at the declaration is the initial value of new objects.
/// Once the object's record has been read, reading the property decodes one value, in time proportional to the value's
/// length; a derived value of an object with unsaved edits is computed from the whole record. If no value can be read,
/// the read traps with a message that gives the reason; ``ManagedObject/value(of:as:)`` throws instead.
@propertyWrapper
public struct Attribute<Wrapped: AttributeValue> {
    private let name: String
    private let isUnique: Bool
    let isIndexed: Bool
    private let initial: (() -> Wrapped)?
    /// Rarely used properties, kept in a separate object because each read of a value copies the declaration.
    private let extras: Extras?

    private final class Extras {
        let renamedFrom: String?
        let derivation: String?

        init?(_ renamedFrom: String?, _ derivation: String?) {
            if renamedFrom == nil && derivation == nil { return nil }
            (self.renamedFrom, self.derivation) = (renamedFrom, derivation)
        }
    }

    /// Declares an attribute without an initial value. `indexed` requests an ``Index`` of the attribute. `renamedFrom`
    /// is the attribute's name in stores that were made with an older version of the class. `derivedBy` is an
    /// expression of the predicate language over other attributes, such as `canonical:(name)` or `price * count`. The
    /// expression computes the attribute's value, even for unsaved objects; setting the value has no effect.
    public init(
        _ name: String, isUnique: Bool = false, indexed: Bool = false, renamedFrom: String? = nil,
        derivedBy derivation: String? = nil
    ) {
        self.name = name
        self.isUnique = isUnique
        isIndexed = indexed
        extras = Extras(renamedFrom, derivation)
        initial = nil
    }

    /// Declares an attribute with an initial value for new objects. The initial value is evaluated for each object, so
    /// it may be `UUID()` or `Date()`. If two evaluations give the same value, objects that were saved before the class
    /// had the attribute have that value, too.
    public init(
        wrappedValue: @autoclosure @escaping () -> Wrapped, _ name: String, isUnique: Bool = false,
        indexed: Bool = false, renamedFrom: String? = nil
    ) {
        self.name = name
        self.isUnique = isUnique
        isIndexed = indexed
        extras = Extras(renamedFrom, nil)
        initial = wrappedValue
    }

    @available(*, unavailable, message: "Attributes belong to classes of managed objects.")
    public var wrappedValue: Wrapped {
        get { preconditionFailure("An attribute is read through its object.") }
        set { preconditionFailure("An attribute is set through its object.") }
    }

    public static subscript<Object: ManagedObject>(
        _enclosingInstance object: Object, wrapped wrapped: ReferenceWritableKeyPath<Object, Wrapped>,
        storage storage: ReferenceWritableKeyPath<Object, Attribute<Wrapped>>
    ) -> Wrapped {
        get {
            let name = object[keyPath: storage].name
            if let probe = object.probe { return probe.read(name, wrapped, Wrapped.self) }
            return object.presentValue(declaredAs: name)
        }
        set { object.setValue(newValue.attributeValue, declaredAs: object[keyPath: storage].name) }
    }
}

extension Attribute: DeclaredProperty {
    var declared: PropertyDeclaration {
        .attribute(declaration, isIndexed: isIndexed, initialValue: initial.map { make in { make().attributeValue } })
    }

    private var declaration: AttributeDescription {
        // A value that differs at each evaluation, such as `UUID()`, can't be the default value of older objects.
        let values = (initial?().attributeValue ?? .null, initial?().attributeValue ?? .null)
        return AttributeDescription(
            name, Wrapped.valueType, isOptional: Wrapped.isOptional, isUnique: isUnique,
            defaultValue: values.0 == values.1 ? values.0 : .null, renamedFrom: extras?.renamedFrom,
            derivation: extras?.derivation)
    }
}

/// The reason why an attribute's value can't be read as a type.
public enum AttributeError: Error, Equatable, Sendable {
    /// The entity has no attribute with the name.
    case unknownAttribute(entity: String, attribute: String)
    /// The type can't represent the value: for example, this program doesn't know the raw value of an enumeration.
    case unreadable(entity: String, attribute: String, value: Value, type: String)
    /// The object has no record from which the value can be read; the text gives the reason.
    case missing(entity: String, attribute: String, String)
}

extension AttributeError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknownAttribute(let entity, let attribute): "\(entity) has no attribute \"\(attribute)\""
        case .unreadable(let entity, let attribute, let value, let type):
            "\(entity).\(attribute) is \(value.isNull ? "null" : "\"\(value)\""), which is not a \(type)"
        case .missing(let entity, let attribute, let reason): "\(entity).\(attribute) cannot be read: \(reason)"
        }
    }
}
