internal import FetchIndexModels
internal import FetchIndexPlatform
package import FetchIndexRecords

/// The orders of caches in one of the newest states of the store.
package struct NewestOrders {
    /// That state.
    package fileprivate(set) var snapshot: Snapshot
    /// The orders of the caches, by name; without those that cannot be used, or are missing.
    package fileprivate(set) var orders: [String: OpenedOrder] = [:]
    /// What the caches are in that state, by name.
    package fileprivate(set) var assessments: [String: CacheAssessment] = [:]
}

extension CacheEngine {
    /// Opens the caches of live orders in the newest state, or that of a snapshot. They take what they were behind, in one transaction,
    /// unless a writer is busy; a cache that is unusable in its state alone is then rebuilt there.
    /// O(k log n) for k changes; O(n log n) for a cache that cannot be caught up.
    package func openNewest(_ followed: [CacheRequest], in snapshot: Snapshot? = nil) throws -> NewestOrders {
        let snapshot = try snapshot ?? store.snapshot()
        var newest = NewestOrders(snapshot: snapshot)
        var attempts: [(cache: CacheRequest, attempt: Attempt)] = []
        var hasToWrite = false
        for cache in followed {
            let assessment = try assess(cache, in: snapshot)
            let attempt = try attempt(cache, assessment, in: snapshot)
            newest.assessments[cache.name] = assessment
            attempts.append((cache, attempt))
            switch attempt {
            case .opened(let reading):
                newest.orders[cache.name] = reading.opened
                if reading.hasToBeStored || reading.isIdle { hasToWrite = true }
            case .unusable(let reason):
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
            newest.orders[name] = order.reopened(in: newest.snapshot)
            if case .stored(let header) = order.place { newest.assessments[name] = .current(header) }
        }
        return newest
    }

    /// Brings a cache to the state of a snapshot, which its reader has had, unless a writer is busy or the cache is there or further. What
    /// the reader has had counts as a catch-up. Costs as `openNewest`.
    package func advance(_ cache: CacheRequest, to snapshot: Snapshot) throws {
        guard !store.isReadOnly, !store.hasOpenWriter else { return }
        let start = ContinuousClock.now
        guard let opened = try openNewest([cache], in: snapshot).orders[cache.name], case .caughtUp = opened.outcome
        else { return }
        record(opened, of: cache, since: start)
    }

    /// Lets a cache take what was opened at a commit; one that was unusable is rebuilt, if that is still the newest. A cache that is found
    /// damaged is deleted. Nil when the cache is another one by now.
    private func store(
        _ attempt: Attempt, of cache: CacheRequest, at commit: UInt64, in writer: StoreWriter
    ) throws -> OpenedOrder? {
        switch attempt {
        case .opened(let reading):
            do {
                return try store(reading, in: writer)
            } catch  where error.isDamage {
                _ = try directory.delete(cache.name, in: writer)
                return nil
            }
        case .unusable(let reason):
            guard reason.isOfState, writer.commit == commit else { return nil }
            return try rebuildOrDelete(cache, reason, readUpTo: commit, in: writer)
        }
    }
}
