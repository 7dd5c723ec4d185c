extension Array {
    /// Creates an array of copies of an element. `init(repeating:count:)` is often not specialized (Swift 6.3): it then
    /// looks up the type's metadata, which costs more than filling a short array.
    @inlinable
    package init(_ count: Int, copiesOf element: Element) { self = (0..<count).map { _ in element } }
}
