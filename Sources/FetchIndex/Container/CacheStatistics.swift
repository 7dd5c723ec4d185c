internal import Records
internal import OrderCaches
/// What is known of a named cache without its request.
public struct CacheStatistics: Equatable, Sendable {
    public let name: String
    /// Whether the order is of the newest records.
    public let isFresh: Bool
    /// How many changes of its entity it is behind; nil when the log no longer tells, or the cache cannot be used.
    public let changesBehind: Int?
    public let rowCount: Int
    public let sectionCount: Int
    /// Nodes of at most a page of 4,096 bytes, and the bytes that they hold.
    public let nodeCount: Int
    public let byteCount: Int
    public let hits: Int

    init(_ listing: CacheDirectory.Listing) {
        name = listing.name
        isFresh = listing.isFresh
        changesBehind = listing.changesBehind
        rowCount = listing.header?.rowCount ?? 0
        sectionCount = listing.header?.sectionCount ?? 0
        nodeCount = listing.nodeCount
        byteCount = listing.byteCount
        hits = listing.hits
    }
}

extension PersistentContainer {
    /// The named caches of the store, by name. O(nodes).
    public func cacheStatistics() throws -> [CacheStatistics] {
        try withPublicErrors {
            try caches.list(in: store.snapshot()).map(CacheStatistics.init)
        }
    }
}
