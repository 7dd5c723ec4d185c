internal import CountedTree
internal import Records

extension CacheDirectory {
    /// More commits than these behind, without a change of its entity, and a hit moves the cache's commit on, so that
    /// it does not keep the log.
    private static let idleCommits: UInt64 = 64

    /// Catching up costs about this many times as much for a changed row as building does for a row.
    private static let catchUpCost = 4
    /// So many changes are caught up whatever the order's size: the exact change is worth more than the time.
    private static let alwaysCaughtUp = 10_000

    /// What there is to do for a wanted order.
    enum Decision {
        case hit(CacheHeader)
        case catchUp(CacheHeader)
        case rebuild(RebuildReason)
    }

    /// Opens the order of a request under a name: as it is, caught up from the change log, or rebuilt.
    ///
    /// A hit costs O(log n), catching up O(k log n) for k changes, a rebuild O(n log n). Where the store is read-only
    /// or was moved, or another writer is busy, the order is caught up in memory and the cache stays as it was; a rebuild waits for
    /// its turn. With `wantsChange` the exact change is computed at any cost, as long as the log reaches back.
    package func open(_ name: String, _ request: OrderRequest, wantsChange: Bool = false) throws -> OpenedOrder {
        try Self.validate(name)
        switch try openUnlessRebuilt(name, request, wantsChange: wantsChange) {
        case .success(let opened): return opened
        case .failure(let needed):
            do {
                return try build(name, request, needed.reason, wantsChange: wantsChange)
            } catch StoreError.moved {
                return try compute(request, in: try store.snapshot(), .rebuilt(needed.reason))
            }
        }
    }

    private struct RebuildNeeded: Error {
        let reason: RebuildReason
    }

    /// Its snapshot ends with it: a build may take long.
    private func openUnlessRebuilt(
        _ name: String, _ request: OrderRequest, wantsChange: Bool
    ) throws -> Result<OpenedOrder, RebuildNeeded> {
        let snapshot = try store.snapshot()
        switch try decide(name, request, in: snapshot, wantsChange: wantsChange) {
        case .hit(let header): return .success(try hit(header, request, snapshot))
        case .catchUp(let header):
            guard !store.isReadOnly, let writer = try store.tryBeginWrite() else {
                return .success(try catchUpInMemory(header, request, snapshot))
            }
            return .success(try bringUpToDate(name, request, writer, wantsChange: wantsChange))
        case .rebuild(let reason): return .failure(RebuildNeeded(reason: reason))
        }
    }

    /// Computes a named order from all records. Where the store is read-only, or a writer of this process is open, in
    /// memory. O(n log n).
    package func rebuild(_ name: String, _ request: OrderRequest, _ reason: RebuildReason) throws -> OpenedOrder {
        try Self.validate(name)
        return try build(name, request, reason, isForced: true)
    }

    /// The order of a request without a name, in memory. O(n log n).
    package func compute(_ request: OrderRequest) throws -> OpenedOrder {
        try compute(request, in: try store.snapshot(), .computed)
    }

    func compute(
        _ request: OrderRequest, in snapshot: Snapshot, _ outcome: OrderOutcome
    ) throws -> OpenedOrder {
        let nodes = MemoryNodeStore(capacity: LMDBNodeStore.nodeCapacity)
        var builder = request.builder
        // What is mended is mended from records.
        if outcome == .rebuilt(.damaged) { builder.candidates = { _ in nil } }
        return OpenedOrder(order: try builder.build(from: snapshot, in: nodes), outcome: outcome, snapshot: snapshot)
    }

    func decide(
        _ name: String, _ request: OrderRequest, in reader: StoreReader, wantsChange: Bool = false
    ) throws -> Decision {
        let header: CacheHeader
        do {
            guard let found = try Self.header(name, in: reader) else { return .rebuild(.first) }
            header = found
        } catch let error as UnusableHeader {
            return .rebuild(error.reason)
        }
        if let reason = header.identity.difference(from: request.identity) { return .rebuild(reason) }
        if header.commit == reader.commit { return .hit(header) }
        guard reader.logReaches(back: header.commit) else { return .rebuild(.logTooShort) }
        let entity = request.builder.entity
        // A log that cannot be read is as good as one that is too short.
        guard let behind = try? reader.changeCount(of: entity, after: header.commit) else {
            return .rebuild(.logTooShort)
        }
        if behind == 0 { return .hit(header) }
        if wantsChange { return .catchUp(header) }
        let records = Int(clamping: try reader.entityState(entity).count)
        let isTooMuch = behind > records / Self.catchUpCost + Self.alwaysCaughtUp
        return isTooMuch ? .rebuild(.tooManyChanges) : .catchUp(header)
    }

    func order(_ header: CacheHeader, _ request: OrderRequest, in reader: StoreReader) throws -> SectionedOrder {
        let nodes = LMDBNodeStore(in: reader, cache: header.number, nextNode: header.nextNode)
        return try header.order(entity: request.builder.entity, shape: request.builder.shape, in: nodes)
    }

    private func hit(_ header: CacheHeader, _ request: OrderRequest, _ snapshot: Snapshot) throws -> OpenedOrder {
        HitCounters(inFolder: store.path).count(header.number, time: Self.now())
        // Moving on is a courtesy to the log; that it failed does not spoil the hit.
        if snapshot.commit - header.commit > Self.idleCommits { try? moveOn(header, to: snapshot.commit) }
        return OpenedOrder(order: try order(header, request, in: snapshot), outcome: .hit, snapshot: snapshot)
    }

