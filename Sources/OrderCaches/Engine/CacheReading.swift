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
    package let opened: OpenedOrder
    package let snapshot: Snapshot
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

    /// Whether the reader has had all that another note says is unread.
    func hasRead(_ other: UnreadNote?) -> Bool {
        guard let other else { return false }
        if other == note { return true }
        // Meanwhile another reader has had some of the same changes, or a writer has brought the cache further.
        guard other.reason == nil, note?.reason == nil, let start = note?.commit ?? opened.start else { return false }
        return (start...max(start, snapshot.commit)).contains(other.commit)
    }
}

extension CacheEngine {
    /// How long the end of an exact reading waits for another writer.
    private static let readingPatience = Duration.seconds(5)

    /// What can be opened without a rebuild.
    private enum Attempt {
        case opened(CacheReading)
        case unusable(RebuildReason)
    }

    /// Opens a cache as `open` does, but leaves it as it is until `end`; where it has to be rebuilt it is rebuilt at once. `check` gets the
    /// outcome before anything is stored, and may throw. Costs as `open`.
    package func begin(_ cache: CacheRequest, check: (OrderOutcome) throws -> Void = { _ in }) throws -> CacheReading {
        try CacheDirectory.validate(cache.name)
        if cache.name.hasPrefix(CacheDirectory.indexPrefix) { throw StoreError.invalidCacheName(cache.name) }
        // The snapshot ends before a build, which may take long.
        let reason: RebuildReason
        switch try attempt(cache, in: store.snapshot()) {
        case .opened(let reading):
            try check(reading.opened.outcome)
            return reading
        case .unusable(let found): reason = found
        }
        try check(.rebuilt(reason))
        return try rebuildForReading(cache, reason)
    }

    /// As `begin`, in the state of a snapshot that a writer has made. Nil, with the reason, where the cache has to be rebuilt.
    package func begin(
        _ cache: CacheRequest, in snapshot: Snapshot
    ) throws -> (reading: CacheReading?, unusable: RebuildReason?) {
        switch try attempt(cache, in: snapshot, isAsked: false) {
        case .opened(let reading): (reading, nil)
        case .unusable(let reason): (nil, reason)
        }
    }

    /// Rebuilds a cache for a reader. Where another one has just rebuilt it, an unforced rebuild opens that, and an exact reader hears of
    /// the rebuild too: each of them may fail.
    package func rebuildForReading(
        _ cache: CacheRequest, _ reason: RebuildReason, isForced: Bool = false
    ) throws -> CacheReading {
        try CacheDirectory.validate(cache.name)
        hits?.write()
        let start = ContinuousClock.now
        var cache = cache
        // Its reader wants to know each change.
        cache.notesRebuilds = cache.needsExactChange
        var (reason, isForced) = (reason, isForced)
        while true {
            let built: (opened: OpenedOrder, snapshot: Snapshot)?
            do { built = try build(cache, reason, isForced: isForced) } catch StoreError.moved where !isForced {
                built = try computeAtNewest(cache.order, .rebuilt(reason))
            }
            if let built {
                record(built, of: cache, since: start)
                return reading(of: cache, rebuilt: built, reason, since: start)
            }
            switch try attempt(cache, in: store.snapshot(), missing: cache.needsExactChange ? reason : nil) {
            case .opened(let reading): return reading
            // Its header alone is usable.
            case .unusable(let found): (reason, isForced) = (found, true)
            }
        }
    }

    private func reading(
        of cache: CacheRequest, rebuilt: (opened: OpenedOrder, snapshot: Snapshot), _ reason: RebuildReason,
        since start: ContinuousClock.Instant
    ) -> CacheReading {
        var note: UnreadNote?
        if cache.notesRebuilds, case .stored(let header) = rebuilt.opened.place { note = UnreadNote(header, reason) }
        return CacheReading(
            cache: cache, opened: rebuilt.opened, snapshot: rebuilt.snapshot, next: nil, note: note,
            duration: ContinuousClock.now - start)
    }

    /// `missing` is the rebuild that an exact reader has waited for. A hit that no reader has asked for is not counted.
    private func attempt(
        _ cache: CacheRequest, in snapshot: Snapshot, missing: RebuildReason? = nil, isAsked: Bool = true
    ) throws -> Attempt {
        let start = ContinuousClock.now
        do {
            let assessment = try assess(cache, in: snapshot)
            switch assessment {
            case .current(let header):
                let opened = try bring(cache, assessment, to: .memory(snapshot))
                let reading = try reading(of: cache, opened, nil, snapshot, missing: missing, since: start)
                // Damage is met by bringing it.
                if case .hit = reading.opened.outcome { noteHit(header, in: snapshot, isAsked: isAsked) }
                return .opened(reading)
            case .behind(let header):
                hits?.write()
                let next: PreparedOrder
                let opened: OpenedOrder
                do {
                    next = try edited(header, cache, LMDBNodeStore(header, in: snapshot), snapshot, nil)
                    let outcome = OrderOutcome(of: try next.change())
                    opened = OpenedOrder(next.fork.order, outcome, in: .fork(header), from: header.commit)
                } catch is TooManyDependents {
                    return .unusable(.tooManyChanges)
                } catch  where error.isDamage {
                    return .unusable(.damaged)
                }
                return .opened(
                    try reading(
                        of: cache, opened, store.isReadOnly ? nil : next, snapshot, missing: missing, since: start))
            case .unusable(let found):
                // A rebuild gives the cache another number.
                hits?.write()
                return .unusable(found)
            }
        } catch  where error.isCacheDamage {
            return .unusable(.damaged)
        }
    }

