internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexSorting

/// The sorted row keys of several caches, from one scan of the records.
package final class SharedScan {
    struct Keys {
        /// The commit of the state that was scanned.
        let commit: UInt64
        let sorters: [KeySorter]
        /// That state, where headings are still to be read from it; else any state will do.
        let reader: StoreReader?
    }

    private let commit: UInt64
    private let reader: StoreReader?
    private var sorters: [String: [KeySorter]]

    init(of caches: [CacheRequest], in reader: StoreReader) throws {
        var builders = caches.map(\.order.builder)
        for index in builders.indices { builders[index].releasesPages = index == 0 }
        commit = reader.commit
        // Its pages cannot be used again as long as it is kept.
        self.reader = builders.contains { $0.headings != nil } ? reader : nil
        sorters = Dictionary(uniqueKeysWithValues: zip(caches.map(\.name), try OrderBuilder.sort(builders, reader)))
    }

    /// The keys of a cache, once: then their memory is free for the next.
    func takeKeys(of name: String) -> Keys? {
        sorters.removeValue(forKey: name).map { Keys(commit: commit, sorters: $0, reader: reader) }
    }
}

extension CacheEngine {
    /// Opens several caches, one after the other, as `open` does; those that must be built are built from one scan of the
    /// records. With `isForced`, all are built. `done` gets each cache's index and order, or error.
    package func open(
        _ caches: [CacheRequest], isForced: Bool = false,
        done: (Int, Result<OpenedOrder, any Error>) throws -> Void
    ) throws {
        let (reasons, transaction) = try reasonsToBuild(caches, isForced: isForced)
        let scan = try sharedScan(of: caches.indices.filter { reasons[$0] != nil }.map { caches[$0] })
        for (index, cache) in caches.enumerated() {
            let result = Result {
                guard let reason = reasons[index] else { return try open(cache).opened }
                var reading = try rebuild(cache, reason, since: isForced ? nil : transaction, from: scan)
                try storeUnlessBusy(&reading)
                return reading.opened
            }
            try done(index, result)
        }
    }

    /// Why caches must be built, nil for one that can be used; and the transaction that shows it.
    private func reasonsToBuild(
        _ caches: [CacheRequest], isForced: Bool
    ) throws -> (reasons: [RebuildReason?], transaction: Int) {
        let snapshot = try store.snapshot()
        let reasons = try caches.map { isForced ? .requested : try assess($0, in: snapshot).unusable }
        return (reasons, snapshot.transactionNumber)
    }

    /// Nil where it would save nothing. Damaged records, and a full disk, are met by the build of each cache.
    private func sharedScan(of built: [CacheRequest]) throws -> SharedScan? {
        guard built.count > 1, !store.isReadOnly, !store.hasOpenWriter,
            Set(built.map(\.name)).count == built.count
        else { return nil }
        return try? SharedScan(of: built, in: store.snapshot())
    }
}
