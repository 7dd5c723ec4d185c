package import Records

extension CacheEngine {
    /// The change of a current cache's order since a commit. The order of then is made of the one of now, by the log read
    /// backwards. Nil when the cache is not current, when the log does not reach back, when more than `limit` records changed,
    /// and for orders that depend on other objects. O(k log n) for k changes.
    package func change(
        of cache: CacheRequest, since commit: UInt64, limit: Int, in reader: StoreReader
    ) throws -> OrderChange? {
        let builder = cache.order.builder
        guard case .current(let header) = try assess(cache, in: reader), !builder.readsRelated, commit <= reader.commit,
            reader.logReaches(back: commit), try reader.changeCount(of: builder.entities, after: commit) <= limit
        else { return nil }
        var changes: [RecordChange] = []
        for entity in builder.entities { try reader.netChanges(of: entity, from: commit) { changes.append($0) } }
        let new = try header.order(of: cache.order, in: LMDBNodeStore(header, in: reader))
        var old = ForkedOrder(over: new)
        _ = try old.update(try builder.edits(changes.map(\.reversed), nil))
        return try OrderDiff.change(from: old.order, to: new, try builder.edits(changes, nil))
    }
}
