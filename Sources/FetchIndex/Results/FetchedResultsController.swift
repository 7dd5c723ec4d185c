internal import OrderCaches
internal import Models
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
    public internal(set) var failure: (any Error)?

    let requiresSortKeys: Bool
    let wantsChange: Bool
    var live: LiveOrder?
    /// Of what observers have read; nil when nothing was.
    var observers: Observers?
    /// What was fetched last.
    var fetched: Fetched?
    /// What the last step changed.
    var merged: OrderChange?
    /// The same, until it is delivered.
    var undelivered: OrderChange?
    var isFailureUndelivered = false
    /// Whether the order was found damaged since it was fetched.
    var metDamage = false
    var streams: [Int: AsyncStream<ResultsChange>.Continuation] = [:]
    private var nextStream = 0

    /// Throws when the request has no sort key, or cannot be kept under a name and has one.
    public convenience init(
        fetchRequest: FetchRequest<Object>, context: ManagedObjectContext, sectionKey: SectionKey? = nil,
        sectionOrder: SectionOrder = .byFirstRow, cacheName: String? = nil
    ) throws {
        do {
            try self.init(
                fetchRequest, context, sectionKey: sectionKey, sectionOrder: sectionOrder, cacheName: cacheName,
                requiresSortKeys: true)
        } catch { throw publicError(error) }
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

    func validate() throws {
        if requiresSortKeys, fetchRequest.sortKeys.isEmpty { throw ContextError.noSortKeys }
        let definition = fetchRequest.definition(sectionKey: sectionKey, sectionOrder: sectionOrder)
        if cacheName != nil, let what = definition.whyNotCacheable { throw ContextError.notCacheable(what) }
    }

    struct Fetched: Equatable {
        let definition: OrderDefinition
        let offset: Int
        let limit: Int?
    }

    /// Takes out a named cache, or all of them when no name is given. A live controller of the name goes on in memory.
    public static func deleteCache(named name: String?, in container: PersistentContainer) throws {
        try container.deleteCache(named: name)
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
            if !managedObjectContext.delivery.isUnderWay { deliver() }
            return nil
        }
    }

    /// The order as the context's records give it, in memory.
    func mend(_ broken: LiveOrder) throws -> LiveOrder {
        metDamage = true
        let context = managedObjectContext
        let computed = try CacheEngine.compute(broken.request, in: try context.snapshot())
        var mended = try LiveOrder(broken.request, computed, offset: fetched?.offset ?? 0, limit: fetched?.limit)
        let unsaved = context.reportedEdits
        if !unsaved.isEmpty { _ = try mended.edit(unsaved) }
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
        let id = read { try $0.object(at: path.position) } ?? nil
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
        let position = read { try $0.position(of: object.key, record, live.request.builder.placer) } ?? nil
        return position.map(RowPath.init)
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
