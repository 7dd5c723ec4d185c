internal import FetchIndexCountedTree
package import FetchIndexModels
internal import FetchIndexPlatform
package import FetchIndexRecords

/// What an opening in a snapshot's state writes.
package enum Writing {
    /// Nothing. The order of an unusable cache is computed in memory. If the change isn't wanted, an order is also
    /// computed if this probably costs less than catching up.
    case nothing(wantsChange: Bool = true)
    /// Only a cache that is behind by many changes: it's rebuilt at once, in the newest state, if that is possible soon;
    /// its exact reader still receives the changes. Otherwise nothing, and the change isn't wanted.
    case renewal
    /// The order of a cache that was behind, when the reader is done (`end`). An unusable cache is rebuilt at once, in
    /// the newest state; so is a cache that is behind by many changes, if its reader is exact (`compare`).
    case atEnd
    /// The order of a cache that was behind, at once, unless the store is read-only or another writer is busy. A
    /// rebuild waits for other writers.
    case atOnce
}

extension CacheEngine {
    /// Opens the order of a cache in a snapshot's state, or in the newest one: as it's stored, or caught up from the
    /// change log. A rebuilt order is in the newest state. An assessment of the cache in the state can be given.
    /// `check` gets the outcome before an order is built or stored, and may throw; it isn't called if nothing is
    /// written.
    ///
    /// A hit costs O(log n), and O(log n) more for each commit since the cache's; catching up costs O(k log n) for k
    /// changes, and a rebuild O(n log n).
    package func open(
        _ cache: CacheRequest, _ assessment: CacheAssessment? = nil, in snapshot: Snapshot? = nil,
        writing: Writing = .atOnce, check: (OrderOutcome<RecordKey>) throws -> Void = { _ in }
    ) throws -> CacheReading {
        let reason: RebuildReason
        let transaction: Int
        do {
            let snapshot = try snapshot ?? store.snapshot()
            switch writing {
            case .nothing(let wantsChange):
                return try unstored(cache, assessment, in: snapshot, wantsChange: wantsChange)
            case .renewal: return try renewedOrUnstored(cache, in: snapshot)
            case .atEnd, .atOnce: break
            }
            switch try attempt(cache, assessment, in: snapshot, check: check) {
            case .opened(let reading):
                if !reading.hasNewNote { noteHit(reading) }
                return try place(reading, writing)
            case .unusable(let found): (reason, transaction) = (found, snapshot.transactionNumber)
            }
        }  // The snapshot is released before this build, which may take long.
        try check(.rebuilt(reason))
        return try place(rebuild(cache, reason, since: transaction), writing)
    }

    private func renewedOrUnstored(_ cache: CacheRequest, in snapshot: Snapshot) throws -> CacheReading {
        // As for an exact reader, a cache that is behind by very many changes isn't unusable.
        var exact = cache
        exact.needsExactChange = true
        let assessment = try assess(exact, in: snapshot)
        let start = ContinuousClock.now
        guard !CacheDirectory.isIndex(cache.name), var renewed = try renewed(exact, assessment, in: snapshot) else {
            return try unstored(cache, assessment, in: snapshot, wantsChange: false)
        }
        renewed.duration = ContinuousClock.now - start
        record(rebuild: renewed)
        return renewed
    }

    private func unstored(
        _ cache: CacheRequest, _ assessment: CacheAssessment?, in snapshot: Snapshot, wantsChange: Bool
    ) throws -> CacheReading {
        let attempt = try findUnstored(cache, assessment, in: snapshot, wantsChange: wantsChange)
        return CacheReading(
            cache: cache, opened: try attempt.order(of: cache.order, in: snapshot), snapshot: snapshot)
    }

    /// Stores the order of a cache that was behind, and records the catch-up in the statistics, if that is wanted at
    /// once.
    func place(_ reading: CacheReading, _ writing: Writing) throws -> CacheReading {
        guard case .atOnce = writing else { return reading }
        let placed = reading.opened.isFork ? try storedUnlessBusy(reading) : reading
        record(placed, isStored: placed.opened.isStored)
        return placed
    }

    /// Opens a cache in a snapshot's state like `open`, which writes `atEnd`, but leaves an unusable cache as it is,
    /// and doesn't count hits. Without `mayCompare`, catches up a cache however far it's behind. `missing` is the reason
    /// for a rebuild that an exact reader hasn't received, because another build made it while the reader's own build
    /// waited.
    package func attempt(
        _ cache: CacheRequest, _ assessment: CacheAssessment? = nil, in snapshot: Snapshot, mayCompare: Bool = true,
        missing: RebuildReason? = nil, check: (OrderOutcome<RecordKey>) throws -> Void = { _ in }
    ) throws -> CacheAttempt<CacheReading> {
        let start = ContinuousClock.now
        try CacheDirectory.validate(cache.name)
        if CacheDirectory.isIndex(cache.name) { throw CacheError.invalidName(cache.name) }
        let assessment = try assessment ?? assess(cache, in: snapshot)
        if mayCompare, let reading = try compare(cache, assessment, in: snapshot, check: check) {
            return .opened(reading)
        }
        // Writes pending hits first, because a rebuild may change the cache's number.
        if !assessment.isCurrent { hits?.write() }
        var reading: CacheReading
        switch try find(cache, assessment, in: snapshot) {
        case .opened(let opened): reading = CacheReading(cache: cache, opened: opened, snapshot: snapshot)
        case .unusable(let reason): return .unusable(reason)
        }
        if cache.needsExactChange {
            do { try addUnread(to: &reading, missing) } catch  where error.isCacheDamage { return .unusable(.damaged) }
        }
        reading.duration = ContinuousClock.now - start
        try check(reading.opened.outcome)
        return .opened(reading)
    }

