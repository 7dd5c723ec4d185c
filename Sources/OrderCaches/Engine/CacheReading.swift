internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexRecords

/// An order opened for a reader whose output may fail. The cache takes the order when the reader is done.
///
///     begin    the order, caught up in a fork; the cache isn't changed
///     ...      the reader prints the changes, and flushes
///     end      the fork is stored as the cache's order
///
/// If the reader fails or is killed before the end, the next opening reports the same change again. A rebuild is stored
/// at once, and a maintained cache advances with each writer; then a note records until the end what an exact reader
/// hasn't received.
package struct CacheReading {
    package let cache: CacheRequest
    package internal(set) var opened: OpenedOrder
    package internal(set) var snapshot: Snapshot
    /// The order that the cache is to take; nil if the cache has it already or cannot take it.
    let next: CacheEngine.PreparedOrder?
    /// The note of what the reader hadn't received before, if any.
    let note: UnreadNote?
    let duration: Duration

    /// Whether `end` has anything to store.
    var hasToBeStored: Bool {
        guard let note else { return next != nil }
        guard next == nil, note.reason == nil, case .hit = opened.outcome else { return true }
        // A hit alone is not stored each time.
        return snapshot.commit &- note.commit > CacheEngine.idleCommits
    }

    /// Whether its cache is current, but retains the log.
    var isIdle: Bool {
        guard case .stored(let header) = opened.place, header.commit < snapshot.commit else { return false }
        return snapshot.commit - header.commit > CacheEngine.idleCommits
    }

    /// Whether the reader has received everything that another note declares unread.
    func hasRead(_ other: UnreadNote?) -> Bool {
        guard let other else { return false }
        if other == note { return true }
        // Meanwhile another reader has received some of the same changes, or a writer has advanced the cache.
        guard other.reason == nil, note?.reason == nil, let start = note?.commit ?? opened.start else { return false }
        return (start...max(start, snapshot.commit)).contains(other.commit)
    }
}

// MARK: Begin

extension CacheEngine {
    /// The outcome of opening a cache without a rebuild.
    package enum Attempt {
        case opened(CacheReading)
        case unusable(RebuildReason)
    }

    /// Opens a cache in the newest state, or that of a snapshot, for which an assessment may be given. The cache isn't
    /// changed until `end`, but an unusable one is rebuilt at once. `check` receives the outcome before anything is
    /// stored, and may throw. Costs as much as `open`.
    package func begin(
        _ cache: CacheRequest, _ assessment: CacheAssessment? = nil, in snapshot: Snapshot? = nil,
        check: (OrderOutcome) throws -> Void = { _ in }
    ) throws -> CacheReading {
        try CacheDirectory.validate(cache.name)
        if CacheDirectory.isIndex(cache.name) { throw StoreError.invalidCacheName(cache.name) }
        let reason: RebuildReason
        let transaction: Int
        do {
            let snapshot = try snapshot ?? store.snapshot()
            transaction = snapshot.transactionNumber
            switch try attempt(cache, assessment, in: snapshot) {
            case .opened(let reading):
                noteHit(reading)
                try check(reading.opened.outcome)
                return reading
            case .unusable(let found): reason = found
            }
        }  // The snapshot ends before a build, which may take long.
        try check(.rebuilt(reason))
        return try rebuild(cache, reason, since: transaction)
    }

    /// Opens a cache in the state of a snapshot, unless it must be rebuilt. `missing` is the reason for a rebuild that
    /// another build has made while an exact reader waited for it.
    package func attempt(
        _ cache: CacheRequest, _ assessment: CacheAssessment? = nil, in snapshot: Snapshot,
        missing: RebuildReason? = nil
    ) throws -> Attempt {
        let start = ContinuousClock.now
        let assessment = try assessment ?? assess(cache, in: snapshot)
        if !assessment.isCurrent {
            // A rebuild changes the cache's number, so pending hits are written before.
            hits?.write()
        }
        switch try find(cache, assessment, in: snapshot) {
        case .opened(let opened, let next):
            do {
                let note = cache.needsExactChange ? try CacheDirectory.unread(of: cache.name, in: snapshot) : nil
                return .opened(
                    CacheReading(
                        cache: cache, opened: try told(opened, cache.order, missing, note, in: snapshot),
                        snapshot: snapshot, next: store.isReadOnly ? nil : next, note: note,
                        duration: ContinuousClock.now - start))
            } catch  where error.isCacheDamage { return .unusable(.damaged) }
        case .unusable(let reason): return .unusable(reason)
        }
    }

    /// An opened order with the outcome to report to an exact reader, including what it hasn't received according to a
    /// note.
    private func told(
        _ opened: OpenedOrder, _ request: OrderRequest, _ missing: RebuildReason?, _ note: UnreadNote?,
        in snapshot: Snapshot
    ) throws -> OpenedOrder {
        if let reason = missing ?? note?.reason { return opened.with(.rebuilt(reason)) }
        guard let note else { return opened }
        return opened.with(
            try outcome(since: note, of: request, to: opened.order, in: snapshot), from: note.commit)
    }