    /// Moves the commit of a cache that nothing touched, unless a writer is busy or was faster.
    private func moveOn(_ header: CacheHeader, to commit: UInt64) throws {
        guard !store.isReadOnly, let writer = try store.tryBeginWrite(), writer.commit == commit,
            var stored = try? Self.header(header.name, in: writer), stored.commit == header.commit
        else { return }
        stored.commit = commit
        try Self.put(stored, in: writer)
        try Self.trimLog(in: writer)
        try writer.commit()
    }

    // MARK: Writing

    /// Does what is still to do now that no other writer can come between.
    private func bringUpToDate(
        _ name: String, _ request: OrderRequest, _ writer: StoreWriter, wantsChange: Bool
    ) throws -> OpenedOrder {
        switch try decide(name, request, in: writer, wantsChange: wantsChange) {
        case .hit(let header):
            let snapshot = try writer.commitAndRead()
            return OpenedOrder(order: try order(header, request, in: snapshot), outcome: .hit, snapshot: snapshot)
        case .catchUp(let header):
            do {
                return try catchUp(header, request, writer)
            } catch  where error.isDamage {
                return try rebuild(name, request, .damaged, writer)
            }
        case .rebuild(let reason): return try rebuild(name, request, reason, writer)
        }
    }

    private func catchUp(_ header: CacheHeader, _ request: OrderRequest, _ writer: StoreWriter) throws -> OpenedOrder {
        let (header, change) = try caughtUp(header, request, nil, in: writer)
        try Self.trimLog(in: writer)
        let snapshot = try writer.commitAndRead()
        return OpenedOrder(
            order: try self.order(header, request, in: snapshot), outcome: change.isEmpty ? .hit : .caughtUp(change),
            snapshot: snapshot)
    }

    /// Brings a cache to a writer's commit in its transaction, from the given edits since the cache was current, or from
    /// the log. Works in a fork, which is published only when all of it went well.
    func caughtUp(
        _ old: CacheHeader, _ request: OrderRequest, _ edits: [RecordChange]?, in writer: StoreWriter
    ) throws -> (CacheHeader, OrderChange) {
        var header = old
        let nodes = LMDBNodeStore(in: writer, cache: header.number, nextNode: header.nextNode)
        let (order, change) = try replay(header, request, edits, from: writer, nodes)
        try (order.rows.store as? ForkNodeStore)?.publish(to: nodes)
        header.adopt(order, commit: writer.commit, time: Self.now())
        if !change.isEmpty { header.catchUps &+= 1 }
        try Self.put(header, in: writer)
        return (header, change)
    }

    private func catchUpInMemory(
        _ header: CacheHeader, _ request: OrderRequest, _ snapshot: Snapshot
    ) throws -> OpenedOrder {
        let nodes = LMDBNodeStore(in: snapshot, cache: header.number, nextNode: header.nextNode)
        do {
            let (order, change) = try replay(header, request, nil, from: snapshot, nodes)
            return OpenedOrder(order: order, outcome: change.isEmpty ? .hit : .caughtUp(change), snapshot: snapshot)
        } catch  where error.isDamage {
            return try compute(request, in: snapshot, .rebuilt(.damaged))
        }
    }

    /// Brings a cache's order to a reader's commit in a fork, and says what that changed. O(k log n).
    func replay(
        _ header: CacheHeader, _ request: OrderRequest, _ edits: [RecordChange]?, from reader: StoreReader,
        _ nodes: LMDBNodeStore
    ) throws -> (SectionedOrder, OrderChange) {
        let builder = request.builder
        let old = try header.order(entity: builder.entity, shape: builder.shape, in: nodes)
        var recordChanges = edits ?? []
        if edits == nil {
            try reader.netChanges(of: builder.entity, from: header.commit) { recordChanges.append($0) }
        }
        let rowChanges = try builder.placer.rowChanges(recordChanges, of: builder.entity)
        var new = old.moved(to: ForkNodeStore(over: nodes))
        let places = try new.update(rowChanges)
        return (new, try OrderDiff.change(from: old, to: new, rowChanges, places))
    }

    func rebuild(
        _ name: String, _ request: OrderRequest, _ reason: RebuildReason, _ writer: StoreWriter
    ) throws -> OpenedOrder {
        let header = try rebuilt(name, request, in: writer)
        try Self.trimLog(in: writer)
        let snapshot = try writer.commitAndRead()
        return OpenedOrder(
            order: try order(header, request, in: snapshot), outcome: .rebuilt(reason), snapshot: snapshot)
    }

    /// Computes a named order from a writer's records, in its transaction.
    func rebuilt(_ name: String, _ request: OrderRequest, in writer: StoreWriter) throws -> CacheHeader {
        let old = try? Self.header(name, in: writer)
        let ownNumber = try Self.number(of: name, in: writer)
        if let ownNumber { try LMDBNodeStore.deleteNodes(of: ownNumber, in: writer) }
        let number = try ownNumber ?? Self.newNumber(in: writer)
        var header = CacheHeader(
            name: name, number: number, identity: request.identity, created: old?.created ?? Self.now())
        header.builds = (old?.builds ?? 0) &+ 1
        header.catchUps = old?.catchUps ?? 0
        let nodes = LMDBNodeStore(in: writer, cache: number, nextNode: 1)
        header.adopt(
            try request.builder.build(from: writer, in: nodes), commit: writer.commit, time: Self.now())
        try Self.put(header, in: writer)
        return header
    }
}
