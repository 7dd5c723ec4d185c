internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexRecords

extension CacheEngine {
    /// The change of a current cache's order since a commit. Nil when the cache is not current, when the log does not reach back, when more
    /// than `limit` records changed, and for orders that depend on other objects. O(k log n) for k changes.
    package func change(
        of cache: CacheRequest, since commit: UInt64, limit: Int, in reader: StoreReader
    ) throws -> OrderChange? {
        let builder = cache.order.builder
        guard case .current(let header) = try assess(cache, in: reader), !builder.readsRelated, commit <= reader.commit,
            reader.logReaches(back: commit), try reader.changeCount(of: builder.entities, after: commit) <= limit
        else { return nil }
        let order = try header.order(of: cache.order, in: LMDBNodeStore(header, in: reader))
        return try change(of: cache.order, to: order, since: commit, in: reader)
    }

    /// The change that leads from the order of a commit to that of a reader's state. The old order is the new one with the log undone.
    /// O(k log n) for k changes. Throws `logTooShort`.
    func change(
        of request: OrderRequest, to new: SectionedOrder, since commit: UInt64, in reader: StoreReader
    ) throws -> OrderChange {
        let builder = request.builder
        var changes: [RecordChange] = []
        for entity in builder.dependencies { try reader.netChanges(of: entity, from: commit) { changes.append($0) } }
        let states = states(before: changes, builder, in: reader)
        var old = ForkedOrder(over: new)
        let undone = try builder.edits(
            changes.map(\.reversed), states.map { StateChange(from: $0.new, to: $0.old) })
        _ = try old.update(undone)
        return try OrderDiff.change(from: old.order, to: new, try builder.edits(changes, states))
    }

    /// What an exact reader of an order has not had, by the note of its cache. Throws damage of the cache.
    func outcome(
        since note: UnreadNote, of request: OrderRequest, to order: SectionedOrder, in reader: StoreReader
    ) throws -> OrderOutcome {
        if let reason = note.reason { return .rebuilt(reason) }
        do {
            return OrderOutcome(of: try change(of: request, to: order, since: note.commit, in: reader))
        } catch StoreError.logTooShort {
            return .rebuilt(.logTooShort)
        } catch  where error.isDamage && !error.isCacheDamage {
            // A log that cannot be read is treated like one that is too short.
            return .rebuilt(.logTooShort)
        }
    }
}
