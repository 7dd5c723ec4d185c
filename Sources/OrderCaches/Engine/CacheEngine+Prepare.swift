internal import FetchIndexModels
package import FetchIndexRecords
package import FetchIndexPlatform

/// Catching up with changes before they are written: it reads only the state before them, so that another thread can do it
/// while a writer writes the records.
extension CacheEngine {
    /// Orders of caches with changes that are not written yet, in memory, by the caches' names.
    package struct PreparedOrders {
        var orders: [String: PreparedOrder] = [:]

        package init() {}

        /// The changes of the orders, by the caches' names. A change that cannot be found is left out: the cache is damaged.
        /// Another thread than the writer's may call it while the writer commits: it reads only the state before.
        /// O(k log n) for k changes.
        package func changes() -> [String: OrderChange] { orders.compactMapValues { try? $0.change() } }

        /// How many rows of the orders change.
        package var rowCount: Int { orders.values.reduce(0) { $0 + $1.edits.rows.count } }

        /// Nil unless it was prepared from just this state of the cache.
        func order(of cache: CacheRequest, from header: CacheHeader) -> PreparedOrder? {
            guard let order = orders[cache.name], order.header.commit == header.commit,
                order.header.hasSameNodes(as: header)
            else { return nil }
            return order
        }
    }

    /// What a cache's order becomes, in a fork.
    struct PreparedOrder {
        /// The cache as it was.
        let header: CacheHeader
        let edits: OrderEdits
        let fork: ForkedOrder
        private let base: SectionedOrder
        private let places: ChangedPlaces

        /// Makes edits in a fork over a cache's nodes.
        init(
            of cache: CacheRequest, _ header: CacheHeader, _ edits: OrderEdits, in reader: StoreReader,
            with crew: Crew? = nil
        ) throws {
            self.header = header
            self.edits = edits
            base = try header.order(of: cache.order, in: LMDBNodeStore(header, in: reader))
            var fork = ForkedOrder(over: base)
            // The ranks of rows that keep their keys are needed for the change alone, which is computed while the writer commits.
            places = try fork.update(edits, postponingRanks: crew != nil, with: crew)
            self.fork = fork
        }

        /// O(k log n) for k changes.
        func change() throws -> OrderChange {
            var places = places
            try base.findPostponed(&places)
            return try OrderDiff.change(from: base, to: fork.order, edits.rows, places)
        }
    }

    /// Catches caches up in memory from the state of a snapshot, in which they must be current, with changes that lead from it to a
    /// state that is not there yet. Leaves out caches that are not current, that read other records than those that change, or that
    /// cannot be caught up: the writer of the changes brings those. O(k log n) for k changes.
    package func prepare(
        _ caches: [CacheRequest], for changes: [RecordChange], in snapshot: Snapshot, with crew: Crew
    ) -> PreparedOrders {
        var prepared = PreparedOrders()
        let entities = Set(changes.map(\.object.entity))
        for cache in caches
        where !cache.order.builder.readsRelated && !entities.isDisjoint(with: cache.order.builder.dependencies) {
            // An error comes again, and is handled, when the writer brings the cache.
            prepared.orders[cache.name] = try? prepare(cache, for: changes, in: snapshot, with: crew)
        }
        return prepared
    }

    private func prepare(
        _ cache: CacheRequest, for changes: [RecordChange], in snapshot: Snapshot, with crew: Crew
    ) throws -> PreparedOrder? {
        guard case .current(let header) = try assess(cache, in: snapshot),
            try cache.needsExactChange
                || changes.count <= Self.mostCaughtUp(of: cache.order.builder.entities, in: snapshot)
        else { return nil }
        return try PreparedOrder(of: cache, header, cache.order.builder.edits(changes, nil), in: snapshot, with: crew)
    }
}
