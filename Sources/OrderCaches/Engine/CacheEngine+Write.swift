internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexRecords

/// Orders that a writer opens in its own transaction: their caches are current in the state that it commits.
extension CacheEngine {
    /// For whom a writer opens caches.
    package enum Purpose {
        /// For readers of live orders, who want the change. A cache that is missing or belongs to another request by now is left as it is.
        case following
        /// For nobody: the cache is to be current in every state. One that belongs to another request by now is left as it is.
        case keeping
        /// For nobody: the cache is to be there, whatever it was. Damage of records is thrown.
        case establishing

        /// Whether a cache is left as it is, which is unusable for a reason.
        func leaves(_ cache: CacheRequest, _ reason: RebuildReason) -> Bool {
            switch self {
            case .following: !reason.isOfState
            case .keeping:
                !reason.isOfState && reason != .formatChanged && !CacheDirectory.isIndex(cache.name)
            case .establishing: false
            }
        }
    }

    /// What became of a cache in a writer's transaction.
    package enum Written {
        case opened(OpenedOrder)
        /// The cache was left as it is, or deleted.
        case left(RebuildReason)

        package var opened: OpenedOrder? { if case .opened(let opened) = self { opened } else { nil } }

        package var outcome: OrderOutcome {
            switch self {
            case .opened(let opened): opened.outcome
            case .left(let reason): .rebuilt(reason)
            }
        }
    }

    /// Brings caches to the commit of a sealed writer, in its transaction. One that is damaged, or too far behind, is built from all
    /// records. One that cannot be built, because records are damaged, is deleted: damaged records must not stop other saves; and it is
    /// not built again here, because each save would try. Orders that were prepared have pending changes, which
    /// `PreparedOrders.changes` computes. O(k log n) for k changes.
    @discardableResult
    package func open(
        _ caches: [CacheRequest], in writer: StoreWriter, for purpose: Purpose, known: KnownChanges? = nil
    ) throws -> [String: Written] {
        var written: [String: Written] = [:]
        for cache in caches { written[cache.name] = try openUntrimmed(cache, in: writer, for: purpose, known) }
        if !caches.isEmpty { try CacheDirectory.trimLog(in: writer) }
        return written
    }

    /// As above, for one cache.
    package func open(_ cache: CacheRequest, in writer: StoreWriter, for purpose: Purpose) throws -> Written {
        let written = try openUntrimmed(cache, in: writer, for: purpose, nil)
        try CacheDirectory.trimLog(in: writer)
        return written
    }

    private func openUntrimmed(
        _ cache: CacheRequest, in writer: StoreWriter, for purpose: Purpose, _ known: KnownChanges?
    ) throws -> Written {
        let assessment = try assess(cache, in: writer)
        if let reason = assessment.unusable, purpose.leaves(cache, reason) { return .left(reason) }
        var cache = cache
        if case .keeping = purpose {
            // The cache advances without its reader.
            if !CacheDirectory.isIndex(cache.name) { try CacheDirectory.noteRead(of: cache.name, in: writer) }
            // Of a header that cannot be read, it is not known what its reader has had.
            cache.notesRebuilds = true
        }
        let isFollowed = if case .following = purpose { true } else { false }
        do {
            return .opened(try open(cache, assessment, in: writer, known: known, wantsChange: isFollowed))
        } catch  where error.isDamage {
            if case .establishing = purpose { throw error }
            _ = try directory.delete(cache.name, in: writer)
            return .left(.damaged)
        }
    }

    /// Opens an assessed cache and stores its order. After an error, the nodes of the cache are half changed: it is to be deleted, or the
    /// writer to be dropped.
    func open(
        _ cache: CacheRequest, _ assessment: CacheAssessment, in writer: StoreWriter, known: KnownChanges? = nil,
        wantsChange: Bool
    ) throws -> OpenedOrder {
        switch try find(cache, assessment, in: writer, known: known, wantsChange: wantsChange) {
        case .opened(let opened, let next):
            guard let header = assessment.header else { return opened }
            return try store(opened, next, over: header, in: writer, at: writer.commit)
        case .unusable(let reason): return try rebuild(cache, reason, in: writer)
        }
    }

