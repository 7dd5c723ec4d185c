/// How a fetch finds its rows: the records on which it evaluates the predicate.
public struct FetchPlan: Equatable, Sendable {
    public enum Source: Equatable, Sendable {
        /// All records of the entity, except those in zones whose bounds show that none of their records can match, and those whose
        /// texts do not match where columns know them.
        case scan
        /// The rows of a cache whose leading attribute the predicate bounds.
        case order(name: String, attribute: String)
        /// The objects of some values of a unique attribute, or of a range of them.
        case uniqueKey(attribute: String)
        /// The objects from which a key path leads to those that the predicate wants at its end.
        case related(path: String)
        /// The objects that the predicate names: `SELF IN %@`.
        case identifiers
    }

    public let source: Source
    /// The number of records that are read, at most: a fetch without sort keys ends at its limit.
    public let rowsRead: Int
    /// The number of records of the entity.
    public let rowCount: Int
    /// Whether every read record is known to match.
    public let isExact: Bool
    /// How many values or ranges of the attribute are looked up, of IN, or of equalities and ranges with OR; 0 for a scan.
    public let lookUpCount: Int
}

extension FetchPlan: CustomStringConvertible {
    /// scan of all records, scan of records that may match, kept order "by price" on price, unique key isbn, links from the objects of author.name, or objects by their ids. With
    /// the number of look-ups where these are several: unique key isbn, 900 look-ups.
    public var description: String {
        lookUpCount > 1 ? "\(way), \(lookUpCount) look-ups" : way
    }

    private var way: String {
        switch source {
        case .scan where rowsRead < rowCount: "scan of records that may match"
        case .scan: "scan of all records"
        case .order(let name, let attribute): "kept order \"\(name)\" on \(attribute)"
        case .uniqueKey(let attribute): "unique key \(attribute)"
        case .related(let path): "links from the objects of \(path)"
        case .identifiers: "objects by their ids"
        }
    }
}
