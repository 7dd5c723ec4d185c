internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexOrderCaches
public import FetchIndexEssentials

/// A named cache with the size of its order.
public struct CacheStatistics: Equatable, Sendable {
    /// The cache's properties, apart from its size.
    public let cache: NamedCache
    /// The number of nodes in the cache's trees. A node has at most 4,076 bytes, so that it fits in a page.
    public let nodeCount: Int
    /// The number of bytes in all nodes.
    public let byteCount: Int
    public let sectionCount: Int

    /// Makes the statistics; `facts` must contain the node counts.
    init(_ facts: CacheFacts, in model: Model) {
        cache = NamedCache(facts, in: model)
        sectionCount = facts.header?.sectionCount ?? 0
        nodeCount = facts.nodes?.count ?? 0
        byteCount = facts.nodes?.bytes ?? 0
    }

    public var name: String { cache.name }
    /// Whether the cache is current.
    public var isFresh: Bool { cache.isFresh }
    /// Whether the cache belongs to an index or is a maintained cache: writers then catch it up.
    public var isMaintained: Bool { cache.isMaintained }
    /// Whether the cache is protected: another request with its name is an error instead of replacing the cache.
    public var isLocked: Bool { cache.isLocked }
    /// The number of changed objects, counted as in ``NamedCache/State/behind(changes:)``; 0 if the cache is current,
    /// nil if it's unusable.
    public var changesBehind: Int? { cache.changesBehind }
    public var rowCount: Int { cache.contents?.rowCount ?? 0 }
    public var hits: Int { cache.hits }
}

extension PersistentContainer {
    /// The caches of the store, including those of indexes, sorted by name. O(caches + log n) for each cache, and O(log
    /// n) for each commit since the cache's commit, or since the commit that its exact reader (`changes` or `watch`)
    /// last received, if that is older. Throws `StoreError`.
    public func namedCaches() throws -> [NamedCache] {
        let state = try pinnedState()
        return try state.cacheNames().map { try state.facts(ofCache: $0) }
    }

    /// The caches of the store, including those of indexes, with their sizes. O(nodes), and the cost of
    /// ``namedCaches()``. Throws `StoreError`.
    public func cacheStatistics() throws -> [CacheStatistics] {
        let state = try pinnedState()
        return try state.cacheNames().map { try state.statistics(ofCache: $0) }
    }
}

/// An opening of a named cache that wasn't a hit.
public struct CacheOpening: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        /// The cache was behind and was caught up. `rowCount` is the number of changed rows.
        case caughtUp(rowCount: Int)
        /// The order was built from the records. `rowCount` is the number of its rows.
        case rebuilt(RebuildReason, rowCount: Int)
    }

    /// The time at which the opening began.
    public let date: Date
    public let kind: Kind
    public let milliseconds: Double
    /// Whether the order was stored in the cache. False if only the opening process had it, in memory, for example
    /// because the store was opened read-only or another writer was busy. May also be false for an order that was
    /// stored while a newer commit existed.
    public let isStored: Bool
    /// The commit from which the cache was caught up; nil if the cache was built. For an exact reader, it may be an
    /// earlier commit: the last one that the reader had received.
    public let start: UInt64?
    public let processName: String
    /// The author that the opening program gave, for example ``ManagedObjectContext/transactionAuthor`` or
    /// `OrderOptions.author`.
    public let author: String
}

/// The recorded openings of a cache, by this process and others.
public struct CacheHistory: Sendable {
    /// The last 256 recorded openings that weren't hits, oldest first.
    public let openings: [CacheOpening]
    /// The number of hits in each hour of the 30 days before the last hit, without hours that had no hits; `hour` is
    /// the beginning of the hour. Another container, in this process or in another one, may still hold hits in memory.
    /// Such hits are missing here.
    public let hitsByHour: [(hour: Date, count: Int)]
}

extension PersistentContainer {
    /// Reads the history of a cache's openings. The history of an unknown cache is empty. Throws `StoreError`.
    public func cacheHistory(_ name: String) throws -> CacheHistory {
        try withPublicErrors {
            let history = try caches.history(of: name, in: store.snapshot())
            return CacheHistory(
                openings: history.openings.map(CacheOpening.init),
                hitsByHour: history.hitsByHour.map { (Date(timeIntervalSince1970: Double($0.hour) * 3600), $0.hits) })
        }
    }
}

extension CacheOpening {
    init(_ opening: RecordedOpening) {
        date = Date(timeIntervalSince1970: opening.time)
        switch opening.kind {
        case .caughtUp: kind = .caughtUp(rowCount: opening.rowCount)
        case .rebuilt: kind = .rebuilt(opening.reason ?? .requested, rowCount: opening.rowCount)
        }
        milliseconds = Double(opening.milliseconds)
        isStored = opening.isStored
        start = opening.kind == .caughtUp ? opening.start : nil
        processName = opening.process
        author = opening.author
    }
}