    /// Rebuilds a cache for a reader, unless another build has rebuilt it after `transaction`, in which it was
    /// unusable: then opens that cache and reports the rebuild to an exact reader, too, because each reader may fail.
    /// If `transaction` is nil, always rebuilds it. Builds in memory if the store is read-only or this process has an
    /// open writer. `scan` may contain the cache's keys. O(n log n).
    package func rebuild(
        _ cache: CacheRequest, _ reason: RebuildReason, since transaction: Int? = nil, from scan: SharedScan? = nil
    ) throws -> CacheReading {
        try CacheDirectory.validate(cache.name)
        hits?.write()
        let start = ContinuousClock.now
        var cache = cache
        // An exact reader must learn of each change.
        cache.notesRebuilds = cache.needsExactChange
        var (reason, transaction) = (reason, transaction)
        while true {
            let built: Built
            do { built = try build(cache, reason, since: transaction, from: scan) } catch StoreError.moved
                where transaction != nil
            {
                built = try computeAtNewest(cache.order, .rebuilt(reason))
            }
            switch built {
            case .built(let opened, let snapshot):
                record(opened, in: snapshot, of: cache, since: start)
                return reading(of: cache, rebuilt: opened, reason, snapshot, since: start)
            case .byAnother(let assessment, let snapshot):
                let missing = cache.needsExactChange ? reason : nil
                switch try attempt(cache, assessment, in: snapshot, missing: missing) {
                case .opened(let reading):
                    noteHit(reading)
                    return reading
                // Only the cache's header is usable.
                case .unusable(let found): (reason, transaction) = (found, nil)
                }
            }
        }
    }

    private func reading(
        of cache: CacheRequest, rebuilt opened: OpenedOrder, _ reason: RebuildReason, _ snapshot: Snapshot,
        since start: ContinuousClock.Instant
    ) -> CacheReading {
        var note: UnreadNote?
        if cache.notesRebuilds, case .stored(let header) = opened.place { note = UnreadNote(header, reason) }
        return CacheReading(
            cache: cache, opened: opened, snapshot: snapshot, next: nil, note: note,
            duration: ContinuousClock.now - start)
    }

    // MARK: End

    /// The maximum time that the end of an exact reading waits for another writer.
    private static let readingPatience = Duration.seconds(5)

    /// Stores the order that a reader has received. Does nothing if the cache was replaced meanwhile or the store can't
    /// be written. An exact reading waits for another writer for up to `limit`, by default five seconds, and then
    /// throws `writerBusy`. Other readings don't wait. O(k log k) for k nodes.
    package func end(_ reading: CacheReading, limit: Duration? = nil) throws {
        guard reading.hasToBeStored, !store.isReadOnly else { return }
        guard let writer = try writer(for: reading, limit ?? Self.readingPatience) else { return abandon(reading) }
        let stored = try store(reading, in: writer)
        try CacheDirectory.trimLog(in: writer)
        try writer.commit()
        record(reading, isStored: stored != nil || reading.next == nil)
    }

    /// Records the opening of an order that isn't stored in its cache.
    package func abandon(_ reading: CacheReading) { record(reading, isStored: false) }

    private func writer(for reading: CacheReading, _ limit: Duration) throws -> StoreWriter? {
        guard reading.cache.needsExactChange else { return try store.tryBeginWrite() }
        do { return try store.beginWrite(limit: limit, changesRecords: false) } catch {
            switch error {
            // The caller itself is writing, or the store can't be written.
            case StoreError.wouldWaitForItself, StoreError.moved, StoreError.inaccessible: return nil
            case StoreError.writerBusy:
                abandon(reading)
                throw error
            default: throw error
            }
        }
    }

    /// Stores a reading's order at once, unless a writer is busy. The reading then uses the stored order, unless
    /// another commit was made in between.
    func storeUnlessBusy(_ reading: inout CacheReading) throws {
        guard reading.next != nil, let writer = try store.tryBeginWrite() else { return }
        let isSameState = writer.commit == reading.snapshot.commit
        let stored = try store(reading, in: writer)
        try CacheDirectory.trimLog(in: writer)
        guard let stored, isSameState else {
            try writer.commit()
            return
        }
        reading.snapshot = try writer.commitAndRead()
        reading.opened = stored.reopened(in: reading.snapshot)
    }

    /// Stores what a reader has received, in a writer's transaction: the order of the reading's state, which may be
    /// older than the writer's. Returns nil if the cache was replaced or has advanced meanwhile.
    func store(_ reading: CacheReading, in writer: StoreWriter) throws -> OpenedOrder? {
        let name = reading.cache.name
        // Read before the cache changes: if the list is damaged, the note is made from the cache's header.
        let hasRead =
            try reading.cache.needsExactChange && reading.hasRead(CacheDirectory.unread(of: name, in: writer))
        let stored = try storeOrder(of: reading, in: writer)
        if hasRead { try CacheDirectory.setRead(upTo: reading.snapshot.commit, name, in: writer) }
        return stored
    }

    private func storeOrder(of reading: CacheReading, in writer: StoreWriter) throws -> OpenedOrder? {
        guard let known = reading.opened.place.header,
            let header = try? CacheDirectory.header(reading.cache.name, in: writer),
            header.hasSameNodes(as: known), header.commit <= reading.snapshot.commit
        else { return nil }
        return try store(reading.opened, reading.next, over: header, in: writer, at: reading.snapshot.commit)
    }

    /// Like `end`, in the transaction of a writer. A cache that turns out to be damaged is deleted, so that it doesn't
    /// prevent records from being saved.
    package func storeOrDelete(_ reading: CacheReading, in writer: StoreWriter) throws {
        do {
            let stored = try store(reading, in: writer)
            record(reading, isStored: stored != nil || reading.next == nil)
        } catch  where error.isDamage {
            _ = try directory.delete(reading.cache.name, in: writer)
        }
        try CacheDirectory.trimLog(in: writer)
    }
}