    private func reading(
        of cache: CacheRequest, _ opened: OpenedOrder, _ next: PreparedOrder?, _ snapshot: Snapshot,
        missing: RebuildReason?, since start: ContinuousClock.Instant
    ) throws -> CacheReading {
        var opened = opened
        let note = cache.needsExactChange ? try CacheDirectory.unread(of: cache.name, in: snapshot) : nil
        if let reason = missing ?? note?.reason {
            opened = opened.with(.rebuilt(reason))
        } else if let note, opened.change != nil {
            let unread = try outcome(since: note, of: cache.order, to: opened.order, in: snapshot)
            opened = opened.with(unread, from: note.commit)
        }
        return CacheReading(
            cache: cache, opened: opened, snapshot: snapshot, next: next, note: note,
            duration: ContinuousClock.now - start)
    }

    /// Stores what a reader has had. Does nothing when the cache is another one by now, or the store cannot be written. An exact reading
    /// waits for another writer, up to a limit, and throws `writerBusy` then; without one of its own, five seconds. Any other does not
    /// wait. O(k log k) for k nodes.
    package func end(_ reading: CacheReading, limit: Duration? = nil) throws {
        guard reading.hasToBeStored, !store.isReadOnly else { return }
        guard let writer = try writer(for: reading, limit ?? Self.readingPatience) else { return abandon(reading) }
        try store(reading, andCommit: writer)
    }

    private func store(_ reading: CacheReading, andCommit writer: StoreWriter) throws {
        let isStored = try store(reading, in: writer)
        try CacheDirectory.trimLog(in: writer)
        try writer.commit()
        record(reading, isStored: isStored)
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

    /// Stores what a reader has had in a writer's transaction: the order of the reading's state, which may be older than the writer's.
    /// False when the cache is another one by now.
    @discardableResult
    package func store(_ reading: CacheReading, in writer: StoreWriter) throws -> Bool {
        let name = reading.cache.name
        // Before the cache changes: where the list is damaged, its header stands for the note.
        let hasRead =
            try reading.cache.needsExactChange && reading.hasRead(CacheDirectory.unread(of: name, in: writer))
        let isStored = try storeOrder(of: reading, in: writer)
        if hasRead { try CacheDirectory.setRead(upTo: reading.snapshot.commit, name, in: writer) }
        return isStored
    }

    private func storeOrder(of reading: CacheReading, in writer: StoreWriter) throws -> Bool {
        guard let next = reading.next else { return true }
        guard let header = try? CacheDirectory.header(reading.cache.name, in: writer),
            header.hasSameNodes(as: next.header), header.commit <= reading.snapshot.commit
        else { return false }
        var hasChanged = false
        if case .caughtUp = reading.opened.outcome { hasChanged = true }
        _ = try publish(
            next, hasChanged: hasChanged, over: header, in: LMDBNodeStore(header, writingIn: writer), writer,
            at: reading.snapshot.commit)
        return true
    }

    /// The same; a cache that is found damaged then is deleted: it must not keep records from being saved.
    package func storeOrDelete(_ reading: CacheReading, in writer: StoreWriter) throws {
        do { record(reading, isStored: try store(reading, in: writer)) } catch  where error.isDamage {
            _ = try directory.delete(reading.cache.name, in: writer)
        }
        try CacheDirectory.trimLog(in: writer)
    }

    /// Brings a cache to the state of a snapshot, which its reader has had, unless a writer is busy or the cache is there or further. What
    /// the reader has had counts as a catch-up. O(k log n) for k changes; O(n log n) for a cache that cannot be caught up.
    package func advance(_ cache: CacheRequest, to snapshot: Snapshot) throws {
        guard !store.isReadOnly, !store.hasOpenWriter else { return }
        switch try attempt(cache, in: snapshot, isAsked: false) {
        case .opened(let reading):
            guard reading.hasToBeStored else { return }
            guard let writer = try store.tryBeginWrite() else { return abandon(reading) }
            try store(reading, andCommit: writer)
        case .unusable(let reason):
            guard reason.isOfState, let writer = try store.tryBeginWrite(), writer.commit == snapshot.commit else {
                return
            }
            try rebuildOrDelete(cache, reason, readUpTo: snapshot.commit, in: writer)
            try writer.commit()
        }
    }

    /// Rebuilds a cache in a writer's transaction, whose reader has had the state of a commit, which may be older; one whose records are
    /// damaged is deleted, so that these do not keep others from being saved. O(n log n).
    package func rebuildOrDelete(
        _ cache: CacheRequest, _ reason: RebuildReason, readUpTo commit: UInt64, in writer: StoreWriter
    ) throws {
        do {
            _ = try bring(cache, .unusable(reason), to: .cache(writer))
            try CacheDirectory.setRead(upTo: commit, cache.name, in: writer)
        } catch  where error.isDamage {
            _ = try directory.delete(cache.name, in: writer)
        }
        try CacheDirectory.trimLog(in: writer)
    }

    /// Why a cache has to be rebuilt; nil when it can be used. O(log n).
    package func unusable(_ cache: CacheRequest) throws -> RebuildReason? {
        if case .unusable(let reason) = try assess(cache, in: store.snapshot()) { reason } else { nil }
    }
}
