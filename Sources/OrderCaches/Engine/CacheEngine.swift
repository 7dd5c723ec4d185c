package import FetchIndexRecords

/// Decides whether a cache is usable, and opens its order in a state of the store.
///
///     assess   header, fingerprint, commit, log  ->  current | behind | unusable (reason)
///     find     current    the order as it's stored
///              behind     the changes since the cache's commit, replayed in a fork
///              unusable   no order: it must be built from all records
///     place    in memory, or in the cache
///
/// The state in which a cache is opened is a snapshot's or a writer's. A value says where the order goes:
///
///                                   a fork                   the order of an unusable cache
///     in a snapshot   nothing       stays in memory          computed in memory
///     (Writing)       atEnd         stored by `end`          built in pieces (`rebuild`)
///                     atOnce        stored, unless busy      built in pieces (`rebuild`)
///     in a writer     previewing    stays in memory          none: the cache stays as it is
///     (Purpose)       following     stored                   built in the transaction, for some reasons
///                     received      stored                   built in the transaction, for some reasons
///                     keeping       stored                   built in the transaction, for some reasons
///                     establishing  stored                   built in the transaction
///
/// `attempt` opens a cache `atEnd`, but leaves an unusable cache as it is. `openNewest` attempts to open the caches of
/// live orders, and places them in one transaction. `refresh` opens many caches `atOnce`.
package struct CacheEngine {
    package let store: Store

    /// Counts hits, and writes some of them later; if nil, each hit is written immediately.
    let hits: HitCounts?

    package init(_ store: Store, _ hits: HitCounts? = nil) { (self.store, self.hits) = (store, hits) }

    package var directory: CacheDirectory { CacheDirectory(store) }

    var statistics: OpeningStatistics { OpeningStatistics(of: store) }

    /// The number of commits by which the commit of a current cache may be older than the newest one. If it's even
    /// older, a hit tries to raise the cache's commit, so that the cache doesn't retain the log. Until then, the
    /// planner treats the cache as stale, without reading the log.
    static let idleCommits: UInt64 = 64
}
