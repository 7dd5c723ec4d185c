internal import FetchIndexPlatform
package import FetchIndexModels
package import FetchIndexRecords

/// An order as it was at a commit.
package struct PastOrder {
    package let order: SectionedOrder
    /// The records of the objects on which the order depends, at the commit.
    package let state: any RecordState
    package let commit: UInt64

    package init(order: SectionedOrder, state: any RecordState, commit: UInt64) {
        (self.order, self.state, self.commit) = (order, state, commit)
    }
}

extension CacheEngine {
    /// The change of a current cache's order since a commit. Returns nil if the cache isn't current, if the log doesn't
    /// reach back to the commit, if the commit is newer than the reader's, if the commits since then have more than
    /// `limit` changes of the order's entities, or if the order reads records of other objects. O(k log n) for k
    /// changes.
    package func change(
        of cache: CacheRequest, since commit: UInt64, limit: Int, in reader: StoreReader
    ) throws -> OrderChange<RecordKey>? {
        let builder = cache.order.builder
        guard case .current(let header) = try assess(cache, in: reader), !builder.readsRelated, commit <= reader.commit,
            reader.logReaches(back: commit), try reader.changeCount(of: builder.entities, after: commit) <= limit
        else { return nil }
        let order = try header.order(of: cache.order, in: LMDBNodeStore(header, in: reader))
        return try change(of: builder, to: order, since: commit, in: reader)
    }

    /// The change from the order at a commit to the order in a reader's state. Reconstructs the old order by undoing
    /// the logged changes in a fork of the new one; if very many rows changed, sorts its rows instead, unless it reads
    /// records of other objects. Throws `logTooShort` if the log doesn't reach back to the commit. O(k log n) for k
    /// changes, at most O(n log n).
    package func change(
        of builder: OrderBuilder, to new: SectionedOrder, since commit: UInt64, in reader: StoreReader
    ) throws -> OrderChange<RecordKey> {
        guard reader.logReaches(back: commit) else { throw StoreError.logTooShort(commit: commit) }
        if !builder.readsRelated,
            try Self.isLarge(
                reader.changeCount(of: builder.entities, after: commit), of: builder, new.rowCount, in: reader)
        {
            return try compare(builder, to: new, since: commit, in: reader)
        }
        return try change(
            of: builder, to: PastOrder(order: new, state: reader, commit: reader.commit), since: commit, in: reader)
    }

    /// The order at a commit and the records of that state, from the order in a reader's state. The changes since the
    /// commit stay in memory. O(k log n) for k changes. Throws `logTooShort`, also for a commit that isn't made yet.
    package func past(
        of builder: OrderBuilder, at commit: UInt64, from new: SectionedOrder, in reader: StoreReader
    ) throws -> PastOrder {
        let newest = PastOrder(order: new, state: reader, commit: reader.commit)
        return commit == reader.commit ? newest : try undone(builder, newest, to: commit, in: reader).old
    }

    /// The change between the orders at two commits, the second of which is `new`. O(k log n) for k changes. Throws
    /// `logTooShort`, also if the second commit is the older one.
    package func change(
        of builder: OrderBuilder, to new: PastOrder, since commit: UInt64, in reader: StoreReader
    ) throws -> OrderChange<RecordKey> {
        let (old, changes, states) = try undone(builder, new, to: commit, in: reader)
        return try OrderDiff.change(from: old.order, to: new.order, try builder.edits(changes, states))
    }

    /// Undoes the logged changes of an order in a fork.
    private func undone(
        _ builder: OrderBuilder, _ new: PastOrder, to commit: UInt64, in reader: StoreReader
    ) throws -> (old: PastOrder, changes: [RecordChange], states: StateChange?) {
        let changes = try netChanges(of: builder.dependencies, from: commit, to: new.commit, in: reader)
        let state = ChangedState(before: changes, new.state)
        let states = builder.readsRelated ? StateChange(from: state, to: new.state) : nil
        var fork = ForkedOrder(over: new.order)
        _ = try fork.update(
            builder.edits(changes.map(\.reversed), states.map { StateChange(from: $0.new, to: $0.old) }))
        return (PastOrder(order: fork.order, state: state, commit: commit), changes, states)
    }

    /// The outcome that an exact reader hasn't received, according to the note of its cache: a rebuild, a change, or a
    /// hit if nothing changed. `old` is the order at the note's commit, if it's known. Throws if the cache is damaged.
    func outcome(
        since note: UnreadNote, of request: OrderRequest, from old: SectionedOrder? = nil, to new: SectionedOrder,
        in reader: StoreReader
    ) throws -> OrderOutcome<RecordKey> {
        if let reason = note.reason { return .rebuilt(reason) }
        do {
            if let old {
                do {
                    let rows = try ComparedRows(of: old)
                    return OrderOutcome(
                        of: try compare(rows, to: new, request.builder, since: note.commit, in: reader))
                } catch  where error.isCacheDamage {}  // The log leads back to the old order, too.
            }
            return OrderOutcome(of: try change(of: request.builder, to: new, since: note.commit, in: reader))
        } catch StoreError.logTooShort {
            return .rebuilt(.logTooShort)
        } catch  where error.isDamage && !error.isCacheDamage {
            // A log that can't be read is treated as one that is too short.
            return .rebuilt(.logTooShort)
        }
    }
}
