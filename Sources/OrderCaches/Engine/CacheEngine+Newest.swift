internal import FetchIndexModels
internal import FetchIndexPlatform
package import FetchIndexRecords

/// The orders of several caches in the same state of the store.
package struct NewestOrders {
    /// The snapshot of that state.
    package fileprivate(set) var snapshot: Snapshot
    /// The orders of the caches, or the reasons why caches are unusable, by name.
    package fileprivate(set) var orders: [String: CacheAttempt<OpenedOrder>] = [:]
    /// The assessments of the caches in the snapshot's state, by name.
    package fileprivate(set) var assessments: [String: CacheAssessment] = [:]
}

extension CacheEngine {
    /// Opens the caches of live orders in the newest state, or in a snapshot's. Unless the store can't be written or a
    /// writer is busy, one transaction stores the orders that were caught up. If no newer commit exists, it also
    /// rebuilds caches that are damaged or too far behind (`RebuildReason.isOfState`). O(k log n) for k changes;
    /// O(n log n) for a cache that can't be caught up.
    package func openNewest(_ followed: [CacheRequest], in snapshot: Snapshot? = nil) throws -> NewestOrders {
        let snapshot = try snapshot ?? store.snapshot()
        var newest = NewestOrders(snapshot: snapshot)
        var attempts: [Attempted] = []
        for cache in followed {
            let assessment = try assess(cache, in: snapshot)
            let attempt = try attempt(cache, assessment, in: snapshot, mayCompare: false)
            newest.assessments[cache.name] = assessment
            newest.orders[cache.name] = attempt.map(\.opened)
            attempts.append((cache, attempt))
        }
        guard let stored = try storeUnlessBusy(attempts, of: snapshot) else { return newest }
        newest.snapshot = stored.snapshot
        for (name, order) in stored.orders {
            newest.orders[name] = .opened(order)
            if case .stored(let header) = order.place { newest.assessments[name] = .current(header) }
        }
        return newest
    }

    /// Catches a cache up to a snapshot's state, which its reader has already received. Like `openNewest`, rebuilds a
    /// cache that is damaged or too far behind, if no newer commit exists. The order of the cache isn't changed if the
    /// store can't be written, if a writer is busy, or if the cache has reached this state. Records a catch-up in
    /// the statistics. Costs as much as `openNewest`.
    package func advance(_ cache: CacheRequest, to snapshot: Snapshot) throws {
        guard !store.isReadOnly, !store.hasOpenWriter else { return }
        let start = ContinuousClock.now
        guard let opened = try openNewest([cache], in: snapshot).orders[cache.name]?.opened,
            case .caughtUp = opened.outcome
        else { return }
        record(opened, of: cache, since: start)
    }

    typealias Attempted = (cache: CacheRequest, attempt: CacheAttempt<CacheReading>)

    /// Stores the orders of attempts in their caches, in one transaction, unless the store is read-only or a writer is
    /// busy. If the attempts' snapshot is still the newest one, also rebuilds caches that are damaged or too far behind
    /// (`RebuildReason.isOfState`), and returns the stored orders in a snapshot after the transaction. A cache in which
    /// damage is found is deleted. An order isn't stored if its cache was replaced meanwhile, for example.
    func storeUnlessBusy(
        _ attempts: [Attempted], of snapshot: Snapshot
    ) throws -> (snapshot: Snapshot, orders: [String: OpenedOrder])? {
        guard attempts.contains(where: { $0.attempt.hasToBeStored }), !store.isReadOnly, !store.hasOpenWriter,
            let writer = try store.tryBeginWrite()
        else { return nil }
        let isNewest = writer.commit == snapshot.commit
        var stored: [String: OpenedOrder] = [:]
        for (cache, attempt) in attempts {
            switch attempt {
            case .opened(let reading):
                stored[cache.name] = try deletingIfDamaged(cache, in: writer) { try store(reading, in: writer) }
            case .unusable(let reason) where reason.isOfState && isNewest:
                let rebuilt = try self.attempt(
                    cache, .unusable(reason, nil), in: writer, for: .received(snapshot.commit))
                stored[cache.name] = rebuilt.opened
            case .unusable: break
            }
        }
        try CacheDirectory.trimLog(in: writer)
        guard isNewest else {
            try writer.commit()
            return nil
        }
        let newest = try writer.commitAndRead()
        return (newest, stored.mapValues { $0.reopened(in: newest) })
    }

    /// Stores a reading's order immediately, unless the store is read-only or a writer is busy. Returns the reading
    /// with the stored order, unless a newer commit exists.
    func storedUnlessBusy(_ reading: CacheReading) throws -> CacheReading {
        let start = ContinuousClock.now
        var result = reading
        if let stored = try storeUnlessBusy([(reading.cache, .opened(reading))], of: reading.snapshot),
            let order = stored.orders[reading.cache.name]
        {
            (result.opened, result.snapshot) = (order, stored.snapshot)
        }
        result.duration += ContinuousClock.now - start
        return result
    }
}

extension CacheAttempt<CacheReading> {
    /// Whether storing or rebuilding the order changes the cache or its note.
    fileprivate var hasToBeStored: Bool {
        switch self {
        case .opened(let reading): reading.hasToBeStored || reading.isIdle
        case .unusable(let reason): reason.isOfState
        }
    }
}
