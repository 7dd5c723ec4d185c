/// How a fetch finds its rows: from which records it evaluates the predicate.
public struct FetchPlan: Equatable, Sendable {
    public enum Source: Equatable, Sendable {
        /// All records of the entity.
        case scan
        /// The rows of a kept order whose leading attribute the predicate bounds.
        case order(name: String, attribute: String)
        /// The objects of some values of a unique attribute.
        case uniqueKey(attribute: String)
    }

    public let source: Source
    /// The records that are read.
    public let rowsRead: Int
    /// The records of the entity.
    public let rowCount: Int
    /// Whether every record that is read is known to match.
    public let isExact: Bool
}

extension FetchPlan: CustomStringConvertible {
    /// scan of all records, kept order "by price" on price, or unique key isbn.
    public var description: String {
        switch source {
        case .scan: "scan of all records"
        case .order(let name, let attribute): "kept order \"\(name)\" on \(attribute)"
        case .uniqueKey(let attribute): "unique key \(attribute)"
        }
    }
}
