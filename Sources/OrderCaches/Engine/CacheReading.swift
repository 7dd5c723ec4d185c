internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexRecords

/// An order that was opened for a reader, whose output may fail. The cache takes it when the reader is done.
///
///     begin    the order, caught up in a fork; the cache stays as it is
///     ...      the reader prints what changed, and flushes
///     end      the fork becomes the cache's order
///
/// When the reader fails or is killed before the end, the next opening reports the same change again. A rebuild is stored at once, and a
/// maintained cache advances with each writer: a note says then until the end what an exact reader has not had.
package struct CacheReading {
    package let cache: CacheRequest
    package internal(set) var opened: OpenedOrder
    package internal(set) var snapshot: Snapshot
    /// What the cache is to take; nil when it has the order already, or cannot take it.
    let next: CacheEngine.PreparedOrder?
    /// What the reader had not had before; nil without a note.
    let note: UnreadNote?
    let duration: Duration

    /// Whether the end has anything to store.
    var hasToBeStored: Bool {
        guard let note else { return next != nil }
        guard next == nil, note.reason == nil, case .hit = opened.outcome else { return true }
        // Not after each hit.
        return snapshot.commit &- note.commit > CacheEngine.idleCommits
    }

    /// Whether its cache is current, but keeps the log.
    var isIdle: Bool {
        guard case .stored(let header) = opened.place, header.commit < snapshot.commit else { return false }
        return snapshot.commit - header.commit > CacheEngine.idleCommits
    }

    /// Whether the reader has had all that another note says is unread.
    func hasRead(_ other: UnreadNote?) -> Bool {
        guard let other else { return false }
        if other == note { return true }
        // Meanwhile another reader has had some of the same changes, or a writer has brought the cache further.
        guard other.reason == nil, note?.reason == nil, let start = note?.commit ?? opened.start else { return false }
        return (start...max(start, snapshot.commit)).contains(other.commit)
    }
}

// MARK: Begin

extension CacheEngine {
    /// What can be opened without a rebuild.
    package enum Attempt {
        case opened(CacheReading)
        case unusable(RebuildReason)
    }

    /// Opens a cache at the newest state, or that of a snapshot, in which it may have been assessed, but leaves it as it is until `end`;
    /// where it has to be rebuilt it is rebuilt at once. `check` gets the outcome before anything is stored, and may throw. Costs as
    /// `open`.
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

    /// Opens a cache in the state of a snapshot, unless it has to be rebuilt. `missing` is the rebuild that an exact reader has waited for.
    package func attempt(
        _ cache: CacheRequest, _ assessment: CacheAssessment? = nil, in snapshot: Snapshot,
        missing: RebuildReason? = nil
    ) throws -> Attempt {
        let start = ContinuousClock.now
        let assessment = try assessment ?? assess(cache, in: snapshot)
        if !assessment.isCurrent {
            // A rebuild gives the cache another number.
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

    /// An opened order with the outcome that an exact reader is told, who has not had what a note says.
    private func told(
        _ opened: OpenedOrder, _ request: OrderRequest, _ missing: RebuildReason?, _ note: UnreadNote?,
        in snapshot: Snapshot
    ) throws -> OpenedOrder {
        if let reason = missing ?? note?.reason { return opened.with(.rebuilt(reason)) }
        guard let note else { return opened }
        return opened.with(
            try outcome(since: note, of: request, to: opened.order, in: snapshot), from: note.commit)
    }

    /// Rebuilds a cache for a reader, unless another one has rebuilt it since a transaction in which it was unusable: then that is opened,
    /// and an exact reader hears of the rebuild too, as each of them may fail. Without such a transaction it is rebuilt in any case. In
    /// memory where the store is read-only, and while a writer of this process is open. `scan` may have its keys. O(n log n).
    package func rebuild(
        _ cache: CacheRequest, _ reason: RebuildReason, since transaction: Int? = nil, from scan: SharedScan? = nil
    ) throws -> CacheReading {
        try CacheDirectory.validate(cache.name)
        hits?.write()
        let start = ContinuousClock.now
        var cache = cache
        // Its reader wants to know each change.
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
                // Its header alone is usable.
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

    /// How long the end of an exact reading waits for another writer.
    private static let readingPatience = Duration.seconds(5)

    /// Stores what a reader has had. Does nothing when the cache is another one by now, or the store cannot be written. An exact reading
    /// waits for another writer, up to a limit, and throws `writerBusy` then; without one of its own, five seconds. Any other does not
    /// wait. O(k log k) for k nodes.
    package func end(_ reading: CacheReading, limit: Duration? = nil) throws {
        guard reading.hasToBeStored, !store.isReadOnly else { return }
        guard let writer = try writer(for: reading, limit ?? Self.readingPatience) else { return abandon(reading) }
        let stored = try store(reading, in: writer)
        try CacheDirectory.trimLog(in: writer)
        try writer.commit()
        record(reading, isStored: stored != nil || reading.next == nil)
    }

    /// Remembers the opening of an order that its cache does not take.
    package func abandon(_ reading: CacheReading) { record(reading, isStored: false) }

    private func writer(for reading: CacheReading, _ limit: Duration) throws -> StoreWriter? {
        guard reading.cache.needsExactChange else { return try store.tryBeginWrite() }
        do { return try store.beginWrite(limit: limit, changesRecords: false) } catch {
            switch error {
            // The caller writes itself.
            case StoreError.wouldWaitForItself, StoreError.moved, StoreError.inaccessible: return nil
            case StoreError.writerBusy:
                abandon(reading)
                throw error
            default: throw error
            }
        }
    }

    /// Stores a reading's order at once, unless a writer is busy. The reading is then read from its cache, unless another commit has come
    /// in between.
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

    /// Stores what a reader has had in a writer's transaction: the order of the reading's state, which may be older than the writer's.
    /// Nil when the cache is another one by now, or further.
    func store(_ reading: CacheReading, in writer: StoreWriter) throws -> OpenedOrder? {
        let name = reading.cache.name
        // Before the cache changes: where the list is damaged, its header stands for the note.
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

    /// As `end`, in the transaction of a writer; a cache that is found damaged then is deleted: it must not keep records from being
    /// saved.
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
