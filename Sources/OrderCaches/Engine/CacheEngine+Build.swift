internal import FetchIndexModels
internal import FetchIndexRecords

/// Building a cache without blocking other writers.
///
///     build lock     one build at a time
///     snapshot       place, sort          memory: the request's budget
///     pieces         nodes, a transaction a piece, under a number of their own that the store marks
///     last           header of the snapshot's commit, caught up from the log; old nodes and the mark are deleted
extension CacheEngine {
    /// The maximum bytes of nodes that one transaction writes: LMDB holds them in memory until it ends.
    private static let maximumPiece = 16 << 20
    /// How long a build waits for another one, before the order is computed in memory.
    private static let patience = Duration.seconds(60)
    /// After so many attempts that end with too many changes, the build blocks other writers.
    private static let maximumAttempts = 3

    /// Builds a cache; an unforced build is nil where another one has just built the cache. Builds in memory when the
    /// store is read-only or this process is writing: the open writer may be the caller's own, and waiting a deadlock.
    func build(
        _ cache: CacheRequest, _ reason: RebuildReason, isForced: Bool = false, from scan: SharedScan? = nil
    ) throws -> (opened: OpenedOrder, snapshot: Snapshot)? {
        try CacheDirectory.requireReplaceable(cache, in: store.snapshot())
        let limit = min(Self.patience, cache.writeTimeout ?? Self.patience)
        guard !store.isReadOnly, !store.hasOpenWriter, let build = try store.beginBuild(limit: limit) else {
            return try computeAtNewest(cache.order, .rebuilt(reason))
        }
        defer { withExtendedLifetime(build) {} }
        if !isForced, try isBuilt(cache) { return nil }
        try removeLeftovers(limit: cache.writeTimeout)
        var scan = scan?.takeKeys(of: cache.name)
        for _ in 0..<Self.maximumAttempts {
            let pieces = PieceNodeStore(
                store, pieceLength: Self.pieceLength(cache.order.builder.memoryBudget), limit: cache.writeTimeout)
            do {
                if let built = try buildOnce(cache, reason, build, pieces, scan) { return built }
            } catch {
                // What was written is of no use; the next build removes what cannot be removed now.
                try? pieces.discard()
                throw error
            }
            try pieces.discard()
            scan = nil
        }
        let writer = try store.beginWrite(limit: cache.writeTimeout, changesRecords: false)
        try Self.requireEntity(of: cache.order, in: writer)
        return try commit(bring(cache, .unusable(reason), to: .cache(writer)), writer)
    }

    private static func pieceLength(_ memoryBudget: Int) -> Int { min(maximumPiece, max(memoryBudget / 4, 1 << 16)) }

    /// Whether another build has ended while this one waited.
    private func isBuilt(_ cache: CacheRequest) throws -> Bool {
        if case .unusable = try assess(cache, in: try store.snapshot()) { false } else { true }
    }

    /// Removes what a killed build has written.
    private func removeLeftovers(limit: Duration?) throws {
        guard try store.snapshot().markedBuild() != nil else { return }
        let writer = try store.beginWrite(limit: limit, changesRecords: false)
        guard let left = try writer.markedBuild() else { return }
        try LMDBNodeStore.deleteNodes(of: left, in: writer)
        try writer.markBuild(nil)
        try writer.commit()
    }

    /// Throws when the entity of a request was dropped since the request was compiled.
    private static func requireEntity(of request: OrderRequest, in reader: StoreReader) throws {
        let entities = reader.model.entities
        guard request.builder.entities.allSatisfy({ entities.indices.contains($0) && !entities[$0].isDropped }) else {
            throw StoreError.unknownEntity(request.identity.entity)
        }
    }

    /// Notes that the exact reader of a cache has not had its rebuild: one who waits for it, or one who has not had an earlier change.
    /// Indexes have no such readers.
    func noteRebuild(
        _ rebuilt: OpenedOrder, of cache: CacheRequest, _ reason: RebuildReason, in writer: StoreWriter
    ) throws {
        guard case .stored(let header) = rebuilt.place, !cache.name.hasPrefix(CacheDirectory.indexPrefix),
            try cache.notesRebuilds || CacheDirectory.unread(of: cache.name, in: writer) != nil
        else { return }
        try CacheDirectory.setUnread(UnreadNote(header, reason), cache.name, in: writer)
    }

    /// Nil when too much has changed during the build. The snapshot ends with this function, so that the pages of a failed build
    /// can be used again.
    private func buildOnce(
        _ cache: CacheRequest, _ reason: RebuildReason, _ build: StoreBuild, _ pieces: PieceNodeStore,
        _ scan: SharedScan.Keys?
    ) throws -> (opened: OpenedOrder, snapshot: Snapshot)? {
        let start: UInt64
        let order: SectionedOrder
        if let scan {
            start = scan.commit
            build.begin(at: start)
            order = try cache.order.builder.build(
                from: scan.sorters, scan.reader ?? store.snapshot(), in: pieces)
        } else {
            let snapshot = try store.snapshot()
            start = snapshot.commit
            build.begin(at: start)
            try Self.requireEntity(of: cache.order, in: snapshot)
            var builder = cache.order.builder
            builder.releasesPages = true
            order = try builder.build(from: snapshot, in: pieces)
        }

        let writer = try store.beginWrite(limit: cache.writeTimeout, changesRecords: false)
        try Self.requireEntity(of: cache.order, in: writer)
        try CacheDirectory.requireReplaceable(cache, in: writer)
        let oldNumber = try CacheDirectory.number(of: cache.name, in: writer)
        if let oldNumber { try LMDBNodeStore.deleteNodes(of: oldNumber, in: writer) }
        let number = try pieces.finish(in: writer)
        var header = CacheHeader(replacing: cache, number: number, in: writer)
        header.take(order, commit: start, time: currentTime())
        try CacheDirectory.put(header, in: writer)
        // Without `needsExactChange`: a long catch-up would block other writers.
        let assessment = try assess(CacheRequest(name: cache.name, order: cache.order), in: writer)
        if case .unusable = assessment { return nil }
        let brought = try bring(cache, assessment, to: .cache(writer)).with(.rebuilt(reason))
        try noteRebuild(brought, of: cache, reason, in: writer)
        let built = try commit(brought, writer)
        if let oldNumber { statistics.transfer(from: oldNumber, to: number) }
        return built
    }
}
