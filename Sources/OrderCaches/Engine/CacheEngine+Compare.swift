internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexRecords

/// Catches caches up with changes of a large part of their rows: builds the order anew, and compares it with the old
/// one row by row.
extension CacheEngine {
    /// A change of more than this share of the records costs less by a comparison than by an edit for each row.
    private static let editedShare = 16

    /// Opens a cache for an exact reader by a comparison. Returns nil if the cache isn't renewed: it can then be caught up
    /// in a fork. The snapshot is held during the build, because it has the old order. O(n log n).
    func compare(
        _ cache: CacheRequest, _ assessment: CacheAssessment, in snapshot: Snapshot,
        check: (OrderOutcome<RecordKey>) throws -> Void
    ) throws -> CacheReading? {
        guard cache.needsExactChange, case .behind(let header, _) = assessment,
            let old = try? header.order(of: cache.order, in: LMDBNodeStore(header, in: snapshot))
        else { return nil }
        let start = ContinuousClock.now
        guard var renewed = try renewed(cache, assessment, in: snapshot, check: check), let note = renewed.note else {
            return nil
        }
        // A note that was known before is of an older order than the snapshot's.
        let isOfSnapshot = note.number == header.number && note.commit == header.commit
        let outcome = try outcome(
            since: note, of: cache.order, from: isOfSnapshot ? old : nil, to: renewed.opened.order,
            in: renewed.snapshot)
        renewed.opened = renewed.opened.with(outcome, from: note.commit)
        renewed.note = try CacheDirectory.unread(of: cache.name, in: renewed.snapshot)
        renewed.duration = ContinuousClock.now - start
        return renewed
    }

    /// Rebuilds a cache that is behind by many changes, in the newest state. Until an exact reader has received them, the
    /// reading's note says which changes are unread. Returns nil if the cache isn't behind by many changes, if its exact
    /// reader hasn't received a rebuild, or if the rebuilt order can't be stored soon. O(n log n).
    func renewed(
        _ cache: CacheRequest, _ assessment: CacheAssessment, in snapshot: Snapshot,
        check: (OrderOutcome<RecordKey>) throws -> Void = { _ in }
    ) throws -> CacheReading? {
        guard case .behind(let header, let changes) = assessment,
            try Self.isLarge(changes, of: cache.order.builder, header.rowCount, in: snapshot)
        else { return nil }
        let known = try CacheDirectory.unread(of: cache.name, in: snapshot)
        if known?.reason != nil { return nil }
        try check(.pending)
        hits?.write()
        let note = known ?? UnreadNote(number: header.number, commit: header.commit, reason: nil)
        var request = cache
        request.rebuildNote = .changes(since: note.commit)
        request.writeTimeout = cache.writeTimeout ?? Self.readingPatience
        do {
            // If another process has changed the cache meanwhile, the snapshot still has its old order.
            guard
                case .built(let opened, let newest) = try build(
                    request, .tooManyChanges, since: snapshot.transactionNumber),
                opened.isStored || store.isReadOnly
            else { return nil }
            return CacheReading(cache: cache, opened: opened, snapshot: newest, note: note, hasNewNote: true)
        } catch StoreError.writerBusy, StoreError.moved, StoreError.notSaved { return nil }
    }

    /// The change from an order's rows at a commit to the order in a reader's state.
    func compare(
        _ old: ComparedRows, to new: SectionedOrder, _ builder: OrderBuilder, since commit: UInt64,
        in reader: StoreReader
    ) throws -> OrderChange<RecordKey> {
        let log = reader.store.threads > 1 ? (reader as? Snapshot)?.another() ?? reader : reader
        return try OrderComparison.change(from: old, to: new, threads: log === reader ? 1 : 2) {
            var updated = SparseSet()
            for entity in builder.entities {
                try log.forEachChanged(of: entity, from: commit) { updated.insert($0.rawValue) }
            }
            return updated
        }
    }

    /// The change from the order at a commit to the order in a reader's state, for many changes: sorts the rows that the
    /// order had at the commit. Throws `logTooShort` if the log doesn't reach back to the commit. O(n log n).
    func compare(
        _ builder: OrderBuilder, to new: SectionedOrder, since commit: UInt64, in reader: StoreReader
    ) throws -> OrderChange<RecordKey> {
        var past: [Int: PastRecords] = [:]
        for entity in builder.entities {
            past[entity] = try PastRecords(of: entity, after: commit, through: reader.commit, in: reader)
        }
        let old = try ComparedRows(sorted: builder.sortPast(past, reader), builder.shape)
        return try compare(old, to: new, builder, since: commit, in: reader)
    }

    /// Whether a comparison of whole orders probably costs less than an edit for each of this number of changes. It
    /// reads all records of the order's entities, and all rows.
    static func isLarge(
        _ changes: Int, of builder: OrderBuilder, _ rowCount: Int, in reader: StoreReader
    ) throws -> Bool {
        if changes <= alwaysCaughtUp { return false }
        let records = Int(clamping: try reader.count(of: builder.entities))
        return changes > max(rowCount, records) / editedShare
    }
}
