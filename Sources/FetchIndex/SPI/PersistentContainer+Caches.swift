internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// The result of refreshing a cache.
package struct RefreshedCache: Sendable {
    package let rowCount: Int
    /// The outcome of the cache's opening, without its changes: `hit` if the cache was current.
    package let outcome: FetchOutcome
}

// For commands that name caches, and keep many of them current. Users open an order, which catches its cache up, and
// list caches with ``PersistentContainer/namedCaches()``.
extension PersistentContainer {
    /// Whether a cache name is that of an index, which every writer maintains.
    package static func isIndex(_ name: String) -> Bool { CacheDirectory.isIndex(name) }

    /// The sorted names of all caches, including the caches of indexes. O(caches). Throws `StoreError`.
    package func cacheNames() throws -> [String] {
        try withPublicErrors { try CacheDirectory.names(in: store.snapshot()) }
    }

    /// Makes the error for an unknown cache name. The error suggests a similar name, if any. O(caches). Throws
    /// `StoreError` if the names can't be read.
    package func unknownCache(_ name: String) throws -> CacheError {
        try withPublicErrors { try CacheDirectory.unknown(name, in: store.snapshot()) }
    }

    /// Makes caches current: catches up caches that are behind, and builds caches that are missing or unusable, if
    /// possible from one scan of the records. If `isForced`, all caches are built. `done` is called with a cache's
    /// index and result as soon as the cache is finished. O(k log n) for a cache that is k changes behind; O(n log n)
    /// for a build. Throws `StoreError`, throws if a definition doesn't fit the model, and rethrows the errors of
    /// `done`.
    package func refreshCaches(
        _ caches: [(definition: OrderDefinition, options: OrderOptions)], isForced: Bool = false,
        done: (_ index: Int, Result<RefreshedCache, any Error>) throws -> Void
    ) throws {
        try withPublicErrors {
            let requests = try caches.compactMap { try cacheRequest($0.definition, $0.options) }
            precondition(requests.count == caches.count, "Each of the caches to refresh must have a name.")
            try cacheEngine.refresh(requests, isForced: isForced) { index, result in
                let refreshed = Result {
                    try withPublicErrors {
                        let opened = try result.get()
                        return RefreshedCache(
                            rowCount: opened.order.rowCount, outcome: opened.outcome.withoutChange)
                    }
                }
                try done(index, refreshed)
            }
        }
    }

    /// Builds a cache that is missing, belongs to another request, or was made unusable by a change of the model, the
    /// collation or the format. After such a change, the body gets the rebuilt order, because the cache's exact reader
    /// must learn of the rebuild. A cache in any other state stays as it is. O(n log n) for a build.
    package func establishCache(
        _ definition: OrderDefinition, _ options: OrderOptions, telling body: (FetchedOrder) throws -> Void
    ) throws {
        try withPublicErrors {
            guard var cache = try cacheRequest(definition, options) else { return }
            if CacheDirectory.isIndex(cache.name) { throw CacheError.invalidName(cache.name) }
            let reason: RebuildReason
            let transaction: Int
            do {
                let snapshot = try store.snapshot()
                guard let found = try cacheEngine.assess(cache, in: snapshot).unusable, !found.isOfState else { return }
                (reason, transaction) = (found, snapshot.transactionNumber)
            }  // The snapshot ends before the build.
            let isTold = !reason.isOfOtherRequest
            cache.needsExactChange = isTold
            let rebuilt = try cacheEngine.rebuild(cache, reason, since: transaction)
            try withOrder(cache, rebuilt, options) { order in if isTold { try body(order) } }
        }
    }
}

// For the printer of changes since a point, which opens caches without changing them, and moves the bookmark when its
// output is written.
extension PersistentContainer {
    /// Moves a bookmark that a reader has used, if it's still where the reader found it. Throws
    /// `StoreError.bookmarkMoved` if not, and `writerBusy` if another writer takes longer than the limit.
    package func moveBookmark(named name: String, from old: UInt64, to commit: UInt64, limit: Duration? = nil) throws {
        if old == commit { return }
        try withPublicErrors {
            let writer = try store.beginWrite(limit: limit, changesRecords: false)
            guard try writer.bookmarks()[name]?.commit == old else { throw StoreError.bookmarkMoved(name) }
            _ = try set(name, commit, writer)
        }
    }

    /// Opens a cache's order in the newest state, without changing the cache: a cache that is behind is caught up in
    /// memory, and an unusable one is computed in memory. If `renewsCache`, a cache that is behind by very many changes is
    /// rebuilt and stored instead, which takes no memory for its rows; its exact reader still receives the changes.
    /// O(k log n) for k changes; O(n log n) for an unusable cache or very many changes.
    package func withUnchangedOrder<Result>(
        _ definition: OrderDefinition, _ options: OrderOptions, renewsCache: Bool = false,
        _ body: (FetchedOrder) throws -> Result
    ) throws -> Result {
        try withPublicErrors {
            guard let cache = try cacheRequest(definition, options) else {
                return try withOrder(definition, options, body)
            }
            let writing = renewsCache ? Writing.renewal : .nothing(wantsChange: false)
            let reading = try cacheEngine.open(cache, writing: writing)
            return try body(FetchedOrder(reading.opened, of: cache.order.builder, reading.snapshot, in: self))
        }
    }
}

extension FetchedOrder {
    /// The commit of a point, in the order's state.
    package func commit(of point: StorePoint) throws -> UInt64 {
        try withPublicErrors { try point.commit(in: reader) }
    }

    /// The order at an earlier point. Its sections and rows are as they were then, and so are the values of related
    /// objects on which the order depends; values of other related objects are the newest ones. Throws
    /// `StoreError.logTooShort`. O(k log n) for k changes, which stay in memory.
    package func past(at point: StorePoint) throws -> FetchedOrder {
        try withPublicErrors {
            let commit = try point.commit(in: reader)
            if try commit < reader.lastRewrite() { throw StoreError.logTooShort(commit: commit) }
            let past = try container.cacheEngine.past(of: builder, at: commit, from: newest, in: reader)
            return try FetchedOrder(opened, of: builder, reader, in: container, at: past)
        }
    }
}
