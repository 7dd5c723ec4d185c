internal import FetchIndexModels
internal import FetchIndexValues

/// An attribute or relationship that a class declares, without its Swift type.
protocol DeclaredProperty {
    var declared: PropertyDeclaration { get }
}

/// A class's declaration of a property. The model is made from such declarations.
enum PropertyDeclaration {
    /// `initialValue` makes the initial value of a new object; nil if the attribute has none.
    case attribute(AttributeDescription, isIndexed: Bool, initialValue: (() -> Value)?)
    case relationship(RelationshipDescription)
}
