internal import FetchIndexModels
package import FetchIndexRecords

/// Decides whether a cache can be used, and brings its order to a state of the store: for all callers in the same way.
///
///     assess   header, fingerprint, commit, log  ->  current | behind | unusable (reason)
///     bring    current    the order as it is stored
///              behind     the changes since the cache's commit, replayed in a fork
///              unusable   the order is built from all records
///
/// A writer stores the result in the cache. A reader keeps it in memory, and the cache stays as it is.
package struct CacheEngine {
    package let store: Store

    /// Nil: each hit is written at once.
    let hits: HitCounts?

    package init(_ store: Store, _ hits: HitCounts? = nil) { (self.store, self.hits) = (store, hits) }

    package var directory: CacheDirectory { CacheDirectory(store) }

    /// Catching up with a changed row costs about this many times as much as building a row.
    private static let catchUpCost = 4
    /// The number of changes that are caught up whatever the order's size: the exact change is worth the time.
    private static let alwaysCaughtUp = 10_000

    /// What a cache is for a request, in the state of a reader.
    enum Assessment {
        case current(CacheHeader)
        case behind(CacheHeader)
        case unusable(RebuildReason)
    }

    func assess(_ cache: CacheRequest, in reader: StoreReader) throws -> Assessment {
        let header: CacheHeader
        do {
            guard let found = try CacheDirectory.header(cache.name, in: reader) else { return .unusable(.first) }
            header = found
        } catch let error as UnusableHeader {
            return .unusable(error.reason)
        }
        let entities = cache.order.builder.entities
        let dependencies = cache.order.builder.dependencies
        if let reason = header.identity.difference(from: cache.order.identity) {
            return .unusable(header.identity.canBeRead(from: reader.model) ? reason : .modelChanged)
        }
        // A log that cannot be read is treated like one that is too short.
        guard let behind = try? header.changesBehind(of: dependencies, in: reader) else {
            return .unusable(.logTooShort)
        }
        if behind == 0 { return .current(header) }
        if cache.needsExactChange { return .behind(header) }
        return behind > (try Self.mostCaughtUp(of: entities, in: reader)) ? .unusable(.tooManyChanges) : .behind(header)
    }

    /// The most changes, of records or of rows that depend on them, that are caught up with.
    static func mostCaughtUp(of entities: [Int], in reader: StoreReader) throws -> Int {
        Int(clamping: try reader.count(of: entities)) / catchUpCost + alwaysCaughtUp
    }
}
