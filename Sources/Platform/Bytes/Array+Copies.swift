extension Array {
    /// So many copies of an element. `init(repeating:count:)` is often not specialized (Swift 6.3), and looks for the type's metadata
    /// then, which costs more than to fill a short array.
    @inlinable
    package init(_ count: Int, copiesOf element: Element) { self = (0..<count).map { _ in element } }
}
