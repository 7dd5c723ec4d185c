internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexOrderCaches
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A named cache with the size of its order.
public struct CacheStatistics: Equatable, Sendable {
    /// What is known of it beside its size.
    public let cache: NamedCache
    /// Nodes of at most a page of 4,096 bytes, and the bytes that they hold.
    public let nodeCount: Int
    public let byteCount: Int
    public let sectionCount: Int

    /// The facts have the nodes' count.
    init(_ facts: CacheFacts, in model: Model) {
        cache = NamedCache(facts, in: model)
        sectionCount = facts.header?.sectionCount ?? 0
        nodeCount = facts.nodes?.count ?? 0
        byteCount = facts.nodes?.bytes ?? 0
    }

    public var name: String { cache.name }
    /// Whether the cache is current.
    public var isFresh: Bool { cache.isFresh }
    /// Whether every writer keeps it: the order of an index, or a cache that is to be maintained.
    public var isMaintained: Bool { cache.isMaintained }
    /// Whether no other request replaces it.
    public var isLocked: Bool { cache.isLocked }
    /// The number of changes of its entity since it was current; nil when the log does not reach back, or the cache is
    /// unusable.
    public var changesBehind: Int? { cache.changesBehind }
    public var rowCount: Int { cache.contents?.rowCount ?? 0 }
    public var hits: Int { cache.hits }
}

extension PersistentContainer {
    /// The named caches of the store and the orders of its indexes, by name. O(caches x log n). Throws `StoreError`.
    public func namedCaches() throws -> [NamedCache] {
        let state = try pinnedState()
        return try state.cacheNames().map { try state.facts(ofCache: $0) }
    }

    /// The named caches and index orders with the sizes of their orders. O(nodes). Throws `StoreError`.
    public func cacheStatistics() throws -> [CacheStatistics] {
        let state = try pinnedState()
        return try state.cacheNames().map { try state.statistics(ofCache: $0) }
    }
}

/// An opening of a named cache that was no plain hit.
public struct CacheOpening: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        /// The cache was behind, and followed the changes of so many rows.
        case caughtUp(rowCount: Int)
        /// The order was computed from all records; it had so many rows.
        case rebuilt(RebuildReason, rowCount: Int)
    }

    /// When it began.
    public let date: Date
    public let kind: Kind
    public let milliseconds: Double
    /// Whether the cache has the result. Else only the process had it, in memory: the store was read-only or another process was
    /// writing.
    public let isStored: Bool
    /// The commit that the cache had before; nil for a new order.
    package let start: UInt64?
    public let processName: String
    /// The ``ManagedObjectContext/transactionAuthor`` of the context, or the author of the options.
    public let author: String
}

/// What a store remembers of the openings of a cache, of all processes.
public struct CacheHistory: Sendable {
    /// The last 256 openings that were no plain hits, oldest first.
    public let openings: [CacheOpening]
    /// The hits of the last 30 days: each hour that had any, by its beginning. Another process may have a second's hits in memory, until its
    /// next hit, or until its container is released.
    public let hitsByHour: [(hour: Date, count: Int)]
    /// How many entries are damaged: they are left out.
    package let damagedCount: Int
}

extension PersistentContainer {
    /// What a store remembers of the openings of a cache; nothing for a name that no cache has. O(1). Throws `StoreError`.
    public func cacheHistory(_ name: String) throws -> CacheHistory {
        try withPublicErrors {
            let history = try caches.history(of: name, in: store.snapshot())
            return CacheHistory(
                openings: history.openings.map(CacheOpening.init),
                hitsByHour: history.hitsByHour.map { (Date(timeIntervalSince1970: Double($0.hour) * 3600), $0.hits) },
                damagedCount: history.defects)
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
