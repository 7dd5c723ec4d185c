internal import FetchIndexModels
internal import FetchIndexValues

/// An attribute or a relationship of a class, of any type.
protocol DeclaredProperty {
    var declared: PropertyDeclaration { get }
}

/// The declaration of a class's property, for the model.
enum PropertyDeclaration {
    /// `initialValue` makes the value of a new object; nil if the attribute has no initial value.
    case attribute(AttributeDescription, isIndexed: Bool, initialValue: (() -> Value)?)
    case relationship(RelationshipDescription)
}
