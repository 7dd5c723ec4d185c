internal import FetchIndexOrderCaches
internal import FetchIndexModels
internal import FetchIndexRecords
public import FetchIndexValues

/// The objects of a request, sorted and in sections. The controller keeps its rows current with its context, and
/// reports what changed.
///
/// Sections and rows are read on demand, so a fetch opens a current cache in O(log n), however many rows it has. When
/// the context processes edits, saves, merges or rolls back, the controller advances with it, and reports the changes
/// to its delegate and to `changes`.
///
///     let controller = try FetchedResultsController(
///         fetchRequest: request, context: context, sectionKey: .attribute("publisher"), cacheName: "by publisher")
///     try controller.performFetch()
///     for section in controller.sections { print(section.name, section.count) }
public final class FetchedResultsController<Object: ManagedObject> {
    /// The request. A new request takes effect with the next successful `performFetch`.
    public var fetchRequest: FetchRequest<Object>
    public let managedObjectContext: ManagedObjectContext
    public let sectionKey: SectionKey?
    public let sectionOrder: SectionOrder
    /// The name of the cache; nil to compute the order in memory.
    public let cacheName: String?
    public weak var delegate: (any FetchedResultsControllerDelegate<Object>)? {
        didSet { snapshotDelegate = delegate as? any FetchedResultsControllerSnapshotDelegate<Object> }
    }
    private(set) weak var snapshotDelegate: (any FetchedResultsControllerSnapshotDelegate<Object>)?
    /// The error that made the controller empty, usually because records that it needs are damaged; nil without such an
    /// error.
    public var failure: (any Error)? { if case .failure(let error, _) = shown { error } else { nil } }

    let requiresSortKeys: Bool
    let needsExactChange: Bool

    // The context's isolation domain guards the following properties.
    var shown = ShownOrder.nothing { didSet { version &+= 1 } }
    var live: LiveOrder? { shown.live }
    /// A number that increases when `shown` is set, and when its order follows the context. If the number has changed,
    /// an iterator no longer uses the sections that it has read in advance, and reads on.
    var version = 0
    /// The observers of the results; nil until the results are read.
    var observers: Observers?
    /// The properties of the fetch that opened the order. A fetch with equal properties keeps a current order, and a
    /// repaired order has this offset and limit.
    var fetched: Fetched?
    /// The change with which the order last followed the context. A fetch sets it to nil before it merges, and then
    /// finds the merge's change here.
    var merged: OrderChange<RecordKey>?
    /// The change to be delivered next, if any.
    var undelivered: OrderChange<RecordKey>?
    /// The cache as a fetch last opened it, for the next `settle` to store; nil after that. Only for controllers that
    /// need the exact change.
    var reading: CacheReading?
    /// The sequences of changes, by their numbers. A sequence that has ended is removed at the next change.
    var streams: [Int: AsyncStream<ResultsChange>.Continuation] = [:]
    private var nextStream = 0

    /// Makes a controller for a request. Throws `ContextError.noSortKeys` if the request has no sort key, and
    /// `ContextError.notCacheable` if a cache name is given but the request can't be cached.
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

    init(
        _ fetchRequest: FetchRequest<Object>, _ context: ManagedObjectContext, sectionKey: SectionKey?,
        sectionOrder: SectionOrder, cacheName: String?, requiresSortKeys: Bool, needsExactChange: Bool = false
    ) throws {
        self.needsExactChange = needsExactChange
        self.requiresSortKeys = requiresSortKeys
        self.fetchRequest = fetchRequest
        self.managedObjectContext = context
        self.sectionKey = sectionKey
        self.sectionOrder = sectionOrder
        self.cacheName = cacheName
        try validate()
    }

    deinit { for stream in streams.values { stream.finish() } }

    @discardableResult
    func validate() throws -> OrderDefinition {
        if requiresSortKeys, fetchRequest.sortKeys.isEmpty { throw ContextError.noSortKeys }
        let definition = fetchRequest.resultsDefinition(sectionKey, sectionOrder)
        if cacheName != nil, let what = definition.uncacheableReason { throw ContextError.notCacheable(what) }
        return definition
    }

    struct Fetched: Equatable {
        let definition: OrderDefinition
        let offset: Int
        let limit: Int?
        let observed: [String]
    }

    /// Deletes a cache; if the name is nil, all caches that belong to no index. A live controller of a deleted cache
    /// continues in memory. Throws `CacheError.locked` if one of the caches is locked, in which case none is deleted.
    public static func deleteCache(named name: String?, in container: PersistentContainer) throws {
        try container.deleteCache(named: name)
    }

    // MARK: Reading

    /// Calls the body with the window of rows; returns nil before the first fetch and after a failure. If the body
    /// throws, recomputes the order from the records, in memory, and calls the body again. If that fails, too, returns
    /// nil: the controller becomes empty, and `failure` has the error.
    func read<Result>(_ body: (OrderWindow) throws -> Result) -> Result? {
        guard let window = live?.window else { return nil }
        do { return try body(window) } catch {}
        guard let broken = live else { return nil }
        do {
            let repaired = try recompute(broken)
            shown = .repaired(repaired)
            return try body(repaired.window)
        } catch {
            fail(error)
            if !managedObjectContext.delivery.isUnderWay { deliver() }
            return nil
        }
    }

