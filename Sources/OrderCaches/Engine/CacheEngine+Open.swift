internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexRecords

extension CacheEngine {
    /// A cache that is current but more commits behind than this takes the newest commit, so that it does not keep the log.
    static let idleCommits: UInt64 = 64

    /// Opens the order of a cache at the newest state: as it is stored, caught up from the change log, or rebuilt.
    ///
    /// A hit costs O(log n), catching up O(k log n) for k changes, a rebuild O(n log n). In a read-only store, and while
    /// another writer is busy, the order is caught up in memory and the cache stays as it is. A rebuild waits for its turn.
    package func open(_ cache: CacheRequest) throws -> (opened: OpenedOrder, snapshot: Snapshot) {
        try recorded(cache) { try openUnrecorded(cache) }
    }

    func openUnrecorded(_ cache: CacheRequest) throws -> (opened: OpenedOrder, snapshot: Snapshot) {
        try CacheDirectory.validate(cache.name)
        if cache.name.hasPrefix(CacheDirectory.indexPrefix) { throw StoreError.invalidCacheName(cache.name) }
        let reason: RebuildReason
        do {
            let snapshot = try store.snapshot()
            let assessment = try assess(cache, in: snapshot)
            switch assessment {
            case .current(let header):
                let opened = try bring(cache, assessment, to: .memory(snapshot))
                // Damage is met by bringing it.
                if case .hit = opened.outcome { noteHit(header, in: snapshot) }
                return (opened, snapshot)
            case .behind:
                hits?.write()
                guard !store.isReadOnly, let writer = try store.tryBeginWrite() else {
                    return (try bring(cache, assessment, to: .memory(snapshot)), snapshot)
                }
                // The cache may have changed before the writer began.
                return try commit(bring(cache, assess(cache, in: writer), to: .cache(writer)), writer)
            case .unusable(let found):
                // A rebuild gives the cache another number.
                hits?.write()
                reason = found
            }
        }  // The snapshot ends before a build, which may take long.
        do {
            return try build(cache, reason) ?? openUnrecorded(cache)
        } catch StoreError.moved {
            return try computeAtNewest(cache.order, .rebuilt(reason))
        }
    }

    /// Whether a cache is current in the state of a snapshot. O(log n).
    package func isCurrent(_ cache: CacheRequest, in snapshot: Snapshot) throws -> Bool {
        if case .current = try assess(cache, in: snapshot) { true } else { false }
    }

    /// The order of a cache in the state of a snapshot. The cache stays as it is.
    package func open(_ cache: CacheRequest, in snapshot: Snapshot) throws -> OpenedOrder {
        try bring(cache, assess(cache, in: snapshot), to: .memory(snapshot))
    }

    /// Builds a cache from all records. In memory where the store is read-only, and while a writer of this process is open.
    /// O(n log n).
    package func rebuild(
        _ cache: CacheRequest, _ reason: RebuildReason
    ) throws -> (opened: OpenedOrder, snapshot: Snapshot) {
        try CacheDirectory.validate(cache.name)
        hits?.write()
        return try recorded(cache) { try build(cache, reason, isForced: true) ?? openUnrecorded(cache) }
    }

    func computeAtNewest(
        _ request: OrderRequest, _ outcome: OrderOutcome
    ) throws -> (opened: OpenedOrder, snapshot: Snapshot) {
        let snapshot = try store.snapshot()
        return (try Self.compute(request, in: snapshot, outcome), snapshot)
    }

    func commit(_ opened: OpenedOrder, _ writer: StoreWriter) throws -> (opened: OpenedOrder, snapshot: Snapshot) {
        try CacheDirectory.trimLog(in: writer)
        let snapshot = try writer.commitAndRead()
        return (opened.reopened(in: snapshot), snapshot)
    }

    /// Counts a hit, unless no reader has asked for it.
    func noteHit(_ header: CacheHeader, in snapshot: Snapshot, isAsked: Bool = true) {
        let time = currentTime()
        if isAsked {
            if let hits { hits.count(header, time: time) } else { statistics.countHit(of: header, time: time) }
        }
        // Trimming the log can wait: an error here does not affect the hit.
        if snapshot.commit - header.commit > Self.idleCommits { try? raiseCommit(of: header, to: snapshot.commit) }
    }

