internal import FetchIndexModels
package import FetchIndexRecords
internal import FetchIndexCountedTree
internal import FetchIndexPlatform

extension CacheEngine {
    /// Where the order that is brought to a state goes.
    enum Destination {
        /// Into the cache, in the writer's transaction.
        case cache(StoreWriter)
        /// Into a fork or memory; the cache stays as it is.
        case memory(StoreReader)

        var reader: StoreReader {
            switch self {
            case .cache(let writer): writer
            case .memory(let reader): reader
            }
        }

        func nodes(of header: CacheHeader) -> LMDBNodeStore {
            switch self {
            case .cache(let writer): LMDBNodeStore(header, writingIn: writer)
            case .memory(let reader): LMDBNodeStore(header, in: reader)
            }
        }
    }

    /// Changes that are known already, and the commit that they begin at; else they are read from the log.
    package struct KnownChanges {
        let start: UInt64
        let changes: [RecordChange]
        /// Orders with just these changes.
        let prepared: PreparedOrders

        package init(since start: UInt64, _ changes: [RecordChange], prepared: PreparedOrders = PreparedOrders()) {
            self.start = start
            self.changes = changes
            self.prepared = prepared
        }
    }

    /// Brings the order of a cache to the destination's state. A cache that is damaged, or cannot catch up because of damage, is
    /// rebuilt. An order that was prepared awaits its change: damage that is met only there is left to the caller.
    /// O(log n) for a current cache, O(k log n) for one that is k changes behind, else O(n log n).
    func bring(
        _ cache: CacheRequest, _ assessment: Assessment, to destination: Destination, known: KnownChanges? = nil
    ) throws -> OpenedOrder {
        switch assessment {
        case .current(var header):
            let start = header.commit
            if case .cache(let writer) = destination, header.commit != writer.commit {
                header.commit = writer.commit
                try CacheDirectory.put(header, in: writer)
            }
            do {
                let order = try header.order(of: cache.order, in: destination.nodes(of: header))
                return OpenedOrder(order, .hit, in: .stored(header), from: start)
            } catch  where error.isCacheDamage {
                return try rebuild(cache, .damaged, destination)
            }
        case .behind(let header):
            do {
                return try catchUp(header, cache, destination, known)
            } catch is TooManyDependents {
                return try rebuild(cache, .tooManyChanges, destination)
            } catch  where error.isDamage {
                return try rebuild(cache, .damaged, destination)
            }
        case .unusable(let reason): return try rebuild(cache, reason, destination)
        }
    }

    /// The edits are made in a fork. After an error, the nodes of a cache that is being written are half changed: it is to be
    /// rebuilt or deleted, or the writer to be dropped.
    func catchUp(
        _ old: CacheHeader, _ cache: CacheRequest, _ destination: Destination, _ known: KnownChanges?
    ) throws -> OpenedOrder {
        let nodes = destination.nodes(of: old)
        guard case .cache(let writer) = destination else {
            let next = try edited(old, cache, nodes, destination.reader, known)
            return OpenedOrder(next.fork.order, OrderOutcome(of: try next.change()), in: .fork(old), from: old.commit)
        }
        if let prepared = known?.prepared.order(of: cache, from: old) {
            return try store(prepared, nil, over: old, in: nodes, writer)
        }
        let next = try edited(old, cache, nodes, writer, known)
        return try store(next, next.change(), over: old, in: nodes, writer)
    }

    /// Publishes an order of the writer's state. Its change may be found later.
    private func store(
        _ next: PreparedOrder, _ change: OrderChange?, over old: CacheHeader, in nodes: LMDBNodeStore,
        _ writer: StoreWriter
    ) throws -> OpenedOrder {
        // Each edit gives an event.
        let hasChanged = change.map { !$0.isEmpty } ?? !next.edits.isEmpty
        let (order, header) = try publish(
            next, hasChanged: hasChanged, over: old, in: nodes, writer, at: writer.commit)
        guard let change else { return OpenedOrder(order, awaitingChangeFrom: old.commit, in: .stored(header)) }
        return OpenedOrder(order, OrderOutcome(of: change), in: .stored(header), from: old.commit)
    }

    /// Publishes an order of a commit's state to a cache's nodes, and notes it in the header.
    func publish(
        _ next: PreparedOrder, hasChanged: Bool, over old: CacheHeader, in nodes: LMDBNodeStore, _ writer: StoreWriter,
        at commit: UInt64
    ) throws -> (order: SectionedOrder, header: CacheHeader) {
        let order = try next.fork.publish(to: nodes)
        var header = old
        header.take(order, commit: commit, time: currentTime())
        if hasChanged { header.catchUps &+= 1 }
        try CacheDirectory.put(header, in: writer)
        return (order, header)
    }

    /// Makes the changes since a cache's commit, up to a reader's state, in a fork.
    func edited(
        _ old: CacheHeader, _ cache: CacheRequest, _ nodes: LMDBNodeStore, _ reader: StoreReader, _ known: KnownChanges?
    ) throws -> PreparedOrder {
        let builder = cache.order.builder
        let changes = try recordChanges(since: old, of: builder.dependencies, in: reader, known)
        let limit = cache.needsExactChange ? Int.max : try Self.mostCaughtUp(of: builder.entities, in: reader)
        let edits = try builder.edits(changes, states(before: changes, builder, in: reader), dependentLimit: limit)
        return try edited(old, cache.order, over: nodes, edits)
    }

    /// The states before and after changes that lead to a reader's state; nil for an order that needs none.
    func states(before changes: [RecordChange], _ builder: OrderBuilder, in reader: StoreReader) -> StateChange? {
        builder.readsRelated ? StateChange(from: ChangedState(before: changes, reader), to: reader) : nil
    }

    /// The changes of entities since the commit of a cache.
    func recordChanges(
        since header: CacheHeader, of entities: [Int], in reader: StoreReader, _ known: KnownChanges?
    ) throws -> [RecordChange] {
        if let known, known.start == header.commit { return known.changes }
        var changes: [RecordChange] = []
        for entity in entities { try reader.netChanges(of: entity, from: header.commit) { changes.append($0) } }
        return changes
    }

    private func rebuild(
        _ cache: CacheRequest, _ reason: RebuildReason, _ destination: Destination
    ) throws -> OpenedOrder {
        guard case .cache(let writer) = destination else {
            return try Self.compute(cache.order, in: destination.reader, .rebuilt(reason))
        }
        try CacheDirectory.requireReplaceable(cache, in: writer)
        let ownNumber = try CacheDirectory.number(of: cache.name, in: writer)
        if let ownNumber { try LMDBNodeStore.deleteNodes(of: ownNumber, in: writer) }
        let number = try ownNumber ?? CacheDirectory.newNumber(in: writer)
        var header = CacheHeader(replacing: cache, number: number, in: writer)
        let order = try cache.order.builder.build(from: writer, in: LMDBNodeStore(header, writingIn: writer))
        header.take(order, commit: writer.commit, time: currentTime())
        try CacheDirectory.put(header, in: writer)
        let rebuilt = OpenedOrder(order, .rebuilt(reason), in: .stored(header))
        try noteRebuild(rebuilt, of: cache, reason, in: writer)
        return rebuilt
    }

    /// Builds an order in memory. O(n log n). Of an order without sections and aggregates, the first rows alone
    /// may be wanted: O(n log k) for k of n rows.
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
