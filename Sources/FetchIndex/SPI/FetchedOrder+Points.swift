internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

// For the printer of changes since a point, which opens caches without changing them, and moves the bookmark when its
// output is written.
extension PersistentContainer {
    /// Moves a bookmark that a reader has used, if it's still where the reader found it. Throws
    /// `StoreError.bookmarkMoved` if not.
    package func moveBookmark(named name: String, from old: UInt64, to commit: UInt64) throws {
        try withPublicErrors {
            let writer = try store.beginWrite(changesRecords: false)
            guard try writer.bookmarks()[name]?.commit == old else { throw StoreError.bookmarkMoved(name) }
            _ = try set(name, commit, writer)
        }
    }

    /// Opens a cache's order in the newest state, without changing the cache: a cache that is behind is caught up in
    /// memory, and an unusable one is computed in memory. O(k log n) for k changes; O(n log n) for an unusable cache.
    package func withUnchangedOrder<Result>(
        _ definition: OrderDefinition, _ options: OrderOptions, _ body: (FetchedOrder) throws -> Result
    ) throws -> Result {
        try withPublicErrors {
            guard let cache = try cacheRequest(definition, options) else {
                return try withOrder(definition, options, body)
            }
            let snapshot = try store.snapshot()
            let opened = try cacheEngine.open(cache, in: snapshot)
            return try body(FetchedOrder(opened, of: cache.order.builder, snapshot, in: self))
        }
    }
}

extension FetchedOrder {
    /// The commit whose state the order shows.
    package var commit: UInt64 { snapshot.commit }

    /// The commit of a point, in the order's state.
    package func commit(of point: StorePoint) throws -> UInt64 {
        try withPublicErrors { try point.commit(in: snapshot) }
    }
}