    /// Makes an opened order of a commit its cache's order. Without edits the cache takes the commit alone: else the log could be cut
    /// below it.
    func store(
        _ opened: OpenedOrder, _ next: PreparedOrder?, over old: CacheHeader, in writer: StoreWriter, at commit: UInt64
    ) throws -> OpenedOrder {
        var header = old
        if let next, !next.edits.isEmpty {
            let order = try next.fork.publish(to: LMDBNodeStore(old, writingIn: writer))
            header.take(order, commit: commit, time: currentTime())
            header.catchUps &+= 1
        }
        header.commit = commit
        if next != nil || commit != old.commit { try CacheDirectory.put(header, in: writer) }
        return opened.stored(header, in: writer)
    }

    /// Builds a cache from all records, in a writer's transaction. O(n log n).
    func rebuild(_ cache: CacheRequest, _ reason: RebuildReason, in writer: StoreWriter) throws -> OpenedOrder {
        try CacheDirectory.requireReplaceable(cache, in: writer)
        let ownNumber = try CacheDirectory.number(of: cache.name, in: writer)
        if let ownNumber { try LMDBNodeStore.deleteNodes(of: ownNumber, in: writer) }
        let number = try ownNumber ?? CacheDirectory.newNumber(in: writer)
        var header = CacheHeader(replacing: cache, number: number, in: writer)
        let order = try cache.order.builder.build(from: writer, in: LMDBNodeStore(header, writingIn: writer))
        header.take(order, commit: writer.commit, time: currentTime())
        try CacheDirectory.put(header, in: writer)
        try noteRebuild(header, of: cache, reason, in: writer)
        return OpenedOrder(order, .rebuilt(reason), in: .stored(header))
    }

    /// Notes that the exact reader of a cache has not had its rebuild: one who waits for it, or one who has not had an earlier change.
    /// Indexes have no such readers.
    func noteRebuild(
        _ header: CacheHeader, of cache: CacheRequest, _ reason: RebuildReason, in writer: StoreWriter
    ) throws {
        guard !CacheDirectory.isIndex(cache.name),
            try cache.notesRebuilds || CacheDirectory.unread(of: cache.name, in: writer) != nil
        else { return }
        try CacheDirectory.setUnread(UnreadNote(header, reason), cache.name, in: writer)
    }

    /// Rebuilds a cache in a writer's transaction, whose exact reader has had the state of a commit, which may be older. One whose records
    /// are damaged is deleted, so that these do not keep others from being saved. O(n log n).
    @discardableResult
    package func rebuildOrDelete(
        _ cache: CacheRequest, _ reason: RebuildReason, readUpTo commit: UInt64, in writer: StoreWriter
    ) throws -> OpenedOrder? {
        var rebuilt: OpenedOrder?
        do {
            rebuilt = try rebuild(cache, reason, in: writer)
            if cache.needsExactChange { try CacheDirectory.setRead(upTo: commit, cache.name, in: writer) }
        } catch  where error.isDamage {
            _ = try directory.delete(cache.name, in: writer)
        }
        try CacheDirectory.trimLog(in: writer)
        return rebuilt
    }

    /// Builds a cache anew in one transaction, when the change of an order that was opened cannot be found. Does nothing when the
    /// cache is not that one any more. Throws `writerBusy` when it waits longer than a limit. O(n log n).
    package func rebuild(_ cache: CacheRequest, of opened: OpenedOrder, limit: Duration?) throws {
        let writer = try store.beginWrite(limit: limit, changesRecords: false)
        guard let header = opened.place.header,
            try CacheDirectory.number(of: cache.name, in: writer) == header.number
        else { return }
        try rebuildOrDelete(cache, .damaged, readUpTo: writer.commit, in: writer)
        try writer.commit()
    }
}
