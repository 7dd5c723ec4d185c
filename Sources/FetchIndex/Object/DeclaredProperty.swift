internal import FetchIndexModels
internal import FetchIndexValues

/// An attribute or a relationship of a class, whatever its type.
protocol DeclaredProperty {
    var declared: PropertyDeclaration { get }
}

/// What a class declares of a property, for the model.
enum PropertyDeclaration {
    /// `initialValue` makes what a new object begins with; nil: without a value.
    case attribute(AttributeDescription, isIndexed: Bool, initialValue: (() -> Value)?)
    case relationship(RelationshipDescription)
}
