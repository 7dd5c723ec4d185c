internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

/// A cache that was brought up to date.
package struct RefreshedCache: Sendable {
    package let rowCount: Int
    /// How the order was opened, without its change: `hit` for a cache that was current.
    package let outcome: FetchOutcome
}

extension PersistentContainer {
    /// Whether a cache's name is that of an index, whose order every writer keeps current.
    package static func isIndex(_ name: String) -> Bool { CacheDirectory.isIndex(name) }

    /// The names of the caches and of the orders of indexes, in order. O(caches). Throws `StoreError`.
    package func cacheNames() throws -> [String] {
        try withPublicErrors { try CacheDirectory.names(in: store.snapshot()) }
    }

    /// The error for a name that no cache has, with the nearest name. O(caches). Throws `StoreError` when the names cannot be read.
    package func unknownCache(_ name: String) throws -> StoreError {
        try withPublicErrors { try CacheDirectory.unknown(name, in: store.snapshot()) }
    }

    /// Brings caches up to date one after the other: those that are behind are caught up, others are built, from one scan of the records
    /// where several are. With `isForced`, all are built. `done` gets each cache's index and what became of it, as soon as it is done.
    /// O(k log n) for a cache that is k changes behind; O(n log n) for one that is built. Throws `StoreError`, and what `done` throws.
    package func refreshCaches(
        _ caches: [(definition: OrderDefinition, options: OrderOptions)], isForced: Bool = false,
        done: (_ index: Int, Result<RefreshedCache, any Error>) throws -> Void
    ) throws {
        try withPublicErrors {
            let requests = try caches.compactMap { try cacheRequest($0.definition, $0.options) }
            precondition(requests.count == caches.count, "A cache has a name.")
            try cacheEngine.open(requests, isForced: isForced) { index, result in
                let refreshed = Result {
                    try withPublicErrors {
                        let opened = try result.get()
                        return RefreshedCache(
                            rowCount: opened.order.rowCount, outcome: FetchOutcome(withoutChange: opened.outcome))
                    }
                }
                try done(index, refreshed)
            }
        }
    }
}