    /// Raises the commit of a cache that is current, unless a writer is busy or has done so already.
    private func raiseCommit(of header: CacheHeader, to commit: UInt64) throws {
        guard !store.isReadOnly, let writer = try store.tryBeginWrite(), writer.commit == commit,
            var stored = try? CacheDirectory.header(header.name, in: writer), stored.commit == header.commit
        else { return }
        stored.commit = commit
        try CacheDirectory.put(stored, in: writer)
        try CacheDirectory.trimLog(in: writer)
        try writer.commit()
    }

    // MARK: Followed caches

    /// The newest state of the store, and the orders of followed caches that are stored in it, by name. Caches that are
    /// behind are brought to it, where no other writer is busy.
    package func openNewest(_ followed: [CacheRequest]) throws -> (snapshot: Snapshot, stored: [String: OpenedOrder]) {
        let snapshot = try store.snapshot()
        var stored: [String: OpenedOrder] = [:]
        for cache in followed {
            let assessment = try assess(cache, in: snapshot)
            guard case .current = assessment else { continue }
            stored[cache.name] = try? bring(cache, assessment, to: .memory(snapshot))
        }
        guard stored.count < followed.count, !store.isReadOnly, !store.hasOpenWriter,
            let writer = try store.tryBeginWrite()
        else { return (snapshot, stored) }
        let brought = try bring(followed, in: writer)
        let newest = try writer.commitAndRead()
        return (newest, brought.mapValues { $0.reopened(in: newest) })
    }

    /// Brings caches to the commit of a sealed writer, in its transaction. Returns their orders, by name, without those that
    /// were not brought, as below. Those that were prepared take their changes from `PreparedOrders.changes`.
    package func bring(
        _ caches: [CacheRequest], in writer: StoreWriter, known: KnownChanges? = nil
    ) throws -> [String: OpenedOrder] {
        var brought: [String: OpenedOrder] = [:]
        for cache in caches { brought[cache.name] = try bringUntrimmed(cache, in: writer, known: known).opened }
        if !caches.isEmpty { try CacheDirectory.trimLog(in: writer) }
        return brought
    }

    /// Builds a cache anew in one transaction, when the change of an order that was brought cannot be found. Does nothing when the
    /// cache is not that one any more. Throws `writerBusy` when it waits longer than a limit. O(n log n).
    package func rebuild(_ cache: CacheRequest, of brought: OpenedOrder, limit: Duration?) throws {
        let writer = try store.beginWrite(limit: limit, changesRecords: false)
        guard let number = brought.place.number, try CacheDirectory.number(of: cache.name, in: writer) == number else {
            return
        }
        do { _ = try bring(cache, .unusable(.damaged), to: .cache(writer)) } catch  where error.isDamage {
            _ = try directory.delete(cache.name, in: writer)
        }
        try CacheDirectory.trimLog(in: writer)
        try writer.commit()
    }

    /// Brings one cache to the commit of a sealed writer. Without an order when the cache was deleted or belongs to another
    /// request now, and when records are damaged, which must not keep others from being saved: then the cache is deleted.
    package func bring(
        _ cache: CacheRequest, in writer: StoreWriter
    ) throws -> (opened: OpenedOrder?, outcome: OrderOutcome) {
        let brought = try bringUntrimmed(cache, in: writer, known: nil)
        try CacheDirectory.trimLog(in: writer)
        return brought
    }

    private func bringUntrimmed(
        _ cache: CacheRequest, in writer: StoreWriter, known: KnownChanges?
    ) throws -> (opened: OpenedOrder?, outcome: OrderOutcome) {
        let assessment = try assess(cache, in: writer)
        if case .unusable(let reason) = assessment, !reason.isOfState { return (nil, .rebuilt(reason)) }
        do {
            let opened = try bring(cache, assessment, to: .cache(writer), known: known)
            return (opened, opened.outcome)
        } catch  where error.isDamage {
            _ = try directory.delete(cache.name, in: writer)
            return (nil, .rebuilt(.damaged))
        }
    }
}

extension RebuildReason {
    /// Whether the cache is of the same request, and only its state is unusable.
    package var isOfState: Bool { [.tooManyChanges, .logTooShort, .damaged].contains(self) }

    /// Whether the cache is missing or of another request, which is no news for the reader of this one.
    package var isOfOtherRequest: Bool {
        [.first, .predicateChanged, .sortChanged, .sectionKeyChanged, .aggregatesChanged].contains(self)
    }
}
