package import FetchIndexRecords

/// Decides whether a cache is usable, and opens its order in a state of the store.
///
///     assess   header, fingerprint, commit, log  ->  current | behind | unusable (reason)
///     find     current    the order as it is stored
///              behind     the changes since the cache's commit, replayed in a fork
///              unusable   no order: it must be built from all records
///
/// The functions differ in where they store the order:
///
///     open(in: reader)      nowhere: an unusable cache's order is computed in memory
///     open                  into the cache; a catch-up isn't stored while another writer is busy
///     begin ... end         into the cache, when its reader is done
///     openNewest            into the caches of live orders, in one transaction
///     open(in: writer)      into the caches, in a writer's transaction
///
/// An unusable cache can be built in pieces (`build`) or in a writer's transaction (`rebuild`).
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
