/// An order of all objects of an entity. Every writer maintains the order in its own transaction, so that fetches can
/// look objects up in it. An index makes writes slower.
public struct Index: Hashable, Sendable {
    public struct Key: Hashable, Sendable {
        public let attribute: String
        public let isDescending: Bool

        public init(_ attribute: String, isDescending: Bool = false) {
            self.attribute = attribute
            self.isDescending = isDescending
        }
    }

    /// The attributes and to-one relationships by which objects are sorted.
    public let keys: [Key]

    public init(keys: [Key]) { self.keys = keys }

    /// Takes the names of the attributes, with `:desc` after those that descend: `Index(["publisher", "price:desc"])`.
    /// Use a ``Key`` for an attribute whose name ends with `:desc`.
    public init(_ keys: [String]) {
        self.init(keys: keys.map { $0.hasSuffix(":desc") ? Key(String($0.dropLast(5)), isDescending: true) : Key($0) })
    }
}

extension Index: CustomStringConvertible {
    /// The keys in the form publisher,price:desc.
    public var description: String {
        keys.map { $0.attribute + ($0.isDescending ? ":desc" : "") }.joined(separator: ",")
    }
}

/// A key of an index of a stored entity: the slot of an attribute or of a reference.
package struct IndexKey: Hashable, Sendable {
    package var slot: Int
    package let isDescending: Bool

    package init(slot: Int, isDescending: Bool) {
        self.slot = slot
        self.isDescending = isDescending
    }
}
