internal import Records

/// The objects of a request in order and in sections, kept up to date, with exact changes.
///
/// Sections and rows are read from the order as they are asked for: nothing is loaded in advance, so that a controller
/// on a fresh named cache costs the same for ten rows as for ten million. It is a view of its context: it moves when the
/// context processes edits, saves, merges or rolls back, and then tells its delegate and `changes` what changed.
///
///     let controller = try FetchedResultsController(
///         fetchRequest: request, context: context, sectionKey: .attribute("publisher"), cacheName: "by publisher")
///     try controller.performFetch()
///     for section in controller.sections { print(section.name, section.count) }
public final class FetchedResultsController<Object: ManagedObject> {
    /// What is fetched. A new request takes effect with the next `performFetch`, which reports the difference.
    public var fetchRequest: FetchRequest<Object>
    public let managedObjectContext: ManagedObjectContext
    public let sectionKey: SectionKey?
    public let sectionOrder: SectionOrder
    /// The name that the order is kept under; nil: it is computed in memory.
    public let cacheName: String?
    public weak var delegate: (any FetchedResultsControllerDelegate<Object>)? {
        didSet { snapshotDelegate = delegate as? any FetchedResultsControllerSnapshotDelegate<Object> }
    }
    private(set) weak var snapshotDelegate: (any FetchedResultsControllerSnapshotDelegate<Object>)?
    /// The error that made the controller give up: damage in records that it needed. It is empty until it fetches again.
    public private(set) var failure: (any Error)?

    private let requiresSortKeys: Bool
    private let wantsChange: Bool
    var live: LiveOrder?
    /// Of what observers have read; nil when nothing was.
    var observers: Observers?
    private var fetched: (definition: OrderDefinition, offset: Int, limit: Int?)?
    /// What the last step changed.
    var merged: OrderChange?
    /// The same, until it is delivered.
    var undelivered: OrderChange?
    var isFailureUndelivered = false
    /// Whether the delegate is just being told of a batch.
    var isTelling = false
    /// Whether the order was found damaged since it was fetched.
    private var metDamage = false
    var streams: [Int: AsyncStream<ResultsChange>.Continuation] = [:]
    private var nextStream = 0

    /// Throws when the request has no sort key, or cannot be kept under a name and has one.
    public convenience init(
        fetchRequest: FetchRequest<Object>, context: ManagedObjectContext, sectionKey: SectionKey? = nil,
        sectionOrder: SectionOrder = .byFirstRow, cacheName: String? = nil
    ) throws {
        try self.init(
            fetchRequest, context, sectionKey: sectionKey, sectionOrder: sectionOrder, cacheName: cacheName,
            requiresSortKeys: true)
    }

    /// The tool watches orders without sort keys too, and wants the exact change since a cache was last current whatever
    /// it costs.
    package init(
        _ fetchRequest: FetchRequest<Object>, _ context: ManagedObjectContext, sectionKey: SectionKey?,
        sectionOrder: SectionOrder, cacheName: String?, requiresSortKeys: Bool, wantsChange: Bool = false
    ) throws {
        self.wantsChange = wantsChange
        self.requiresSortKeys = requiresSortKeys
        self.fetchRequest = fetchRequest
        self.managedObjectContext = context
        self.sectionKey = sectionKey
        self.sectionOrder = sectionOrder
        self.cacheName = cacheName
        try validate()
    }

    deinit { for stream in streams.values { stream.finish() } }

    private func validate() throws {
        if requiresSortKeys, fetchRequest.sortKeys.isEmpty { throw ContextError.noSortKeys }
        let definition = fetchRequest.definition(sectionKey: sectionKey, sectionOrder: sectionOrder)
        if cacheName != nil, let what = definition.whyNotCacheable { throw ContextError.notCacheable(what) }
    }

    /// Takes out a named cache, or all of them when no name is given. A live controller of the name goes on in memory.
    public static func deleteCache(named name: String?, in container: PersistentContainer) throws {
        try container.deleteCache(named: name)
    }

    // MARK: Fetching

