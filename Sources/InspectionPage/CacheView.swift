internal import FetchIndex
internal import Models
internal import OrderCaches
internal import Predicates
internal import Records
internal import Synchronization
internal import SystemBasics
internal import Wording

/// The rows of a cache as they are now, by rank. Nothing is loaded in advance, and nothing is written.
actor CacheView {
    /// Rows or sections in an answer.
    static let mostRows = 500
    private static let mostTextLength = 300
    private static let mostEvents = 1000
    /// A cache further behind shows no rows: catching it up in memory would take too long.
    private static let mostBehind = 1_000_000
    /// How long a search reads until it answers with what it has found.
    private static let searchTime = Duration.milliseconds(12)
    /// The number of the newest state of any view.
    private static let lastState = Mutex(0)

    private struct Opened {
        let context: ManagedObjectContext
        let controller: FetchedResultsController<ManagedObject>
        let changes: Changes
        let identity: CacheIdentity
        let modelVersion: UInt32
    }

    /// Collects what the controller tells until it is passed on.
    private final class Changes: FetchedResultsControllerDelegate {
        typealias Object = ManagedObject

        var batches: [ResultsChange] = []
        var failure: (any Error)?
        var state = CacheView.nextState()

        func controller(_ controller: FetchedResultsController<ManagedObject>, didChange change: ResultsChange) {
            batches.append(change)
            state = CacheView.nextState()
        }

        func controller(_ controller: FetchedResultsController<ManagedObject>, didFailWith error: any Error) {
            failure = error
        }
    }

    nonisolated let name: String
    nonisolated private let container: PersistentContainer
    private let executor: QueueExecutor
    private var opened: Opened?
    /// Whether those who look at the rows must be told to begin anew.
    private var needsReset = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ name: String, in container: PersistentContainer) {
        (self.name, self.container) = (name, container)
        executor = QueueExecutor("rows of \(name)")
    }

    private static func nextState() -> Int {
        lastState.withLock { state in
            state += 1
            return state
        }
    }

    // MARK: Opening and following

    /// Throws `Unshown` for a cache whose rows could only be shown by computing its order.
    private func identity(in snapshot: Snapshot) throws -> CacheIdentity {
        let state = try container.caches.state(of: name, in: snapshot)
        guard let header = state.header, state.unusable == nil else {
            throw Unshown(
                name, "is unusable (\(state.unusable?.rawValue ?? "damaged")); a fetch with its request builds it anew")
        }
        guard let behind = state.changesBehind, behind <= Self.mostBehind else {
            throw Unshown(name, "is too far behind to show its rows; fetchindex refresh brings it up to date")
        }
        guard let request = try? CacheRequest(ofStored: name, in: snapshot) else {
            throw Unshown(name, "has a key that only its program knows, so its rows cannot be shown")
        }
        guard request.order.identity == header.identity else {
            throw Unshown(name, "was built with other rules of text order; a fetch with its request builds it anew")
        }
        return header.identity
    }

    private func open() throws -> Opened {
        let snapshot = try container.store.snapshot()
        let identity: CacheIdentity
        do { identity = try self.identity(in: snapshot) } catch {
            close()
            throw error
        }
        if let opened, opened.identity == identity, opened.modelVersion == snapshot.modelVersion { return opened }
        close()
        let definition = try OrderDefinition(identity, in: snapshot.model)
        let context = container.newContext()
        var fetch = FetchRequest<ManagedObject>(entityName: definition.entity)
        fetch.predicate = definition.predicate
        fetch.sortKeys = definition.sortKeys
        fetch.includesSubentities = definition.includesSubentities
        fetch.aggregates = definition.aggregates
        let controller = try FetchedResultsController(
            fetch, context, sectionKey: definition.sectionKey, sectionOrder: definition.sectionOrder, cacheName: name,
            requiresSortKeys: false)
        let changes = Changes()
        controller.delegate = changes
        try controller.performFetch()
        let new = Opened(
            context: context, controller: controller, changes: changes, identity: identity,
            modelVersion: snapshot.modelVersion)
        opened = new
        return new
    }

    private func close() {
        if opened != nil { needsReset = true }
        opened = nil
    }

    /// Opens the order, or brings it to the newest commit. What that changes is kept for `advance`.
    private func bringUpToDate() throws -> Opened {
        let current = try open()
        do {
            try current.context.mergeChanges()
            if let failure = current.changes.failure { throw failure }
        } catch {
            close()
            throw error
        }
        return current
    }

    /// Advances to the newest commit. The result is what changed since it was last asked for; nil for nothing. Throws `StoreError`
    /// and `Unshown`.
    func advance() throws -> RowsEvent? {
        // Nobody has asked for rows.
        if opened == nil, !needsReset { return nil }
        let current: Opened
        do { current = try bringUpToDate() } catch {
            // What follows tells the reason to those who ask.
            needsReset = false
            throw error
        }
        defer { current.changes.batches = [] }
        if needsReset {
            needsReset = false
            return RowsEvent(cache: name, isReset: true)
        }
        return current.changes.batches.isEmpty ? nil : event(current)
    }

    private func event(_ opened: Opened) -> RowsEvent {
        let order = opened.controller
        var event = RowsEvent(cache: name, state: opened.changes.state)
        event.count = order.fetchedObjects?.count ?? 0
        event.sectionCount = order.sections.count
        var (inserted, updated, moved, deleted, other) = (0, 0, 0, 0, false)
        for batch in opened.changes.batches {
            if batch.rebuilt != nil { other = true }
            if !batch.sections.isEmpty { event.shifts = true }
            for row in batch.rows {
                let kind: String
                switch row {
                case .insert: (kind, inserted) = ("inserted", inserted + 1)
                case .update: (kind, updated) = ("updated", updated + 1)
                case .move: (kind, moved) = ("moved", moved + 1)
                case .delete: (kind, deleted) = ("deleted", deleted + 1)
                }
                if event.rows.count < Self.mostEvents { event.rows.append([Self.text(row.id), kind]) }
            }
        }
        event.shifts = event.shifts || inserted + moved + deleted > 0 || other
        let parts = [(inserted, "inserted"), (updated, "updated"), (moved, "moved"), (deleted, "deleted")]
        let words = parts.filter { $0.0 > 0 }.map { "\(Numbers.grouped($0.0)) \($0.1)" }
        event.sentence = other ? "the order was computed anew" : words.joined(separator: ", ")
        return event
    }

    // MARK: Reading

    /// Calls the body with the order. What has been opened is advanced by its follower.
    private func read<Result>(_ body: (Opened, FetchedOrder) throws -> Result) throws -> Result {
        let current = try opened ?? open()
        do {
            guard let order = try current.controller.savedOrder() else {
                throw current.controller.failure ?? Unshown(name, "cannot be read")
            }
            return try body(current, order)
        } catch let error as StoreError {
            close()
            throw error
        }
    }

    /// The first thing that the page asks for: as new as can be.
    func view() throws -> ViewMessage {
        _ = try bringUpToDate()
        return try read { opened, order in
            ViewMessage(
                state: opened.changes.state,
                columns: order.attributeColumns.map {
                    ViewMessage.Column(name: $0.name.visible, kind: Self.kind($0.type))
                }, hasSections: opened.controller.sectionKey != nil, count: order.rowCount,
                sectionCount: order.sectionCount)
        }
    }

    private static func kind(_ type: ValueType) -> String {
        switch type {
        case .integer, .double, .decimal: "number"
        case .date: "date"
        default: "text"
        }
    }

    /// Rows by their numbers over all sections. O(log n + rows).
    func rows(from start: Int, limit: Int) throws -> RowsMessage {
        try read { _, order in
            guard start >= 0, start < order.rowCount else { return RowsMessage(rows: []) }
            var rows: [RowsMessage.Row] = []
            var section: (index: Int, name: String?)?
            let columns = order.attributeColumns.count
            try order.forEachRow(from: start, limit: min(limit, Self.mostRows)) { row in
                if section?.index != row.path.section {
                    let found = try order.section(at: row.path.section)
                    section = (row.path.section, found.isNull ? nil : Self.shown(found.name))
                }
                rows.append(
                    RowsMessage.Row(
                        id: Self.text(row.id), section: row.path.section, sectionRow: row.path.row,
                        sectionName: section?.name, values: try Self.values(row, columns)))
            }
            return RowsMessage(rows: rows)
        }
    }

    /// O(log n + sections).
    func sections(from start: Int, limit: Int) throws -> SectionsMessage {
        try read { _, order in
            var left = min(limit, Self.mostRows)
            var sections: [SectionsMessage.Section] = []
            guard start >= 0, start < order.sectionCount, left > 0 else { return SectionsMessage(sections: []) }
            try order.forEachSection(from: start) { section in
                sections.append(
                    SectionsMessage.Section(
                        name: section.isNull ? nil : Self.shown(section.name), count: section.count,
                        rowsBefore: section.rowsBefore))
                left -= 1
                return left > 0
            }
            return SectionsMessage(sections: sections)
        }
    }

    /// Where an object is now. O(log n).
    func place(of id: UInt64) throws -> PlaceMessage {
        try read { opened, _ in PlaceMessage(row: opened.controller.row(of: RecordKey(rawValue: id))) }
    }

    /// Rows that match a predicate, from one on, for so long as a search may take.
    func search(_ format: String, from start: Int, limit: Int) throws -> SearchMessage {
        let predicate = try MalformedPredicate.naming(format) { try FetchPredicate(format: format, argumentArray: []) }
        return try read { opened, order in
            let end = ContinuousClock.now + Self.searchTime
            let most = min(max(1, limit), Self.mostRows)
            let columns = order.attributeColumns.count
            var matches: [SearchMessage.Match] = []
            let next = try order.search(predicate, from: max(0, start)) { _ in
                matches.count >= most || ContinuousClock.now >= end
            } _: { number, row in
                matches.append(
                    SearchMessage.Match(id: Self.text(row.id), number: number, values: try Self.values(row, columns)))
            }
            return SearchMessage(
                matches: matches, next: next, count: order.rowCount, state: opened.changes.state)
        }
    }

    private static func text(_ id: ObjectID) -> String { String(id.key.rawValue) }

    private static func values(_ row: borrowing FetchedRow, _ count: Int) throws -> [String?] {
        var values: [String?] = []
        for index in 0..<count {
            let value = try row.value(at: index)
            values.append(value == .null ? nil : shown(value.description))
        }
        return values
    }

    private static func shown(_ text: String) -> String { text.shortened(to: mostTextLength) }
}

/// Why the rows of a cache are not shown.
struct Unshown: Error, CustomStringConvertible {
    let description: String

    init(_ name: String, _ reason: String) { description = "the cache \"\(name.visible)\" \(reason)" }
}