    /// Adds to a reading what its exact reader hasn't received yet, according to the note of the cache.
    private func addUnread(to reading: inout CacheReading, _ missing: RebuildReason?) throws {
        let (cache, opened) = (reading.cache, reading.opened)
        reading.note = try CacheDirectory.unread(of: cache.name, in: reading.snapshot)
        if let missing {
            reading.opened = opened.with(.rebuilt(missing), from: opened.start)
        } else if let note = reading.note {
            let outcome = try outcome(since: note, of: cache.order, to: opened.order, in: reading.snapshot)
            reading.opened = opened.with(outcome, from: note.commit)
        }
    }
}

// MARK: Find

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

    /// Finds the order of an assessed cache: as it's stored, or caught up in a fork. The cache isn't changed. Returns
    /// `unusable` if the assessment says so, if damage is found, or if too many rows depend on changed objects. If
    /// `wantsChange` is false, the change stays `pending`, and row changes that affect neither key nor summary are left
    /// out. O(log n) for a current cache; O(k log n) for one that is behind, where k counts the changes and the rows
    /// that depend on changed objects.
    func find(
        _ cache: CacheRequest, _ assessment: CacheAssessment, in reader: StoreReader, known: KnownChanges? = nil,
        wantsChange: Bool = true
    ) throws -> CacheAttempt<OpenedOrder> {
        switch assessment {
        case .current(let header):
            do {
                let order = try header.order(of: cache.order, in: LMDBNodeStore(header, in: reader))
                return .opened(OpenedOrder(order, .hit, in: .stored(header), from: header.commit))
            } catch  where error.isCacheDamage { return .unusable(.damaged) }
        case .behind(let header, _):
            do {
                return .opened(try caughtUp(header, cache, in: reader, known, wantsChange: wantsChange))
            } catch is TooManyDependents {
                return .unusable(.tooManyChanges)
            } catch  where error.isDamage {
                return .unusable(.damaged)
            }
        case .unusable(let reason, _): return .unusable(reason)
        }
    }

    /// Finds the order of a cache that won't be changed. If `wantsChange` is false, a cache is also `unusable` if
    /// computing its order probably costs less than catching up.
    func findUnstored(
        _ cache: CacheRequest, _ assessment: CacheAssessment?, in reader: StoreReader, wantsChange: Bool
    ) throws -> CacheAttempt<OpenedOrder> {
        let assessment = try assessment ?? assess(cache, in: reader)
        if !wantsChange, case .behind(let header, let changes) = assessment,
            try Self.isLarge(changes, of: cache.order.builder, header.rowCount, in: reader)
        {
            return .unusable(.tooManyChanges)
        }
        return try find(cache, assessment, in: reader, wantsChange: wantsChange)
    }

    /// Catches the order of a cache up to a reader's state, in a fork over the cache's nodes. O(k log n) for k changes.
    func caughtUp(
        _ header: CacheHeader, _ cache: CacheRequest, in reader: StoreReader, _ known: KnownChanges? = nil,
        wantsChange: Bool = true
    ) throws -> OpenedOrder {
        let builder = cache.order.builder
        let changes =
            if let known, known.start == header.commit { known.changes } else {
                try netChanges(of: builder.dependencies, from: header.commit, to: reader.commit, in: reader)
            }
        let states =
            builder.readsRelated ? StateChange(from: ChangedState(before: changes, reader), to: reader) : nil
        let limit = cache.needsExactChange ? Int.max : try Self.mostCaughtUp(of: builder.entities, in: reader)
        var edits = try builder.edits(changes, states, dependentLimit: limit)
        if !wantsChange { edits = edits.moved }
        let stored = try header.order(of: cache.order, in: LMDBNodeStore(header, in: reader))
        var fork = ForkedOrder(over: stored)
        let places = try fork.update(edits)
        let outcome =
            wantsChange
            ? OrderOutcome(of: try OrderDiff.change(from: stored, to: fork.order, edits.rows, places)) : .pending
        return OpenedOrder(
            fork.order, outcome, in: .fork(header, edited: edits.isEmpty ? nil : fork), from: header.commit)
    }

    /// The net changes of several entities between two commits, from the log.
    func netChanges(
        of entities: [Int], from start: UInt64, to end: UInt64, in reader: StoreReader
    ) throws -> [RecordChange] {
        var changes: [RecordChange] = []
        for entity in entities { try reader.netChanges(of: entity, from: start, to: end) { changes.append($0) } }
        return changes
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
