internal import FetchIndexOrderCaches
internal import FetchIndexModels
internal import FetchIndexRecords

extension FetchedResultsController {
    /// Advances the context to the store's newest state, and opens the order in that state. If the controller has a
    /// cache, opening costs O(log n) if the cache is current, and O(k log n) if it is k changes of records and rows
    /// behind. Otherwise the order is built, O(n log n), unless the controller already has it. Without an offset or a
    /// limit, each row that unsaved edits change costs O(log n) more. If the controller shows the rows of another
    /// request, the differences are delivered as a batch, O(n log n) for n rows.
    ///
    /// During a delivery the context doesn't advance: the order is opened in the context's current state. A controller
    /// that is delivering a batch already shows the state after the batch, and can't fetch another request until the
    /// delivery ends.
    ///
    /// Throws `StoreError`; `RequestError`, `FetchPredicateError`, `UnknownLocale`, `UnknownTimeZone` or
    /// `UnusableCalendar` if the request is invalid or doesn't fit the model; `ContextError` if the request has no sort
    /// key or can't be cached, if another controller of the context uses the cache name for another request, if the
    /// context uses another class for the entity, or if the request has changed while the controller delivers changes.
    @discardableResult
    public func performFetch() throws -> FetchOutcome {
        try withPublicErrors {
            let definition = try validate()
            let context = managedObjectContext
            try context.use(Object.self, for: fetchRequest.entityName)
            let newest = try advanceContext()
            let wanted = Fetched(
                definition: definition, offset: fetchRequest.offset, limit: fetchRequest.limit,
                observed: fetchRequest.observedKeyPaths)
            if context.delivery.isTelling(self) {
                guard fetched == wanted else { throw ContextError.delivering }
                return .hit
            }
            let request = try request(of: wanted.definition)
            let cache = cacheName.map { cacheRequest($0, request) }
            let assessment = try cache.map { try assess($0, newest) }
            if fetched == wanted, isCurrent(request, assessment) {
                // The order has already followed the context.
                guard cacheName != nil else { return .computed }
                guard let merged, !merged.isEmpty else { return .hit }
                return fetchOutcome(.caughtUp(merged))
            }
            try checkName(request)
            let (old, oldFetched) = (live, fetched)
            let (next, outcome) = try open(wanted.definition, request, cache, assessment)
            // Opening may have advanced the context, and with it this controller's live order.
            let oldOrder = old == nil ? nil : live ?? old
            shown = .order(next)
            fetched = wanted
            if oldOrder == nil { noteChange() }
            context.follow(self)
            if let oldOrder, oldFetched != wanted {
                undelivered = try oldOrder.change(to: next)
                deliver()
            }
            return fetchOutcome(outcome)
        }
    }

    /// Advances the context to the newest state, unless a delivery is under way.
    private func advanceContext() throws -> NewestOrders? {
        let context = managedObjectContext
        if context.delivery.isUnderWay {
            deliver()
            return nil
        }
        context.processPendingChanges()
        merged = nil
        return try context.merge()
    }

    /// Compiles a definition. The compiled request is kept for later fetches only if the controller has a cache name,
    /// because requests without a cache may differ at each fetch.
    private func request(of definition: OrderDefinition) throws -> OrderRequest {
        let context = managedObjectContext
        if cacheName == nil { return try definition.compile(in: context.model) }
        return try context.container.compiledOrders.request(definition, in: context.snapshot())
    }

    func cacheRequest(_ name: String, _ request: OrderRequest) -> CacheRequest {
        CacheRequest(
            name: name, order: request, needsExactChange: needsExactChange,
            author: managedObjectContext.transactionAuthor)
    }

    /// The assessment of the cache in the context's state. Returns the merge's assessment if the merge has already
    /// assessed the cache for the same request.
    private func assess(_ cache: CacheRequest, _ newest: NewestOrders?) throws -> CacheAssessment {
        if !needsExactChange, live?.request.identity == cache.order.identity,
            let known = newest?.assessments[cache.name]
        {
            return known
        }
        return try managedObjectContext.container.cacheEngine.assess(cache, in: managedObjectContext.snapshot())
    }

    /// Whether the live order has the request and is current. If the controller has a cache name, the order must also
    /// be read from the cache, and the cache must be current.
    private func isCurrent(_ request: OrderRequest, _ assessment: CacheAssessment?) -> Bool {
        guard case .order(let live) = shown, live.request.identity == request.identity else { return false }
        return assessment.map { live.isStored && $0.isCurrent } ?? true
    }

    private func fetchOutcome(_ outcome: OrderOutcome<RecordKey>) -> FetchOutcome {
        outcome.identified { managedObjectContext.id(of: $0) }
    }

    private func checkName(_ request: OrderRequest) throws {
        for follower in managedObjectContext.liveFollowers where follower !== self {
            if let followed = follower.followed, followed.name == cacheName,
                followed.order.identity != request.identity
            {
                throw ContextError.cacheNameInUse(followed.name)
            }
        }
    }

    private func open(
        _ definition: OrderDefinition, _ request: OrderRequest, _ cache: CacheRequest?, _ assessment: CacheAssessment?
    ) throws -> (LiveOrder, OrderOutcome<RecordKey>) {
        let context = managedObjectContext
        guard let cache else {
            let (planned, selection) = try context.plan(definition)
            let computed = try CacheEngine.compute(planned, in: try context.snapshot(), from: selection)
            return (try live(request, computed), computed.outcome)
        }
        let engine = context.container.cacheEngine
        if context.delivery.isUnderWay {
            let opened = try engine.open(cache, assessment, in: context.snapshot(), writing: .nothing()).opened
            return (try live(request, opened), opened.isStored ? .hit : .computed)
        }
        let reading = try engine.open(
            cache, assessment, in: context.snapshot(), writing: needsExactChange ? .atEnd : .atOnce)
        if needsExactChange { self.reading = reading }
        try context.advanceIfNeeded(to: reading.snapshot)
        return (try live(request, reading.opened), reading.opened.outcome)
    }

    /// The key paths in the request's `observedKeyPaths`, resolved for each entity whose objects may be rows.
    private func observedPaths(_ request: OrderRequest) throws -> [RelatedPath] {
        if fetchRequest.observedKeyPaths.isEmpty { return [] }
        let model = managedObjectContext.model
        return try fetchRequest.observedKeyPaths.flatMap { name in
            try request.builder.entities.map { try RelatedPath.named(name, from: $0, in: model) }
        }
    }

    /// Makes a live order from an opened order, with the request's limit and offset and the context's unsaved edits.
    private func live(_ request: OrderRequest, _ opened: OpenedOrder) throws -> LiveOrder {
        let live = try LiveOrder(
            request, opened, observing: observedPaths(request), offset: fetchRequest.offset,
            limit: fetchRequest.limit)
        let unsaved = managedObjectContext.reportedEdits
        if !unsaved.isEmpty {
            let context = managedObjectContext
            _ = try live.edit(unsaved, context.states(from: [:], to: context.core.edits.reported))
        }
        return live
    }
}
