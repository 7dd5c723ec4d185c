internal import FetchIndexPlatform
package import FetchIndexModels
package import FetchIndexRecords

/// An order that was opened for a reader whose output may fail. The order is stored in the cache when the reader is
/// done.
///
///     begin    the order, caught up in a fork; the cache isn't changed
///     ...      the reader prints the changes, and flushes
///     end      the fork is stored as the cache's order
///
/// If the reader fails or is killed before the end, the next opening reports the change again, unless the cache was
/// caught up meanwhile. But a rebuilt cache is stored before the reader has received it, and writers catch maintained
/// caches up. For these caches, a note in the store says what an exact reader (one that must receive each change)
/// hasn't received.
package struct CacheReading {
    package let cache: CacheRequest
    package internal(set) var opened: OpenedOrder
    package internal(set) var snapshot: Snapshot
    /// The order to be stored in the cache; nil if the cache has this order already, or can't be written.
    let next: CaughtUpOrder?
    /// The note of what the exact reader hadn't received before this reading, or of the rebuild that this reading made;
    /// nil if there isn't one, or if the reader isn't exact.
    let note: UnreadNote?
    /// Whether this reading made the note, so that its end must update it.
    var hasNewNote = false
    let duration: Duration

    /// Whether `end` has an order or a note to store.
    var hasToBeStored: Bool {
        guard let note else { return next != nil }
        guard next == nil, !hasNewNote, note.reason == nil, case .hit = opened.outcome else { return true }
        // If the order hasn't changed since the note's commit, raising this commit only lets the log be trimmed. So it
        // is raised only if it's old.
        return snapshot.commit &- note.commit > CacheEngine.idleCommits
    }

    /// Whether the cache is current, but its commit is so old (by more than `idleCommits`) that it should be raised,
    /// because the cache retains the log after it.
    var isIdle: Bool {
        guard case .stored(let header) = opened.place, header.commit < snapshot.commit else { return false }
        return snapshot.commit - header.commit > CacheEngine.idleCommits
    }

    /// Whether this reading's reader has received what `other`, the note that the cache has now, says is unread, up to
    /// the reading's state. Returns false if `other` is nil.
    func hasRead(_ other: UnreadNote?) -> Bool {
        guard let other else { return false }
        if other == note { return true }
        // The note has changed since this reading began: another reader has received some of the same changes, or a
        // writer has caught the cache up.
        guard other.reason == nil, note?.reason == nil, let start = note?.commit ?? opened.start else { return false }
        return (start...max(start, snapshot.commit)).contains(other.commit)
    }
}

// MARK: Begin

extension CacheEngine {
    /// Opens a cache for a reader, in the newest state or in a snapshot's. An assessment of the cache in this state can
    /// be given. The cache's order isn't changed until `end`, except that an unusable cache is rebuilt immediately, in
    /// the newest state; so is one that is behind by many changes (`compare`). `check` gets the outcome before an order is stored, and may throw. Costs as much as `open`.
    package func begin(
        _ cache: CacheRequest, _ assessment: CacheAssessment? = nil, in snapshot: Snapshot? = nil,
        check: (OrderOutcome<RecordKey>) throws -> Void = { _ in }
    ) throws -> CacheReading {
        try CacheDirectory.validate(cache.name)
        if CacheDirectory.isIndex(cache.name) { throw CacheError.invalidName(cache.name) }
        let reason: RebuildReason
        let transaction: Int
        do {
            let snapshot = try snapshot ?? store.snapshot()
            transaction = snapshot.transactionNumber
            switch try attemptOrCompare(cache, assessment, in: snapshot, check: check) {
            case .opened(let reading):
                if !reading.hasNewNote { noteHit(reading) }
                return reading
            case .unusable(let found): reason = found
            }
        }  // the snapshot is released before this build, which may take long
        try check(.rebuilt(reason))
        return try rebuild(cache, reason, since: transaction)
    }

