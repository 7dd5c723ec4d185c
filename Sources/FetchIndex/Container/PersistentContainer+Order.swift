internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

extension PersistentContainer {
    /// Opens an order and calls the body with it. If the body throws because of damage in the cache, the order is
    /// rebuilt and the body is called a second time, so the body must be able to start again.
    ///
    /// If a cache was behind, the order is stored in it after the body has returned, if possible. If the body throws,
    /// or the process ends earlier, this opening leaves such a cache as it was, and the next one reports the change
    /// again. A body that writes the change somewhere must make it durable before it returns. A cache that must be
    /// built is stored before the body is called, unless the order is built in memory, for example because the store is
    /// read-only; if `needsExactChange`, the next opening reports the build again unless the body has returned.
    ///
    /// If `needsExactChange` and very many rows changed, a new order is built and stored before the body is called, and
    /// compared with the old one; the next opening reports the change again unless the body has returned.
    ///
    /// O(log n), and O(log n) more for each commit after the one that the cache reflects; O(k log n) to catch up with k
    /// changes; O(n log n) for a build or a comparison. Throws `StoreError`, the errors of the body, and other errors if
    /// the definition doesn't fit the model or can't be cached, such as `RequestError`, `FetchPredicateError` and
    /// `ContextError.notCacheable`. If `needsExactChange`, and another writer is busy for longer than `writeTimeout`
    /// after the body has returned, throws `StoreError.writerBusy`; the next opening reports the change again.
    ///
    ///     let definition = OrderDefinition(entity: "Book", sortKeys: [SortKey("price")])
    ///     try container.withOrder(definition, .init(cacheName: "by price")) { order in
    ///         try order.forEachRow(limit: 50) { row in print(try row.value(of: "title")) }
    ///     }
    public func withOrder<Result>(
        _ definition: OrderDefinition, _ options: OrderOptions, _ body: (FetchedOrder) throws -> Result
    ) throws -> Result {
        try withPublicErrors {
            guard let cache = try cacheRequest(definition, options) else {
                return try withComputedOrder(definition, options, body)
            }
            let reading = try cacheEngine.open(cache, writing: .atEnd) { try check($0, options) }
            return try withOrder(cache, reading, options, body)
        }
    }

    /// Calls `OrderOptions.check` with the outcome, before the order is built or stored.
    private func check(_ outcome: OrderOutcome<RecordKey>, _ options: OrderOptions) throws {
        try options.check?(outcome.withoutChange)
    }

    /// Calls the body with an opened order, and stores the order in the cache after the body has returned, if it isn't
    /// stored and if possible. If the body throws because of damage in the cache, rebuilds the order and calls the body
    /// again.
    func withOrder<Result>(
        _ cache: CacheRequest, _ reading: CacheReading, _ options: OrderOptions,
        _ body: (FetchedOrder) throws -> Result
    ) throws -> Result {
        let engine = cacheEngine
        let damage = FetchedOrder.Damage()
        let result: Result
        do {
            result = try body(
                FetchedOrder(reading.opened, of: cache.order.builder, reading.snapshot, in: self, damage: damage))
        } catch  where error.isCacheDamage || damage.isMet && error.isDamage {
            try check(.rebuilt(.damaged), options)
            let rebuilt = try engine.rebuild(cache, .damaged)
            let result = try body(FetchedOrder(rebuilt.opened, of: cache.order.builder, rebuilt.snapshot, in: self))
            try engine.end(rebuilt, limit: options.writeTimeout)
            return result
        } catch {
            engine.abandon(reading)
            throw error
        }
        try engine.end(reading, limit: options.writeTimeout)
        return result
    }

    private func withComputedOrder<Result>(
        _ definition: OrderDefinition, _ options: OrderOptions, _ body: (FetchedOrder) throws -> Result
    ) throws -> Result {
        let snapshot = try store.snapshot()
        // To count the members of a sorted order with a predicate, all of them must be found.
        let wanted = options.wantedRows
        let needsAll = wanted.countsAll && definition.predicate != nil && !definition.sortKeys.isEmpty
        let (request, selection) = try definition.plan(in: snapshot, most: needsAll ? .max : wanted.most)
        let computed = try CacheEngine.compute(
            options.applied(to: request), in: snapshot, from: selection, wanted: options.wantedRows)
        return try body(FetchedOrder(computed, of: request.builder, snapshot, in: self))
    }

    /// The request for the cache that the options name; nil if they name no cache.
    func cacheRequest(_ definition: OrderDefinition, _ options: OrderOptions) throws -> CacheRequest? {
        guard let name = options.cacheName else { return nil }
        var cache = CacheRequest(
            name: name, order: try compile(definition, options), needsExactChange: options.needsExactChange,
            author: options.author)
        cache.replacesOthers = options.replacesOtherRequest
        cache.writeTimeout = options.writeTimeout
        return cache
    }
}
