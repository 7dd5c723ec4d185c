internal import Records
internal import OrderCaches
/// The statistics of a named cache.
public struct CacheStatistics: Equatable, Sendable {
    public let name: String
    /// Whether the cache is current.
    public let isFresh: Bool
    /// Whether every writer keeps it: the order of an index, or a cache that is to be maintained.
    public let isMaintained: Bool
    /// The number of changes of its entity since it was current; nil when the log does not reach back, or the cache is
    /// unusable.
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
        isMaintained = listing.isMaintained
        changesBehind = listing.changesBehind
        rowCount = listing.header?.rowCount ?? 0
        sectionCount = listing.header?.sectionCount ?? 0
        nodeCount = listing.nodeCount
        byteCount = listing.byteCount
        hits = listing.hits
    }
}

extension PersistentContainer {
    /// The named caches of the store, by name. O(nodes). Throws `StoreError`.
    public func cacheStatistics() throws -> [CacheStatistics] {
        try withPublicErrors {
            try caches.list(in: store.snapshot()).map(CacheStatistics.init)
        }
    }
}
