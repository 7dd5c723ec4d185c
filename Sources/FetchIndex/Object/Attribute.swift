/// Declares an attribute of a managed object's class.
///
///     final class Book: ManagedObject {
///         @Attribute("isbn", isUnique: true) var isbn: String
///         @Attribute("price") var price: Int?
///     }
///
/// An optional type makes the attribute optional. Reading decodes one value of the object's record, O(its length).
@propertyWrapper
public struct Attribute<Wrapped: AttributeValue> {
    private let name: String
    private let isUnique: Bool

    public init(_ name: String, isUnique: Bool = false) {
        self.name = name
        self.isUnique = isUnique
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
            Wrapped(attributeValue: object.value(declaredAs: object[keyPath: storage].name, wrapped))
                ?? Wrapped.placeholder
        }
        set { object.setValue(newValue.attributeValue, declaredAs: object[keyPath: storage].name) }
    }
}

/// What a model is made of: the declarations that a class has, in order.
protocol DeclaredAttribute {
    var declaration: AttributeDescription { get }
}

extension Attribute: DeclaredAttribute {
    var declaration: AttributeDescription {
        AttributeDescription(name, Wrapped.valueType, isOptional: Wrapped.isOptional, isUnique: isUnique)
    }
}
