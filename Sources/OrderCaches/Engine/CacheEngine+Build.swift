internal import FetchIndexModels
internal import FetchIndexRecords

/// Builds a cache, if possible without blocking other writers for long.
///
///     build lock     one build at a time
///     snapshot       place, sort          memory: the request's budget
///     pieces         nodes, one transaction per piece, under their own number, which the store marks
///     last           header with the snapshot's commit, caught up from the log; old nodes and the mark are deleted
extension CacheEngine {
    /// A piece of nodes is written at the latest when it has this many bytes. The number is limited because LMDB keeps
    /// changed pages of a transaction in memory.
    private static let maximumPiece = 16 << 20
    /// The maximum time that a build waits for another build. After it, the order is computed in memory.
    private static let patience = Duration.seconds(60)
    /// The number of attempts to build without blocking other writers. If too much changes during each of them, the
    /// build then blocks other writers.
    private static let maximumAttempts = 3

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
                var reading = CacheReading(cache: cache, opened: opened, snapshot: snapshot)
                if cache.needsExactChange, let header = opened.place.header {
                    reading.note = UnreadNote(header, reason)
                }
                reading.duration = ContinuousClock.now - start
                record(rebuild: reading)
                return reading
            case .byAnother(let assessment, let snapshot):
                switch try attempt(cache, assessment, in: snapshot, mayCompare: false, missing: reason) {
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

    /// The result of a build.
    enum Built {
        case built(OpenedOrder, Snapshot)
        /// Another build has built the cache while this one waited for it. The cache may be behind again.
        case byAnother(CacheAssessment, Snapshot)
    }

    /// Builds a cache. `transaction` is the one in which the cache was found unusable: if another build has built the
    /// cache since, its result is used. If `transaction` is nil, doesn't look for such a result. Builds in memory if
    /// the store is read-only, if another build takes longer than `patience` or the write timeout, if this thread is
    /// building already, or if this store object has an open writer: the writer may be the caller's own, and waiting
    /// for it would be a deadlock.
    func build(
        _ cache: CacheRequest, _ reason: RebuildReason, since transaction: Int?, from scan: SharedScan? = nil
    ) throws -> Built {
        try CacheDirectory.requireReplaceable(cache, in: store.snapshot())
        let limit = min(Self.patience, cache.writeTimeout ?? Self.patience)
        guard !store.isReadOnly, !store.hasOpenWriter, let build = try store.beginBuild(limit: limit) else {
            return try computeAtNewest(cache.order, .rebuilt(reason))
        }
        defer { withExtendedLifetime(build) {} }
        if let transaction, let other = try builtByAnother(cache, since: transaction) { return other }
        try removeLeftovers(limit: cache.writeTimeout)
        var scan = scan?.takeKeys(of: cache.name)
        let pieceLength = min(Self.maximumPiece, max(cache.order.builder.memoryBudget / 4, 1 << 16))
        for _ in 0..<Self.maximumAttempts {
            let pieces = PieceNodeStore(store, pieceLength: pieceLength, limit: cache.writeTimeout)
            do {
                if let built = try buildOnce(cache, reason, build, pieces, scan) { return built }
            } catch {
                // The pieces aren't needed any more. If they can't be deleted now, the next build deletes them.
                try? pieces.discard()
                throw error
            }
            try pieces.discard()
            scan = nil
        }
        let writer = try store.beginWrite(limit: cache.writeTimeout, changesRecords: false)
        try Self.requireEntity(of: cache.order, in: writer)
        return try commit(rebuild(cache, reason, in: writer), writer)
    }

    /// The cache, if another build has built it while this build waited; nil if the cache is still unusable.
    private func builtByAnother(_ cache: CacheRequest, since transaction: Int) throws -> Built? {
        let snapshot = try store.snapshot()
        // If no transaction was committed since, the cache is still unusable.
        if snapshot.transactionNumber == transaction { return nil }
        let assessment = try assess(cache, in: snapshot)
        return assessment.unusable == nil ? .byAnother(assessment, snapshot) : nil
    }

    private func commit(_ opened: OpenedOrder, _ writer: StoreWriter) throws -> Built {
        try CacheDirectory.trimLog(in: writer)
        let snapshot = try writer.commitAndRead()
        return .built(opened.reopened(in: snapshot), snapshot)
    }

    func computeAtNewest(_ request: OrderRequest, _ outcome: OrderOutcome<RecordKey>) throws -> Built {
        let snapshot = try store.snapshot()
        return .built(try Self.compute(request, in: snapshot, outcome), snapshot)
    }

    /// Deletes the nodes that a killed or failed build left in the store.
    private func removeLeftovers(limit: Duration?) throws {
        guard try store.snapshot().markedBuild() != nil else { return }
        let writer = try store.beginWrite(limit: limit, changesRecords: false)
        guard let left = try writer.markedBuild() else { return }
        try LMDBNodeStore.deleteNodes(of: left, in: writer)
        try writer.markBuild(nil)
        try writer.commit()
    }

    /// Throws if the entity of a request was removed after the request was compiled.
    private static func requireEntity(of request: OrderRequest, in reader: StoreReader) throws {
        let entities = reader.model.entities
        guard request.builder.entities.allSatisfy({ entities.indices.contains($0) && !entities[$0].isDropped }) else {
            throw StoreError.unknownEntity(request.identity.entity)
        }
    }

    /// Tries once to build a cache. Returns nil if the built cache is unusable in the newest state, for example because
    /// too much has changed during the build. A snapshot that this function opens is released when it returns, so that
    /// a failed attempt no longer keeps writers from reusing pages.
    private func buildOnce(
        _ cache: CacheRequest, _ reason: RebuildReason, _ build: StoreBuild, _ pieces: PieceNodeStore,
        _ scan: SharedScan.Keys?
    ) throws -> Built? {
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
        let oldNumber = try deleteNodes(replacedBy: cache, in: writer)
        let number = try pieces.finish(in: writer)
        var header = CacheHeader(replacing: cache, number: number, in: writer)
        header.take(order, commit: start, time: currentTime())
        try CacheDirectory.put(header, in: writer)
        // The cache is caught up without `needsExactChange`, since a long catch-up would block other writers.
        let plain = CacheRequest(name: cache.name, order: cache.order)
        let assessment = start == writer.commit ? .current(header) : try assess(plain, in: writer)
        if assessment.unusable != nil { return nil }
        let opened = try placed(plain, assessment, in: writer)
        if let built = opened.place.header { try noteRebuild(built, of: cache, reason, in: writer) }
        let committed = try commit(opened.with(.rebuilt(reason), from: nil), writer)
        if let oldNumber { statistics.transfer(from: oldNumber, to: number) }
        return committed
    }
}