    /// Recomputes a damaged order from the records that the context sees, in memory.
    func recompute(_ broken: LiveOrder) throws -> LiveOrder {
        let context = managedObjectContext
        let computed = try CacheEngine.compute(broken.request, in: try context.snapshot())
        let repaired = try LiveOrder(
            broken.request, computed, observing: broken.observed, offset: fetched?.offset ?? 0, limit: fetched?.limit)
        let unsaved = context.reportedEdits
        if !unsaved.isEmpty {
            _ = try repaired.edit(unsaved, context.states(from: [:], to: context.core.edits.reported))
        }
        return repaired
    }

    func fail(_ error: any Error) { shown = .failure(publicError(error), isTold: false) }

    /// The sections, which are read on demand; empty before the first fetch and after a failure. O(1) for the count,
    /// O(log n) for an element.
    public var sections: ResultsSections<Object> {
        noteRead()
        return ResultsSections(self)
    }

    /// The rows of all sections; nil before the first fetch and after a failure. O(1) for the count, O(log n) for an
    /// element.
    public var fetchedObjects: ResultsObjects<Object>? {
        noteRead()
        return live == nil ? nil : ResultsObjects(self, sectionIndex: nil)
    }

    var sectionCount: Int { live?.window.sectionCount ?? 0 }
    var rowCount: Int { live?.window.rowCount ?? 0 }

    /// Traps if no section has the index, unless damage may have changed the number of sections.
    func requireSection(_ index: Int) {
        precondition(
            index >= 0 && index < sectionCount || shown.hasMetDamage,
            "A section index must be less than the section count.")
    }

    /// The object at a path. O(log n). Traps if no row has the path, unless damage may have changed the rows.
    public func object(at path: RowPath) -> Object {
        noteRead()
        let id = read { try $0.object(at: path) } ?? nil
        // If damage has changed the number of rows, the path isn't the caller's mistake.
        precondition(id != nil || shown.hasMetDamage, "A path must be that of a row in the results.")
        return object(id)
    }

    func object(atRow row: Int) -> Object {
        precondition(row >= 0 && row < rowCount || shown.hasMetDamage, "A row index must be less than the row count.")
        return object(read { $0.rowCount > row ? try $0.row(at: row).object : nil } ?? nil)
    }

    /// The number of the request's entity, also after a failure; 0 if it can't be found.
    var entityNumber: Int {
        live?.request.builder.entity ?? (try? managedObjectContext.model.number(of: fetchRequest.entityName)) ?? 0
    }

    /// Returns the object with a key. If the key is nil, because of damage, returns an object without values.
    func object(_ id: RecordKey?) -> Object {
        let id = id ?? managedObjectContext.container.temporaryKey(entityNumber)
        guard let object = try? managedObjectContext.typedObject(with: id, as: Object.self) else {
            // The program has used another class for the entity, or a damaged order has the key of another entity.
            preconditionFailure(
                "Entity \"\(fetchRequest.entityName)\" isn't represented by class \(Object.self) in this context.")
        }
        return object
    }

    /// An aggregate of the rows in a range, whose indexes count over all sections. O(log n). Null before the first
    /// fetch, and after a failure, which `failure` reports. Otherwise traps if the fetched request doesn't have
    /// the aggregate, or if the range isn't within the rows; a range that ends after them doesn't trap if damage may
    /// have changed them.
    public func aggregate(_ aggregate: Aggregate<Object>, in range: Range<Int>) -> Value {
        noteRead()
        guard let columns = live?.window.order.shape.aggregates else { return .null }
        precondition(columns.contains(aggregate), "The request doesn't have this aggregate.")
        precondition(
            range.lowerBound >= 0 && (range.upperBound <= rowCount || shown.hasMetDamage),
            "A range of rows must be within the results.")
        return read { try columns.value(of: aggregate, in: $0.summary(ofRows: range)) } ?? .null
    }

    /// The path of an object in the results; nil if the results don't contain the object. O(log n).
    public func indexPath(forObject object: Object) -> RowPath? {
        noteRead()
        return object.core === managedObjectContext.core ? path(of: object.key) : nil
    }

    func path(of object: RecordKey) -> RowPath? {
        guard let record = managedObjectContext.viewedRecord(of: object), let builder = live?.request.builder else {
            return nil
        }
        return read { [context = managedObjectContext] window in
            guard let placer = try builder.placer(of: object.entity) else { return nil }
            let state = ChangedState(context.core.edits.reported, over: try context.snapshot())
            return try window.position(of: object, record, placer, in: state)
        } ?? nil
    }

    /// The names of the sections and the ids of the rows, copied from the current results. O(rows + sections x log n).
    public var snapshot: ResultsSnapshot {
        let sections = Array(sections)
        let rows = read { try $0.objects() } ?? sections.map { _ in [] }
        return ResultsSnapshot(
            sectionNames: sections.map(\.name), sectionObjectIDs: sections.map(\.objectID),
            objectIDs: rows.map { $0.map { managedObjectContext.id(of: $0) } })
    }

    // MARK: Changes

    /// A sequence of all later change batches. Each access makes a new sequence, which buffers batches until they are
    /// consumed.
    public var changes: AsyncStream<ResultsChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: ResultsChange.self)
        streams[nextStream] = continuation
        nextStream += 1
        return stream
    }
}
