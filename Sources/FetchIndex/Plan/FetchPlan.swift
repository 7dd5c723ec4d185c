/// The way in which a fetch finds its rows: the records on which it evaluates the predicate.
public struct FetchPlan: Equatable, Sendable {
    public enum Source: Equatable, Sendable {
        /// A scan of the entity's records. It can skip zones whose bounds exclude a match, and records whose texts,
        /// read from columns, don't match.
        case scan
        /// Rows of a current cache: those whose leading attributes have values that the predicate allows.
        case order(name: String, attribute: String)
        /// The objects with given values of a unique attribute, or with values in ranges of it.
        case uniqueKey(attribute: String)
        /// The objects from which a key path leads to objects that the predicate selects.
        case related(path: String)
        /// The objects whose ids are in the predicate: `SELF IN %@`.
        case identifiers
    }

    public let source: Source
    /// The maximum number of records on which the fetch evaluates the predicate; an estimate if a scan skips records. A
    /// fetch without sort keys stops when it reaches its limit.
    public let rowsRead: Int
    /// The number of the entity's records, with its subentities' records if they are fetched.
    public let rowCount: Int
    /// Whether all records that are read are known to match.
    public let isExact: Bool
    /// The number of values or ranges that are looked up. It can exceed 1 for IN, and for equalities or ranges with OR.
    /// It's 0 for a scan, and 1 for `related` and `identifiers`.
    public let lookUpCount: Int
    /// Whether the records are read in the order of the sort keys, until enough rows match. `rowsRead` is then their
    /// number.
    public let isInOrder: Bool
}

extension FetchPlan: CustomStringConvertible {
    /// A text: scan of all records, scan of records that may match, cache "by price" on price, unique key isbn,
    /// links from the objects of author.name, or objects by their ids. The number of lookups follows if it exceeds
    /// one: unique key isbn, 900 lookups. If rows are read in the order of the sort keys, that follows: unique key isbn,
    /// in order.
    public var description: String {
        (lookUpCount > 1 ? "\(way), \(lookUpCount) lookups" : way) + (isInOrder ? ", in order" : "")
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
