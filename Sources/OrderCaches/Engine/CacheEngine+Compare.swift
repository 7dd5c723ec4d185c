internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexRecords

/// Catches caches up with changes of a large part of their rows: builds the order anew, and compares it with the old
/// one row by row.
extension CacheEngine {
    /// A change of more rows than this share of an order costs less by a comparison than by an edit for each row.
    private static let editedShare = 16

    /// Opens a cache for an exact reader by a comparison. Returns nil if the cache isn't behind by many changes, or if
    /// its exact reader hasn't received earlier changes. The cache is rebuilt immediately; until the reading ends, a
    /// note says that the changes since the cache's old commit are unread. O(n log n).
    func compare(
        _ cache: CacheRequest, _ assessment: CacheAssessment, in snapshot: Snapshot,
        check: (OrderOutcome) throws -> Void
    ) throws -> CacheReading? {
        guard cache.needsExactChange, case .behind(let header, let changes) = assessment,
            Self.isLarge(changes, ofRows: header.rowCount),
            try CacheDirectory.unread(of: cache.name, in: snapshot) == nil
        else { return nil }
        let start = ContinuousClock.now
        try check(.caughtUp(OrderChange()))
        hits?.write()
        let note = UnreadNote(number: header.number, commit: header.commit, reason: nil)
        var request = cache
        request.rebuildNote = .changes(since: note.commit)
        switch try build(request, .tooManyChanges, since: snapshot.transactionNumber) {
        case .built(let opened, let newest):
            let old = try header.order(of: cache.order, in: LMDBNodeStore(header, in: snapshot))
            let outcome = try outcome(since: note, of: cache.order, from: old, to: opened.order, in: newest)
            let told = opened.with(outcome, from: note.commit)
            // A build in memory has left no note.
            return CacheReading(
                cache: cache, opened: told, snapshot: newest, next: nil,
                note: try told.isStored ? CacheDirectory.unread(of: cache.name, in: newest) : nil,
                duration: ContinuousClock.now - start)
        case .byAnother(let assessment, let newest):
            // The other build has deleted the old order.
            return try attempt(cache, assessment, in: newest, missing: .tooManyChanges).opened
        }
    }

    /// The change from an order's rows at a commit to the order in a reader's state.
    private func compare(
        _ old: ComparedRows, to new: SectionedOrder, _ builder: OrderBuilder, since commit: UInt64,
        in reader: StoreReader
    ) throws -> OrderChange<RecordKey> {
        let log = (reader as? Snapshot)?.another() ?? reader
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

    /// Whether a comparison of whole orders probably costs less than an edit for each of this number of changes.
    static func isLarge(_ changes: Int, ofRows rowCount: Int) -> Bool {
        changes > alwaysCaughtUp && changes > rowCount / editedShare
    }

    /// Opens a cache for an exact reader in a snapshot's state; returns `unusable` if it must be rebuilt. If most rows
    /// changed, the cache is rebuilt in the newest state. Costs as much as `begin`.
    package func attemptOrCompare(
        _ cache: CacheRequest, in snapshot: Snapshot
    ) throws -> CacheAttempt<CacheReading> {
        let assessment = try assess(cache, in: snapshot)
        if let reading = try compare(cache, assessment, in: snapshot, check: { _ in }) { return .opened(reading) }
        return try attempt(cache, assessment, in: snapshot)
    }

    /// The outcome for an exact reader, by a comparison of an order at the note's commit with a reader's order.
    private func outcome(
        since note: UnreadNote, of request: OrderRequest, from old: SectionedOrder, to new: SectionedOrder,
        in reader: StoreReader
    ) throws -> OrderOutcome {
        do {
            return OrderOutcome(
                of: try compare(try ComparedRows(of: old), to: new, request.builder, since: note.commit, in: reader))
        } catch  where error.isCacheDamage {
            // The log leads back to the old order, too.
            return try outcome(since: note, of: request, to: new, in: reader)
        } catch StoreError.logTooShort {
            return .rebuilt(.logTooShort)
        } catch  where error.isDamage {
            return .rebuilt(.logTooShort)
        }
    }
}
