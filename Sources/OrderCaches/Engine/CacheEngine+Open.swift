internal import FetchIndexCountedTree
internal import FetchIndexModels
internal import FetchIndexPlatform
package import FetchIndexRecords

extension CacheEngine {
    /// Changes that are already known, from the commit `start` on. Without them, changes are read from the log.
    package struct KnownChanges {
        let start: UInt64
        let changes: [RecordChange]
        /// Orders with exactly these changes.
        let prepared: PreparedOrders

        package init(since start: UInt64, _ changes: [RecordChange], prepared: PreparedOrders = PreparedOrders()) {
            self.start = start
            self.changes = changes
            self.prepared = prepared
        }
    }

    /// The outcome of opening a cache without a rebuild.
    enum Found {
        /// The order, and the prepared one that is to be stored; nil if the cache is current.
        case opened(OpenedOrder, PreparedOrder?)
        case unusable(RebuildReason)
    }

    /// The order of an assessed cache, as stored or caught up in a fork. The cache isn't changed; damage makes it
    /// unusable. If `wantsChange` is false, the change stays `pending`, and changes that move no row are left out.
    /// O(log n) for a current cache, O(k log n) for one that is k changes behind.
    func find(
        _ cache: CacheRequest, _ assessment: CacheAssessment, in reader: StoreReader, known: KnownChanges? = nil,
        wantsChange: Bool = true
    ) throws -> Found {
        switch assessment {
        case .current(let header):
            do {
                let order = try header.order(of: cache.order, in: LMDBNodeStore(header, in: reader))
                return .opened(OpenedOrder(order, .hit, in: .stored(header), from: header.commit), nil)
            } catch  where error.isCacheDamage { return .unusable(.damaged) }
        case .behind(let header, _):
            do {
                let prepared = known?.prepared.order(of: cache, from: header)
                let next = try prepared ?? caughtUp(header, cache, in: reader, known, wantsChange: wantsChange)
                // The change of a prepared order is computed while the writer commits. Damage that is found only then
                // is left to the caller.
                let isPending = prepared != nil || !wantsChange
                let outcome = isPending ? .pending : OrderOutcome(of: try next.change())
                return .opened(OpenedOrder(next.fork.order, outcome, in: .fork(header), from: header.commit), next)
            } catch is TooManyDependents {
                return .unusable(.tooManyChanges)
            } catch  where error.isDamage {
                return .unusable(.damaged)
            }
        case .unusable(let reason, _): return .unusable(reason)
        }
    }

    /// Applies the changes from a cache's commit up to a reader's state, in a fork.
    func caughtUp(
        _ header: CacheHeader, _ cache: CacheRequest, in reader: StoreReader, _ known: KnownChanges? = nil,
        wantsChange: Bool = true
    ) throws -> PreparedOrder {
        let builder = cache.order.builder
        let changes = try recordChanges(since: header, of: builder.dependencies, in: reader, known)
        let limit = cache.needsExactChange ? Int.max : try Self.mostCaughtUp(of: builder.entities, in: reader)
        let edits = try builder.edits(changes, states(before: changes, builder, in: reader), dependentLimit: limit)
        return try PreparedOrder(of: cache, header, wantsChange ? edits : edits.moved, in: reader)
    }

    /// The states before and after changes that lead to a reader's state; nil if the order doesn't read other objects.
    func states(before changes: [RecordChange], _ builder: OrderBuilder, in reader: StoreReader) -> StateChange? {
        builder.readsRelated ? StateChange(from: ChangedState(before: changes, reader), to: reader) : nil
    }

    /// The changes of entities since the commit of a cache.
    private func recordChanges(
        since header: CacheHeader, of entities: [Int], in reader: StoreReader, _ known: KnownChanges?
    ) throws -> [RecordChange] {
        if let known, known.start == header.commit { return known.changes }
        var changes: [RecordChange] = []
        for entity in entities { try reader.netChanges(of: entity, from: header.commit) { changes.append($0) } }
        return changes
    }

    /// The order of a cache in the state of a snapshot, for which an assessment may be given. The cache isn't changed.
    package func open(
        _ cache: CacheRequest, _ assessment: CacheAssessment? = nil, in snapshot: Snapshot
    ) throws -> OpenedOrder {
        switch try find(cache, assessment ?? assess(cache, in: snapshot), in: snapshot) {
        case .opened(let opened, _): opened
        case .unusable(let reason): try Self.compute(cache.order, in: snapshot, .rebuilt(reason))
        }
    }

    /// Opens the order of a cache in the newest state, or that of a snapshot, for which an assessment may be given: as
    /// stored, caught up from the change log, or rebuilt.
    ///
    /// A hit costs O(log n), catching up O(k log n) for k changes, a rebuild O(n log n). In a read-only store, and
    /// while another writer is busy, the order is caught up in memory and the cache isn't changed. A rebuild waits for
    /// other writers.
    package func open(
        _ cache: CacheRequest, _ assessment: CacheAssessment? = nil, at snapshot: Snapshot? = nil
    ) throws -> (opened: OpenedOrder, snapshot: Snapshot) {
        let start = ContinuousClock.now
        var reading = try begin(cache, assessment, in: snapshot)
        try storeUnlessBusy(&reading)
        // A rebuild has already been recorded.
        if case .caughtUp = reading.opened.outcome {
            record(reading.opened, of: cache, since: start)
        }
        return (reading.opened, reading.snapshot)
    }

    /// Builds an order in memory. O(n log n). For an order without sections and aggregates, only the first rows may be
    /// wanted: O(n log k) for k of n rows.
    package static func compute(
        _ request: OrderRequest, in reader: StoreReader, from selection: RecordSelection = .all,
        wanted: WantedRows = .all,
        _ outcome: OrderOutcome = .computed
    ) throws -> OpenedOrder {
        let nodes = MemoryNodeStore(capacity: LMDBNodeStore.nodeCapacity)
        let shape = request.builder.shape
        if wanted.most < .max && !shape.hasSections && shape.aggregates.isEmpty {
            let (order, memberCount) = try request.builder.buildFirst(wanted, from: reader, selection, in: nodes)
            return OpenedOrder(order, outcome, in: .memory(nodes), memberCount: memberCount)
        }
        return OpenedOrder(try request.builder.build(from: reader, selection, in: nodes), outcome, in: .memory(nodes))
    }
}
