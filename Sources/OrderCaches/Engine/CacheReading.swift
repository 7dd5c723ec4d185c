internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexRecords

/// An order that was opened for a reader whose output may fail. The order is stored in the cache when the reader is
/// done.
///
///     open   the order, caught up in a fork; the cache isn't changed (`Writing.atEnd`)
///     ...    the reader prints the changes, and flushes
///     end    the fork is stored as the cache's order
///
/// If the reader fails or is killed before the end, the next opening reports the change again, unless the cache was
/// caught up meanwhile. But a rebuilt cache is stored before the reader has received it, and writers catch maintained
/// caches up. For these caches, a note in the store says what an exact reader (one that must receive each change)
/// hasn't received.
package struct CacheReading {
    package let cache: CacheRequest
    package internal(set) var opened: OpenedOrder
    package internal(set) var snapshot: Snapshot
    /// The note of what the exact reader hadn't received before this reading, or of the rebuild that this reading made;
    /// nil if there isn't one, or if the reader isn't exact.
    var note: UnreadNote?
    /// Whether this reading made the note, so that its end must update it.
    var hasNewNote = false
    var duration = Duration.zero

    /// Whether `end` has an order or a note to store.
    var hasToBeStored: Bool {
        guard let note else { return opened.isFork }
        guard !opened.isFork, !hasNewNote, note.reason == nil, case .hit = opened.outcome else { return true }
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

// MARK: End

extension CacheEngine {
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
        record(reading, isStored: stored != nil || !reading.opened.isFork)
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
        return try store(reading.opened, over: header, in: writer, at: reading.snapshot.commit)
    }

    /// Ends a reading in a writer's transaction. If the cache turns out to be damaged, it's deleted, so that records
    /// can be saved.
    package func end(_ reading: CacheReading, in writer: StoreWriter) throws {
        try deletingIfDamaged(reading.cache, in: writer) {
            let stored = try store(reading, in: writer)
            record(reading, isStored: stored != nil || !reading.opened.isFork)
        }
        try CacheDirectory.trimLog(in: writer)
    }
}
