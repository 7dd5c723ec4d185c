internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexSorting

/// The sorted row keys of several caches, which one scan of the records has computed.
package final class SharedScan {
    struct Keys {
        /// The commit of the state that was scanned.
        let commit: UInt64
        let sorters: [KeySorter]
        /// The reader of the scanned state if one of the scan's caches needs headings, which are read from it;
        /// otherwise nil.
        let reader: StoreReader?
    }

    private let commit: UInt64
    private let reader: StoreReader?
    private var sorters: [String: [KeySorter]]

    init(of caches: [CacheRequest], in reader: StoreReader) throws {
        var builders = caches.map(\.order.builder)
        for index in builders.indices { builders[index].releasesPages = index == 0 }
        commit = reader.commit
        // The reader is retained only if needed, because writers can't reuse freed pages meanwhile.
        self.reader = builders.contains { $0.headings != nil } ? reader : nil
        sorters = Dictionary(uniqueKeysWithValues: zip(caches.map(\.name), try OrderBuilder.sort(builders, reader)))
    }

    /// Returns and removes the row keys of a cache, so that their memory is freed before the next cache is built.
    func takeKeys(of name: String) -> Keys? {
        sorters.removeValue(forKey: name).map { Keys(commit: commit, sorters: $0, reader: reader) }
    }
}

extension CacheEngine {
    /// Opens several caches `atOnce`, usable ones first. If `isForced`, builds all of them. Caches that must be built
    /// share one scan of the records, if possible. Calls `done` with each cache's index, and its order or error.
    package func refresh(
        _ caches: [CacheRequest], isForced: Bool = false,
        done: (Int, Result<OpenedOrder, any Error>) throws -> Void
    ) throws {
        var unusable: [(index: Int, reason: RebuildReason)] = []
        var transaction: Int?
        if isForced {
            unusable = caches.indices.map { ($0, .requested) }
        } else {
            let snapshot = try store.snapshot()
            transaction = snapshot.transactionNumber
            for (index, cache) in caches.enumerated() {
                let assessment = try assess(cache, in: snapshot)
                if let reason = assessment.unusable {
                    unusable.append((index, reason))
                } else {
                    try done(index, Result { try open(cache, assessment, in: snapshot).opened })
                }
            }
        }  // The snapshot is released before the builds.
        let scan = try sharedScan(of: unusable.map { caches[$0.index] })
        for (index, reason) in unusable {
            let result = Result {
                try place(rebuild(caches[index], reason, since: transaction, from: scan), .atOnce).opened
            }
            try done(index, result)
        }
    }

    /// A shared scan for the caches that must be built. Nil if fewer than two must be built, if two have the same name,
    /// if the store is read-only, or if this store object has an open writer. Also nil if the scan failed: the build of
    /// each cache then scans the records itself.
    private func sharedScan(of built: [CacheRequest]) throws -> SharedScan? {
        guard built.count > 1, !store.isReadOnly, !store.hasOpenWriter,
            Set(built.map(\.name)).count == built.count
        else { return nil }
        return try? SharedScan(of: built, in: store.snapshot())
    }
}
