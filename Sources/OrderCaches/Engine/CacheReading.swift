internal import Bytes
package import Models
package import Records

/// An order that was opened for a reader, whose output may fail. The cache takes it when the reader is done.
///
///     begin    the order, caught up in a fork; the cache stays as it is
///     ...      the reader prints what changed, and flushes
///     end      the fork becomes the cache's order
///
/// When the reader fails or is killed before the end, the next opening reports the same change again. A rebuild is stored at once,
/// and noted as unread until the end, so that the next opening reports it again too.
package struct CacheReading {
    package let cache: CacheRequest
    package let opened: OpenedOrder
    package let snapshot: Snapshot
    /// What the cache is to take; nil when it has the order already, or cannot take it.
    let next: CacheEngine.PreparedOrder?
    /// Whether the rebuild that the reader gets is noted as unread.
    let isUnread: Bool
    let duration: Duration
}

extension CacheEngine {
    /// How long the end of an exact reading waits for another writer.
    private static let readingPatience = Duration.seconds(60)

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

    /// As `begin`, in the state of a snapshot. Nil, with the reason, where the cache has to be rebuilt.
    package func begin(
        _ cache: CacheRequest, in snapshot: Snapshot
    ) throws -> (reading: CacheReading?, unusable: RebuildReason?) {
        switch try attempt(cache, in: snapshot) {
        case .opened(let reading): (reading, nil)
        case .unusable(let reason): (nil, reason)
        }
    }

    /// Rebuilds a cache for a reader; an unforced rebuild may give what another one has just built.
    package func rebuildForReading(
        _ cache: CacheRequest, _ reason: RebuildReason, isForced: Bool = false
    ) throws -> CacheReading {
        let start = ContinuousClock.now
        var cache = cache
        // Its reader wants to know each change.
        cache.notesRebuilds = cache.needsExactChange
        let (opened, snapshot) = try rebuild(cache, reason, isForced: isForced)
        return CacheReading(
            cache: cache, opened: opened, snapshot: snapshot, next: nil,
            isUnread: cache.notesRebuilds && opened.isStored, duration: ContinuousClock.now - start)
    }

    private func attempt(_ cache: CacheRequest, in snapshot: Snapshot) throws -> Attempt {
        let start = ContinuousClock.now
        let reason = cache.needsExactChange ? try CacheDirectory.unreadReason(of: cache.name, in: snapshot) : nil
        func reading(_ opened: OpenedOrder, _ next: PreparedOrder?) -> Attempt {
            .opened(
                CacheReading(
                    cache: cache, opened: reason.map { opened.with(.rebuilt($0)) } ?? opened, snapshot: snapshot,
                    next: next, isUnread: reason != nil, duration: ContinuousClock.now - start))
        }
        switch try assess(cache, in: snapshot) {
        case .current(let header):
            let opened = try bring(cache, .current(header), to: .memory(snapshot))
            // Damage is met by bringing it.
            if case .hit = opened.outcome { noteHit(header, in: snapshot) }
            return reading(opened, nil)
        case .behind(let header):
            hits?.write()
            do {
                let next = try edited(header, cache, LMDBNodeStore(header, in: snapshot), snapshot, nil)
                let outcome = OrderOutcome(of: try next.change())
                let opened = OpenedOrder(next.fork.order, outcome, in: .fork(header), from: header.commit)
                return reading(opened, store.isReadOnly ? nil : next)
            } catch is TooManyDependents {
                return .unusable(.tooManyChanges)
            } catch  where error.isDamage {
                return .unusable(.damaged)
            }
        case .unusable(let found):
            // A rebuild gives the cache another number.
            hits?.write()
            return .unusable(found)
        }
    }

    /// Stores what a reader has had. Does nothing when the cache is another one by now, or the store cannot be written. An exact reading
    /// waits for another writer, up to a limit, and throws `writerBusy` then; without one of its own, one minute. Any other does not wait.
    /// O(k log k) for k nodes.
    package func end(_ reading: CacheReading, limit: Duration? = nil) throws {
        guard reading.next != nil || reading.isUnread, !store.isReadOnly else { return }
        guard let writer = try writer(for: reading, limit ?? Self.readingPatience) else { return abandon(reading) }
        let isStored = try store(reading, in: writer)
        try CacheDirectory.trimLog(in: writer)
        try writer.commit()
        if reading.next != nil { record(reading, isStored: isStored) }
    }

    /// Remembers the opening of an order that its cache does not take.
    package func abandon(_ reading: CacheReading) { if reading.next != nil { record(reading, isStored: false) } }

    private func writer(for reading: CacheReading, _ limit: Duration) throws -> StoreWriter? {
        guard reading.cache.needsExactChange else { return try store.tryBeginWrite() }
        do { return try store.beginWrite(limit: limit, changesRecords: false) } catch {
            switch error {
            // The caller writes itself.
            case StoreError.wouldWaitForItself, StoreError.moved, StoreError.inaccessible: return nil
            default: throw error
            }
        }
    }

    /// Stores what a reader has had in a writer's transaction: the order of the reading's state, which may be older than the writer's.
    /// False when the cache is another one by now.
    @discardableResult
    package func store(_ reading: CacheReading, in writer: StoreWriter) throws -> Bool {
        if reading.isUnread { try CacheDirectory.setUnread(nil, reading.cache.name, in: writer) }
        guard let next = reading.next, let header = try? CacheDirectory.header(reading.cache.name, in: writer),
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
        do { try store(reading, in: writer) } catch  where error.isDamage {
            _ = try directory.delete(reading.cache.name, in: writer)
        }
        try CacheDirectory.trimLog(in: writer)
    }

    /// Brings a cache to the state of a snapshot, which its reader has had, unless a writer is busy or the cache is there or further.
    /// O(k log n) for k changes; O(n log n) for a cache that cannot be caught up.
    package func advance(_ cache: CacheRequest, to snapshot: Snapshot) throws {
        guard !store.isReadOnly, !store.hasOpenWriter else { return }
        switch try attempt(cache, in: snapshot) {
        case .opened(let reading):
            guard reading.next != nil || reading.isUnread, let writer = try store.tryBeginWrite() else { return }
            try store(reading, in: writer)
            try CacheDirectory.trimLog(in: writer)
            try writer.commit()
        case .unusable(let reason):
            guard reason.isOfState, let writer = try store.tryBeginWrite(), writer.commit == snapshot.commit else {
                return
            }
            try rebuildOrDelete(cache, reason, in: writer)
            try writer.commit()
        }
    }

    /// Rebuilds a cache in a writer's transaction; one whose records are damaged is deleted, so that these do not keep others from
    /// being saved. O(n log n).
    package func rebuildOrDelete(_ cache: CacheRequest, _ reason: RebuildReason, in writer: StoreWriter) throws {
        do { _ = try bring(cache, .unusable(reason), to: .cache(writer)) } catch  where error.isDamage {
            _ = try directory.delete(cache.name, in: writer)
        }
        try CacheDirectory.trimLog(in: writer)
    }

    /// Whether the name of a cache is that of no cache, or of one of another request. O(log n).
    package func isOfOtherRequest(_ cache: CacheRequest) throws -> Bool {
        if case .unusable(let reason) = try assess(cache, in: store.snapshot()) { !reason.isOfState } else { false }
    }
}
