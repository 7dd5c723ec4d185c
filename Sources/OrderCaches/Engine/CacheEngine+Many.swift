internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexSorting

/// The sorted row keys of several caches, from one scan of the records.
final class SharedScan {
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
        let scan = try sharedScan(of: caches, isForced: isForced)
        for (index, cache) in caches.enumerated() {
            try done(index, Result { try recorded(cache) { try open(cache, isForced: isForced, from: scan) }.opened })
        }
    }

    private func open(
        _ cache: CacheRequest, isForced: Bool, from scan: SharedScan?
    ) throws -> (opened: OpenedOrder, snapshot: Snapshot) {
        try CacheDirectory.validate(cache.name)
        if isForced { return try build(cache, .requested, isForced: true, from: scan) ?? openUnrecorded(cache) }
        if case .unusable(let reason) = try assess(cache, in: store.snapshot()) {
            return try build(cache, reason, from: scan) ?? openUnrecorded(cache)
        }
        return try openUnrecorded(cache)
    }

    /// Nil where it would save nothing. Damaged records, and a full disk, are met by the build of each cache.
    private func sharedScan(of caches: [CacheRequest], isForced: Bool) throws -> SharedScan? {
        let snapshot = try store.snapshot()
        let built = try caches.filter { cache in
            if case .unusable = try assess(cache, in: snapshot) { true } else { isForced }
        }
        guard built.count > 1, !store.isReadOnly, !store.hasOpenWriter,
            Set(built.map(\.name)).count == built.count
        else { return nil }
        return try? SharedScan(of: built, in: snapshot)
    }
}
