package import FetchIndexModels
package import FetchIndexRecords
package import FetchIndexPlatform

/// Catching up with changes before they are written. It reads only the state before them, so that another thread can do
/// it while a writer writes the records.
extension CacheEngine {
    /// Orders of caches with changes that aren't written yet, in memory, by the caches' names.
    package struct PreparedOrders {
        var orders: [String: PreparedOrder] = [:]

        package init() {}

        /// The changes of the orders, by the caches' names. A change that can't be computed is left out, because the
        /// cache is damaged. It reads only the state before the changes, so another thread may call it while the writer
        /// commits. O(k log n) for k changes.
        package func changes() -> [String: OrderChange<RecordKey>] { orders.compactMapValues { try? $0.change() } }

        /// The number of rows that change in the orders.
        package var rowCount: Int { orders.values.reduce(0) { $0 + $1.edits.rows.count } }

        /// The prepared order of a cache; nil if it wasn't prepared from exactly this state of the cache.
        func order(of cache: CacheRequest, from header: CacheHeader) -> PreparedOrder? {
            guard let order = orders[cache.name], order.header.commit == header.commit,
                order.header.hasSameNodes(as: header)
            else { return nil }
            return order
        }
    }

    /// A cache's order after changes, in a fork.
    struct PreparedOrder {
        /// The header of the cache before the changes.
        let header: CacheHeader
        let edits: OrderEdits
        let fork: ForkedOrder
        private let base: SectionedOrder
        private let places: ChangedPlaces

        /// Applies edits in a fork over a cache's nodes.
        init(
            of cache: CacheRequest, _ header: CacheHeader, _ edits: OrderEdits, in reader: StoreReader,
            with crew: Crew? = nil
        ) throws {
            self.header = header
            self.edits = edits
            base = try header.order(of: cache.order, in: LMDBNodeStore(header, in: reader))
            var fork = ForkedOrder(over: base)
            // The ranks of rows that keep their keys are needed only for the change, which is computed while the writer
            // commits.
            places = try fork.update(edits, postponingRanks: crew != nil, with: crew)
            self.fork = fork
        }

        /// The change that the edits make. O(k log n) for k changes.
        func change() throws -> OrderChange<RecordKey> {
            var places = places
            try base.findPostponed(&places)
            return try OrderDiff.change(from: base, to: fork.order, edits.rows, places)
        }
    }

    /// Catches caches up in memory, from the state of a snapshot, with changes that aren't written yet. Leaves out
    /// caches that aren't current, that read records of other objects, that don't depend on the changed entities, or
    /// that can't be caught up: the writer of the changes handles those. O(k log n) for k changes.
    package func prepare(
        _ caches: [CacheRequest], for changes: [RecordChange], in snapshot: Snapshot, with crew: Crew
    ) -> PreparedOrders {
        var prepared = PreparedOrders()
        let entities = Set(changes.map(\.object.entity))
        for cache in caches
        where !cache.order.builder.readsRelated && !entities.isDisjoint(with: cache.order.builder.dependencies) {
            // An error recurs, and is handled, when the writer catches up the cache.
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