    /// Opens the order, and moves the context to the store's newest state. A named one costs O(log n) when its cache is
    /// fresh, O(k log n) when it is k changes behind; else the order is built, O(n log n). When the controller has
    /// fetched before and its request was changed, the difference is reported as a batch, O(rows).
    ///
    /// While changes are being delivered, the context stays at its state, and the order is opened there. A controller that is
    /// just telling its own delegate of a batch is in the state after it, and is given no other request then.
    ///
    /// Throws when the request does not fit the model, or its cache name is in use for another request.
    @discardableResult
    public func performFetch() throws -> FetchOutcome {
        try validate()
        let context = managedObjectContext
        try context.use(Object.self, for: fetchRequest.entityName)
        if context.isDelivering {
            deliver()
        } else {
            context.processPendingChanges()
            merged = nil
            try context.mergeChanges()
        }
        let definition = fetchRequest.definition(sectionKey: sectionKey, sectionOrder: sectionOrder)
        if isTelling {
            guard let fetched, fetched.definition == definition, fetched.offset == fetchRequest.offset,
                fetched.limit == fetchRequest.limit
            else { throw ContextError.delivering }
            return .hit
        }
        let request = try definition.compile(in: context.model)
        if try isCurrent(definition, request) {
            // The merge has brought it here, and has told what that changed.
            guard cacheName != nil else { return .computed }
            guard let merged, !merged.isEmpty else { return .hit }
            return .caughtUp(ResultsChange(merged, context.origin(ofEntity: request.builder.entity)))
        }
        try checkName(request)
        let (old, oldFetched) = (live, fetched)
        let (next, outcome) = try open(request)
        // Opening may have moved the context, and this controller with it.
        let oldOrder = old == nil ? nil : live ?? old
        live = next
        failure = nil
        metDamage = false
        fetched = (definition, fetchRequest.offset, fetchRequest.limit)
        if oldOrder == nil { noteChange() }
        context.follow(self)
        if let oldOrder, let oldFetched,
            oldFetched.definition != definition || oldFetched.offset != fetchRequest.offset
                || oldFetched.limit != fetchRequest.limit
        {
            undelivered = try oldOrder.change(to: next)
            let isDelivering = context.isDelivering
            context.isDelivering = true
            deliver()
            context.isDelivering = isDelivering
        }
        return FetchOutcome(outcome, context.origin(ofEntity: request.builder.entity))
    }

    /// Whether it has fetched just that, and follows it where it is kept.
    private func isCurrent(_ definition: OrderDefinition, _ request: OrderRequest) throws -> Bool {
        guard let live, let fetched, fetched.definition == definition, fetched.offset == fetchRequest.offset,
            fetched.limit == fetchRequest.limit, failure == nil, !metDamage, live.name == cacheName,
            live.request.identity == request.identity
        else { return false }
        guard let cacheName else { return true }
        let context = managedObjectContext
        return try context.container.caches.isFresh(
            .init(name: cacheName, request: request), in: try context.snapshot())
    }

    private func checkName(_ request: OrderRequest) throws {
        for follower in managedObjectContext.liveFollowers where follower !== self {
            if let followed = follower.followed, followed.name == cacheName,
                followed.request.identity != request.identity
            {
                throw ContextError.cacheNameInUse(followed.name)
            }
        }
    }

    private func open(_ request: OrderRequest) throws -> (LiveOrder, OrderOutcome) {
        let context = managedObjectContext
        let caches = context.container.caches
        let (offset, limit) = (fetchRequest.offset, fetchRequest.limit)
        var order: OrderOfCommit
        var outcome = OrderOutcome.computed
        if let cacheName, context.isDelivering {
            order = try caches.order(.init(name: cacheName, request: request), in: try context.snapshot())
            if order.isStored { outcome = .hit }
        } else if let cacheName {
            let snapshot: Snapshot
            (order, outcome, snapshot) = try caches.follow(
                .init(name: cacheName, request: request), wantsChange: wantsChange)
            try context.moveIfNeeded(to: snapshot)
        } else {
            order = try caches.order(request, in: try context.snapshot())
        }
        var live = try LiveOrder(request, order, offset: offset, limit: limit)
        let pending = context.reportedEdits
        if !pending.isEmpty { _ = try live.edit(pending) }
        return (live, outcome)
    }

    // MARK: Reading

