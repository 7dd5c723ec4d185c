/// An order of all objects of an entity that every writer keeps in its own transaction, so that fetches may always look
/// objects up by it. Each write costs O(log n) more for it.
public struct Index: Hashable, Sendable {
    public struct Key: Hashable, Sendable {
        public let attribute: String
        public let isDescending: Bool

        public init(_ attribute: String, isDescending: Bool = false) {
            self.attribute = attribute
            self.isDescending = isDescending
        }
    }

    /// The attributes that objects are ordered by.
    public let keys: [Key]

    public init(keys: [Key]) { self.keys = keys }

    /// Names of attributes, with `:desc` behind those that descend: `Index(["publisher", "price:desc"])`. An attribute whose
    /// own name ends so is named by a ``Key``.
    public init(_ keys: [String]) {
        self.init(keys: keys.map { $0.hasSuffix(":desc") ? Key(String($0.dropLast(5)), isDescending: true) : Key($0) })
    }
}

extension Index: CustomStringConvertible {
    /// publisher,price:desc
    public var description: String {
        keys.map { $0.attribute + ($0.isDescending ? ":desc" : "") }.joined(separator: ",")
    }
}

/// An attribute of an index of a stored entity.
package struct IndexKey: Hashable, Sendable {
    package var slot: Int
    package let isDescending: Bool

    package init(slot: Int, isDescending: Bool) {
        self.slot = slot
        self.isDescending = isDescending
    }
}
