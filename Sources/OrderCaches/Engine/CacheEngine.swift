package import FetchIndexRecords

/// Decides whether a cache can be used, and opens its order in a state of the store: for all callers in the same way.
///
///     assess   header, fingerprint, commit, log  ->  current | behind | unusable (reason)
///     find     current    the order as it is stored
///              behind     the changes since the cache's commit, replayed in a fork
///              unusable   none: the order is to be built from all records
///
/// Who wants an order says where its result goes:
///
///     open(in: snapshot)    nowhere: an unusable cache's order is computed in memory
///     open                  into the cache, unless another writer is busy
///     begin ... end         into the cache, when its reader is done
///     openNewest            into the caches of live orders, in one transaction
///     open(in: writer)      into the caches, in a writer's transaction
///
/// An unusable cache is built in pieces (`build`), or in the writer's transaction (`rebuild`).
package struct CacheEngine {
    package let store: Store

    /// Nil: each hit is written at once.
    let hits: HitCounts?

    package init(_ store: Store, _ hits: HitCounts? = nil) { (self.store, self.hits) = (store, hits) }

    package var directory: CacheDirectory { CacheDirectory(store) }

    var statistics: OpeningStatistics { OpeningStatistics(of: store) }

    /// A cache that is current but more commits behind than this takes the newest commit when it is opened, so that it does not keep
    /// the log. The planner takes one for stale without a look at the log.
    static let idleCommits: UInt64 = 64
}