    /// Reads the order. Damage in it is mended in memory, from the records; when those are damaged, the controller is
    /// empty from then on and `failure` says why.
    func read<Result>(_ body: (OrderWindow) throws -> Result) -> Result? {
        guard let broken = live else { return nil }
        do { return try body(broken.window) } catch {}
        do {
            let mended = try mend(broken)
            live = mended
            return try body(mended.window)
        } catch {
            fail(error)
            if !managedObjectContext.isDelivering { deliver() }
            return nil
        }
    }

    /// The order as the context's records give it, in memory.
    func mend(_ broken: LiveOrder) throws -> LiveOrder {
        metDamage = true
        let context = managedObjectContext
        let order = try context.container.caches.order(broken.request, in: try context.snapshot())
        var mended = try LiveOrder(broken.request, order, offset: fetched?.offset ?? 0, limit: fetched?.limit)
        let pending = context.reportedEdits
        if !pending.isEmpty { _ = try mended.edit(pending) }
        return mended
    }

    func fail(_ error: any Error) {
        live = nil
        failure = error
        isFailureUndelivered = true
    }

    /// The sections, read as they are asked for; empty before the first fetch. O(1) count, O(log n) an element.
    public var sections: ResultsSections<Object> {
        noteRead()
        return ResultsSections(self)
    }

    /// All rows over all sections; nil before the first fetch. O(1) count, O(log n) an element.
    public var fetchedObjects: ResultsObjects<Object>? {
        noteRead()
        return live == nil ? nil : ResultsObjects(self, sectionIndex: nil)
    }

    var sectionCount: Int { live?.window.sectionCount ?? 0 }
    var rowCount: Int { live?.window.rowCount ?? 0 }

    /// Damage may have miscounted the sections, which is no mistake of the caller.
    func requireSection(_ index: Int) {
        precondition(
            index >= 0 && index < sectionCount || metDamage || failure != nil,
            "A section index must be less than the section count.")
    }

    /// The object of a row. O(log n). Traps unless the row exists.
    public func object(at path: RowPath) -> Object {
        noteRead()
        let id = read { try $0.object(at: path) } ?? nil
        // What damage miscounted is no mistake of the caller.
        precondition(id != nil || metDamage, "A controller has no row outside of its sections.")
        return object(id)
    }

    func object(atRow row: Int) -> Object {
        precondition(row >= 0 && row < rowCount || metDamage, "A row index must be less than the row count.")
        return object(read { $0.rowCount > row ? try $0.row(at: row).object : nil } ?? nil)
    }

    /// The number of the entity, also after a failure.
    var entityNumber: Int {
        entity ?? (try? managedObjectContext.model.number(of: fetchRequest.entityName)) ?? 0
    }

    /// The object with an id; without one, where records are damaged, an object without values.
    func object(_ id: RecordKey?) -> Object {
        let id = id ?? managedObjectContext.container.temporaryKey(entityNumber)
        guard let object = try? managedObjectContext.typedObject(with: id, as: Object.self) else {
            // Only a program can do this, by using another class for the entity later: nothing is read from the store here.
            preconditionFailure("Objects of \(fetchRequest.entityName) are no \(Object.self) in this context.")
        }
        return object
    }

    /// The place of an object; nil when it is not among the results. O(log n).
    public func indexPath(forObject object: Object) -> RowPath? {
        noteRead()
        guard object.managedObjectContext === managedObjectContext,
            let record = managedObjectContext.viewedRecord(of: object.key), let live
        else { return nil }
        return read { try $0.position(of: object.key, record, live.request.builder.placer) } ?? nil
    }

    /// The sections' names and all objects' ids, as they are now. O(rows).
    public var snapshot: ResultsSnapshot {
        let names = sections.map(\.name)
        let rows = read { try $0.objects() } ?? names.map { _ in [] }
        let origin = managedObjectContext.origin(ofEntity: entityNumber)
        return ResultsSnapshot(sectionNames: names, objectIDs: rows.map { $0.map { ObjectID($0, origin) } })
    }

    // MARK: Changes

    /// The batches that the delegate gets, from now on. Each use makes a sequence of its own, which keeps batches until
    /// they are taken.
    public var changes: AsyncStream<ResultsChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: ResultsChange.self)
        streams[nextStream] = continuation
        nextStream += 1
        return stream
    }
}
