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
        var attempts: [(cache: CacheRequest, attempt: CacheAttempt<CacheReading>)] = []
        var hasToWrite = false
        for cache in followed {
            let assessment = try assess(cache, in: snapshot)
            let attempt = try attempt(cache, assessment, in: snapshot)
            newest.assessments[cache.name] = assessment
            attempts.append((cache, attempt))
            switch attempt {
            case .opened(let reading):
                newest.orders[cache.name] = .opened(reading.opened)
                if reading.hasToBeStored || reading.isIdle { hasToWrite = true }
            case .unusable(let reason):
                newest.orders[cache.name] = .unusable(reason)
                if reason.isOfState { hasToWrite = true }
            }
        }
        guard hasToWrite, !store.isReadOnly, !store.hasOpenWriter, let writer = try store.tryBeginWrite() else {
            return newest
        }
        let isSameState = writer.commit == snapshot.commit
        var stored: [String: OpenedOrder] = [:]
        for (cache, attempt) in attempts {
            if let order = try store(attempt, of: cache, at: snapshot.commit, in: writer) { stored[cache.name] = order }
        }
        try CacheDirectory.trimLog(in: writer)
        guard isSameState else {
            try writer.commit()
            return newest
        }
        newest.snapshot = try writer.commitAndRead()
        for (name, order) in stored {
            newest.orders[name] = .opened(order.reopened(in: newest.snapshot))
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

    /// Stores the order of an attempt in its cache. A cache that is damaged or too far behind
    /// (`RebuildReason.isOfState`) is rebuilt if `commit` is still the newest commit. If damage is found while an order
    /// is stored or rebuilt, the cache is deleted. Returns nil if no order is stored, for example because the cache was
    /// replaced meanwhile.
    private func store(
        _ attempt: CacheAttempt<CacheReading>, of cache: CacheRequest, at commit: UInt64, in writer: StoreWriter
    ) throws -> OpenedOrder? {
        switch attempt {
        case .opened(let reading):
            return try deletingIfDamaged(cache, in: writer) { try store(reading, in: writer) }
        case .unusable(let reason):
            guard reason.isOfState, writer.commit == commit else { return nil }
            return try rebuildOrDelete(cache, reason, readUpTo: commit, in: writer)
        }
    }
}
