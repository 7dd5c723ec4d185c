internal import FetchIndexCountedTree
package import FetchIndexModels
internal import FetchIndexPlatform
package import FetchIndexRecords

extension CacheEngine {
    /// Changes after the commit `start` that the caller already knows, so that they needn't be read from the log.
    package struct KnownChanges {
        let start: UInt64
        let changes: [RecordChange]

        package init(since start: UInt64, _ changes: [RecordChange]) {
            self.start = start
            self.changes = changes
        }
    }

    /// Finds the order of an assessed cache: as it's stored, or caught up in a fork. `next` is the caught-up order to be
    /// stored in the cache; nil if the cache is current. The cache isn't changed. Returns `unusable` if the assessment
    /// says so, if damage is found, or if too many rows depend on changed objects. If `wantsChange` is false, the
    /// change stays `pending`, and row changes that affect neither key nor summary are left out. O(log n) for a current
    /// cache; O(k log n) for one that is behind, where k counts the changes and the rows that depend on changed
    /// objects.
    func find(
        _ cache: CacheRequest, _ assessment: CacheAssessment, in reader: StoreReader, known: KnownChanges? = nil,
        wantsChange: Bool = true
    ) throws -> CacheAttempt<(opened: OpenedOrder, next: CaughtUpOrder?)> {
        switch assessment {
        case .current(let header):
            do {
                let order = try header.order(of: cache.order, in: LMDBNodeStore(header, in: reader))
                return .opened((OpenedOrder(order, .hit, in: .stored(header), from: header.commit), nil))
            } catch  where error.isCacheDamage { return .unusable(.damaged) }
        case .behind(let header, _):
            do {
                let next = try caughtUp(header, cache, in: reader, known, wantsChange: wantsChange)
                let outcome = wantsChange ? OrderOutcome(of: try next.change()) : .pending
                return .opened((OpenedOrder(next.fork.order, outcome, in: .fork(header), from: header.commit), next))
            } catch is TooManyDependents {
                return .unusable(.tooManyChanges)
            } catch  where error.isDamage {
                return .unusable(.damaged)
            }
        case .unusable(let reason, _): return .unusable(reason)
        }
    }

    /// Catches the order of a cache up to a reader's state, in a fork over the cache's nodes.
    func caughtUp(
        _ header: CacheHeader, _ cache: CacheRequest, in reader: StoreReader, _ known: KnownChanges? = nil,
        wantsChange: Bool = true
    ) throws -> CaughtUpOrder {
        let builder = cache.order.builder
        let changes = try recordChanges(since: header, of: builder.dependencies, in: reader, known)
        let limit = cache.needsExactChange ? Int.max : try Self.mostCaughtUp(of: builder.entities, in: reader)
        let edits = try builder.edits(changes, states(before: changes, builder, in: reader), dependentLimit: limit)
        return try CaughtUpOrder(of: cache, header, wantsChange ? edits : edits.moved, in: reader)
    }

    /// The states of records before and after changes that lead to a reader's state; nil if the order doesn't read
    /// other objects.
    func states(before changes: [RecordChange], _ builder: OrderBuilder, in reader: StoreReader) -> StateChange? {
        builder.readsRelated ? StateChange(from: ChangedState(before: changes, reader), to: reader) : nil
    }

    /// The changes since the commit of a cache: those of `known` if they begin at this commit, otherwise those of these
    /// entities in the log.
    private func recordChanges(
        since header: CacheHeader, of entities: [Int], in reader: StoreReader, _ known: KnownChanges?
    ) throws -> [RecordChange] {
        if let known, known.start == header.commit { return known.changes }
        var changes: [RecordChange] = []
        for entity in entities { try reader.netChanges(of: entity, from: header.commit) { changes.append($0) } }
        return changes
    }

    /// The order of a cache in a reader's state. An assessment of the cache in this state can be given. The cache isn't
    /// changed; if it's unusable, the order is computed in memory. If `wantsChange` is false, the order is also computed
    /// if this probably costs less than catching up. O(k log n) for k changes; O(n log n) for a computed order.
    package func open(
        _ cache: CacheRequest, _ assessment: CacheAssessment? = nil, in reader: StoreReader, wantsChange: Bool = true
    ) throws -> OpenedOrder {
        let assessment = try assessment ?? assess(cache, in: reader)
        if !wantsChange, case .behind(let header, let changes) = assessment,
            try Self.isLarge(changes, of: cache.order.builder, header.rowCount, in: reader)
        {
            return try Self.compute(cache.order, in: reader, .rebuilt(.tooManyChanges))
        }
        switch try find(cache, assessment, in: reader, wantsChange: wantsChange) {
        case .opened(let (opened, _)): return opened
        case .unusable(let reason): return try Self.compute(cache.order, in: reader, .rebuilt(reason))
        }
    }

    /// Opens the order of a cache in the newest state, or in a snapshot's: as it's stored, or caught up from the change
    /// log. If the cache is unusable, rebuilds it in the newest state. An assessment of the cache in the state can be
    /// given.
    ///
    /// A hit costs O(log n), and O(log n) more for each commit since the cache's; catching up costs O(k log n) for k
    /// changes, and a rebuild O(n log n). If the store is read-only, or while another writer is busy, the order is
    /// caught up in memory and the cache isn't changed. A rebuild that is stored waits for other writers.
    package func open(
        _ cache: CacheRequest, _ assessment: CacheAssessment? = nil, at snapshot: Snapshot? = nil
    ) throws -> (opened: OpenedOrder, snapshot: Snapshot) {
        let start = ContinuousClock.now
        var reading = try begin(cache, assessment, in: snapshot)
        try storeUnlessBusy(&reading)
        // If the cache was rebuilt, that is already in the statistics.
        if case .caughtUp = reading.opened.outcome {
            record(reading.opened, of: cache, since: start)
        }
        return (reading.opened, reading.snapshot)
    }

    /// Computes an order in memory. O(n log n). If only the first rows of an order without sections and aggregates are
    /// wanted, O(n log k) for k of n rows.
    package static func compute(
        _ request: OrderRequest, in reader: StoreReader, from selection: RecordSelection = .all,
        wanted: WantedRows = .all,
        _ outcome: OrderOutcome<RecordKey> = .computed
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

/// An order of a cache with later changes applied in a fork, before it's stored in the cache.
struct CaughtUpOrder {
    let edits: OrderEdits
    let fork: ForkedOrder
    private let base: SectionedOrder
    private let places: ChangedPlaces

    /// Applies edits in a fork over the nodes of a cache. O(k log n) for k edits.
    init(of cache: CacheRequest, _ header: CacheHeader, _ edits: OrderEdits, in reader: StoreReader) throws {
        self.edits = edits
        base = try header.order(of: cache.order, in: LMDBNodeStore(header, in: reader))
        var fork = ForkedOrder(over: base)
        places = try fork.update(edits)
        self.fork = fork
    }

    /// Computes the change that the edits make in the order. O(k log n) for k changes.
    func change() throws -> OrderChange<RecordKey> {
        try OrderDiff.change(from: base, to: fork.order, edits.rows, places)
    }
}