    /// Opens a cache in a snapshot's state; returns `unusable` if it must be rebuilt. `missing` is the reason for a
    /// rebuild that an exact reader hasn't received, because another build made it while the reader's own build waited.
    package func attempt(
        _ cache: CacheRequest, _ assessment: CacheAssessment? = nil, in snapshot: Snapshot,
        missing: RebuildReason? = nil
    ) throws -> CacheAttempt<CacheReading> {
        let start = ContinuousClock.now
        let assessment = try assessment ?? assess(cache, in: snapshot)
        if !assessment.isCurrent {
            // Writes pending hits first, because a rebuild may change the cache's number.
            hits?.write()
        }
        switch try find(cache, assessment, in: snapshot) {
        case .opened(let (opened, next)):
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

    /// Returns an opened order with the outcome that an exact reader must receive, including what it hasn't received
    /// yet according to the note.
    private func told(
        _ opened: OpenedOrder, _ request: OrderRequest, _ missing: RebuildReason?, _ note: UnreadNote?,
        in snapshot: Snapshot
    ) throws -> OpenedOrder {
        if let reason = missing ?? note?.reason { return opened.with(.rebuilt(reason)) }
        guard let note else { return opened }
        return opened.with(
            try outcome(since: note, of: request, to: opened.order, in: snapshot), from: note.commit)
    }

    /// Rebuilds a cache for a reader. `transaction` is the one in which the cache was found unusable: if another build
    /// has rebuilt the cache since, opens that cache and reports the rebuild to an exact reader too, because the other
    /// build's reader may fail. If `transaction` is nil, doesn't look for such a cache. May build in memory, for
    /// example because the store is read-only or another build takes too long. `scan` may contain the cache's row keys.
    /// O(n log n).
    package func rebuild(
        _ cache: CacheRequest, _ reason: RebuildReason, since transaction: Int? = nil, from scan: SharedScan? = nil
    ) throws -> CacheReading {
        try CacheDirectory.validate(cache.name)
        hits?.write()
        let start = ContinuousClock.now
        var cache = cache
        // An exact reader must learn of each rebuild, even if this process is killed before it reports the rebuild.
        cache.rebuildNote = cache.needsExactChange ? .rebuild : .none
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
                // The cache of the other build can't be used, for example because its nodes are damaged. So the next
                // build doesn't look for a cache of another build.
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
        if cache.needsExactChange, case .stored(let header) = opened.place { note = UnreadNote(header, reason) }
        return CacheReading(
            cache: cache, opened: opened, snapshot: snapshot, next: nil, note: note,
            duration: ContinuousClock.now - start)
    }

    // MARK: End

    /// The maximum time that ending an exact reading waits for another writer.
    static let readingPatience = Duration.seconds(5)

    /// Stores the order that a reader has received. Doesn't store it if the cache was replaced or caught up meanwhile,
    /// if the caller is writing, or if the store can't be written. Ending an exact reading waits up to `limit` (by
    /// default five seconds) for another writer; after that, it throws `writerBusy`. Other readings aren't stored if
    /// another writer is busy. O(k log n) for k changed nodes.
    package func end(_ reading: CacheReading, limit: Duration? = nil) throws {
        guard reading.hasToBeStored, !store.isReadOnly else { return }
        guard let writer = try writer(for: reading, limit ?? Self.readingPatience) else { return abandon(reading) }
        let stored = try store(reading, in: writer)
        try CacheDirectory.trimLog(in: writer)
        try writer.commit()
        record(reading, isStored: stored != nil || reading.next == nil)
    }

    /// Records in the statistics a catch-up whose order isn't stored in its cache.
    package func abandon(_ reading: CacheReading) { record(reading, isStored: false) }

    private func writer(for reading: CacheReading, _ limit: Duration) throws -> StoreWriter? {
        guard reading.cache.needsExactChange else { return try store.tryBeginWrite() }
        do { return try store.beginWrite(limit: limit, changesRecords: false) } catch {
            switch error {
            // The caller itself is writing, or the store was moved or can't be written.
            case StoreError.wouldWaitForItself, StoreError.moved, StoreError.inaccessible: return nil
            case StoreError.writerBusy:
                abandon(reading)
                throw error
            default: throw error
            }
        }
    }

    /// Stores a reading's order immediately, unless another writer is busy. The reading then uses the stored order,
    /// unless a newer commit exists.
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

    /// Stores what a reader has received, in a writer's transaction: the order in the reading's state, which may be
    /// older than the writer's. Returns nil if no order is stored, for example because the cache was replaced or caught
    /// up meanwhile.
    func store(_ reading: CacheReading, in writer: StoreWriter) throws -> OpenedOrder? {
        let name = reading.cache.name
        // The note is read before the cache changes, because if the list of notes is damaged, the note is made from the
        // cache's header.
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

    /// Stores a reading's order like `end`, in a writer's transaction. If the cache turns out to be damaged, it's
    /// deleted, so that records can be saved.
    package func storeOrDelete(_ reading: CacheReading, in writer: StoreWriter) throws {
        try deletingIfDamaged(reading.cache, in: writer) {
            let stored = try store(reading, in: writer)
            record(reading, isStored: stored != nil || reading.next == nil)
        }
        try CacheDirectory.trimLog(in: writer)
    }
}
