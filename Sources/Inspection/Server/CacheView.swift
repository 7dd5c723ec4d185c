internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexPredicates
internal import Synchronization
internal import FetchIndexInspection

/// A live, read-only view of a cache's rows. Rows are read by rank when the page asks for them.
///
///     closed ──open──> opened ──bringUpToDate: changes are collected──> opened ──advance──> an event with the changes
///        ^                │
///        └─────close──────┘  after an error of the store or cache, or if the request or the model changed:
///                            `advance` then returns a reset or throws
actor CacheView {
    private static let mostEvents = 1000
    /// The maximum number of changes that a shown cache may be behind: catching up with more changes in memory would take
    /// too long.
    private static let mostBehind = 1_000_000
    /// The number of the newest state; all views share the counter.
    private static let lastState = Mutex(0)

    struct Opened {
        let context: ManagedObjectContext
        let controller: FetchedResultsController<ManagedObject>
        let changes: Changes
        let definition: OrderDefinition
        let modelVersion: UInt32
    }

    /// Collects the controller's changes for `advance`.
    final class Changes: FetchedResultsControllerDelegate {
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
    /// Whether the listeners must be told to read everything again.
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

    /// Returns the request of the cache. Throws `Unshown` if the rows can't be shown, for example because the order
    /// must be rebuilt.
    private func definition(in state: PinnedState) throws -> OrderDefinition {
        let facts = try state.facts(ofCache: name)
        switch facts.state {
        case .current: break
        case .behind(let changes):
            guard changes <= Self.mostBehind else {
                throw Unshown(
                    name, "is \(facts.state.sentence), too far to show its rows; a fetch with its request catches it up"
                )
            }
        case .unusable: throw Unshown(name, "is \(facts.state.sentence); a fetch with its request rebuilds it")
        }
        guard case .readable(let request) = try state.request(ofCache: name),
            let isComparable = try? request.isComparable()
        else { throw Unshown(name, "cannot be shown: its request cannot be used with this program, machine or model") }
        guard isComparable else {
            throw Unshown(
                name, "was built with another model or other rules of order; a fetch with its request rebuilds it")
        }
        return try request.definition()
    }

    private func open() throws -> Opened {
        let state = try container.pinnedState()
        let definition: OrderDefinition
        do { definition = try self.definition(in: state) } catch {
            close()
            throw error
        }
        if let opened, opened.definition == definition, opened.modelVersion == state.modelVersion { return opened }
        close()
        let context = container.newContext()
        let controller = try FetchedResultsController(definition, context, cacheName: name)
        let changes = Changes()
        controller.delegate = changes
        try controller.performFetch()
        let new = Opened(
            context: context, controller: controller, changes: changes, definition: definition,
            modelVersion: state.modelVersion)
        opened = new
        return new
    }

    private func close() {
        if opened != nil { needsReset = true }
        opened = nil
    }

    /// Opens the order or, if it's open, advances it to the newest commit. The changes are collected for `advance`.
    func bringUpToDate() throws -> Opened {
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

    /// Advances to the newest commit. Returns what changed since the last call, or a reset if the view was closed
    /// since. Returns nil if nothing changed, or if the view isn't open and no reset is due.
    func advance() throws -> RowsEvent? {
        // The page hasn't asked for rows yet, or not since the last error.
        if opened == nil, !needsReset { return nil }
        let current: Opened
        do { current = try bringUpToDate() } catch {
            // The caller sends a reset; the page then asks for the rows and gets the reason.
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
        var counts: [ChangeKind: Int] = [:]
        var isComputed = false
        for batch in opened.changes.batches {
            if batch.rebuilt != nil { isComputed = true }
            if !batch.sections.isEmpty { event.shifts = true }
            for row in batch.rows {
                counts[row.kind, default: 0] += 1
                if event.rows.count < Self.mostEvents {
                    event.rows.append([Self.text(row.id), row.kind.participle])
                }
            }
        }
        event.shifts = event.shifts || isComputed || counts.keys.contains { $0 != .update }
        let kinds: [ChangeKind] = [.insert, .update, .move, .delete]
        let words = kinds.compactMap { kind in counts[kind].map { "\(Numbers.grouped($0)) \(kind.participle)" } }
        event.sentence = isComputed ? "the order was rebuilt" : words.joined(separator: ", ")
        return event
    }

    /// Calls the body with the order. An open order isn't advanced here: its follower advances it.
    func read<Result>(_ body: (Opened, FetchedOrder) throws -> Result) throws -> Result {
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
}

/// The reason why the rows of a cache can't be shown.
struct Unshown: Error, CustomStringConvertible {
    let description: String

    init(_ name: String, _ reason: String) { description = "the cache \"\(name.visible)\" \(reason)" }
}
