/// How a fetch finds its rows: the records on which it evaluates the predicate.
public struct FetchPlan: Equatable, Sendable {
    public enum Source: Equatable, Sendable {
        /// All records of the entity, except those in zones whose bounds exclude a match, and those whose texts, known
        /// from columns, don't match.
        case scan
        /// The rows of a cache whose leading attribute is bounded by the predicate.
        case order(name: String, attribute: String)
        /// The objects with some values of a unique attribute, or with values in ranges of it.
        case uniqueKey(attribute: String)
        /// The objects from which a key path leads to the objects that the predicate selects at its end.
        case related(path: String)
        /// The objects that the predicate names: `SELF IN %@`.
        case identifiers
    }

    public let source: Source
    /// The maximum number of records that are read: a fetch without sort keys ends at its limit.
    public let rowsRead: Int
    /// The number of records of the entity.
    public let rowCount: Int
    /// Whether every record that is read is known to match.
    public let isExact: Bool
    /// The number of looked-up values or ranges of the attribute, from IN, or from equalities and ranges with OR; 0 for
    /// a scan.
    public let lookUpCount: Int
}

extension FetchPlan: CustomStringConvertible {
    /// A text: scan of all records, scan of records that may match, cache "by price" on price, unique key isbn,
    /// links from the objects of author.name, or objects by their ids. The number of lookups follows if it exceeds
    /// one: unique key isbn, 900 lookups.
    public var description: String {
        lookUpCount > 1 ? "\(way), \(lookUpCount) lookups" : way
    }

    private var way: String {
        switch source {
        case .scan where rowsRead < rowCount: "scan of records that may match"
        case .scan: "scan of all records"
        case .order(let name, let attribute): "cache \"\(name)\" on \(attribute)"
        case .uniqueKey(let attribute): "unique key \(attribute)"
        case .related(let path): "links from the objects of \(path)"
        case .identifiers: "objects by their ids"
        }
    }
}
