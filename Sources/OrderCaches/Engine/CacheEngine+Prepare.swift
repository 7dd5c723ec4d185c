package import FetchIndexModels
package import FetchIndexRecords
package import FetchIndexPlatform

/// Catches caches up with changes that aren't written yet. Only the state before the changes is read, so another thread
/// can do this while a writer writes the records.
extension CacheEngine {
    /// Orders in memory that include changes which aren't written yet, by the names of their caches.
    package struct PreparedOrders {
        var orders: [String: PreparedOrder] = [:]

        package init() {}

        /// Computes the changes of the orders, by the names of their caches. If a cache is damaged, its change is
        /// missing. Only the state before the changes is read, so another thread may call this while the writer
        /// commits. O(k log n) for k changes.
        package func changes() -> [String: OrderChange<RecordKey>] { orders.compactMapValues { try? $0.change() } }

        /// The total number of row changes in these orders.
        package var rowCount: Int { orders.values.reduce(0) { $0 + $1.edits.rows.count } }

        /// The prepared order of a cache; nil if there isn't one for exactly this state of the cache.
        func order(of cache: CacheRequest, from header: CacheHeader) -> PreparedOrder? {
            guard let order = orders[cache.name], order.header.commit == header.commit,
                order.header.hasSameNodes(as: header)
            else { return nil }
            return order
        }
    }

    /// An order of a cache with changes applied in a fork.
    struct PreparedOrder {
        /// The header of the cache before the changes.
        let header: CacheHeader
        let edits: OrderEdits
        let fork: ForkedOrder
        private let base: SectionedOrder
        private let places: ChangedPlaces

        /// Applies edits in a fork over the nodes of a cache.
        init(
            of cache: CacheRequest, _ header: CacheHeader, _ edits: OrderEdits, in reader: StoreReader,
            with crew: Crew? = nil
        ) throws {
            self.header = header
            self.edits = edits
            base = try header.order(of: cache.order, in: LMDBNodeStore(header, in: reader))
            var fork = ForkedOrder(over: base)
            // The ranks of rows whose keys and summaries stay the same are needed only for the change. If a crew
            // prepares the order, the change is computed while the writer commits, so these ranks are postponed.
            places = try fork.update(edits, postponingRanks: crew != nil, with: crew)
            self.fork = fork
        }

        /// Computes the change that the edits make in the order. O(k log n) for k changes.
        func change() throws -> OrderChange<RecordKey> {
            var places = places
            try base.findPostponed(&places)
            return try OrderDiff.change(from: base, to: fork.order, edits.rows, places)
        }
    }

    /// Catches caches up in memory, from a snapshot's state, with changes that aren't written yet. Leaves out caches
    /// that aren't current, that read records of other objects, that don't depend on the changed entities, for which
    /// there are too many changes, or that can't be caught up. The writer of the changes handles those. O(k log n) for
    /// k changes.
    package func prepare(
        _ caches: [CacheRequest], for changes: [RecordChange], in snapshot: Snapshot, with crew: Crew
    ) -> PreparedOrders {
        var prepared = PreparedOrders()
        let entities = Set(changes.map(\.object.entity))
        for cache in caches
        where !cache.order.builder.readsRelated && !entities.isDisjoint(with: cache.order.builder.dependencies) {
            // If this fails, the writer catches the cache up itself, and handles the errors that it gets.
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
