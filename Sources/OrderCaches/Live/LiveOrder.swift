package import FetchIndexModels
internal import FetchIndexCountedTree
package import FetchIndexRecords

/// An order that is followed from state to state: the order of a commit, and a fork over it with unsaved edits.
///
///     saved   --edit-->      edited          the edits are in a fork
///     edited  --rollBack-->  saved           all edits are undone
///     saved, edited --advance--> either      to a newer commit, with the remaining edits over it
///
/// Each step returns the exact change of the window. A step that throws leaves the order as it was, unless a read fails
/// that succeeded before in the same step. If the window has an offset or a limit, a step that changes rows also reads
/// all rows of the old and of the new window.
package final class LiveOrder {
    package let request: OrderRequest
    /// Paths to values whose changes are reported as updates of rows, even if they don't affect the order.
    package let observed: [RelatedPath]
    private let offset: Int
    private let limit: Int?
    /// The order of the saved records.
    package private(set) var saved: OpenedOrder
    /// The order with the unsaved edits, in a fork over the saved order; nil if the saved order is shown.
    private var fork: ForkedOrder?
    /// The rows that the reader sees: those that the offset and the limit leave.
    package private(set) var window: OrderWindow

    /// Begins to follow an order that was opened at a commit.
    package init(
        _ request: OrderRequest, _ order: OpenedOrder, observing observed: [RelatedPath] = [], offset: Int = 0,
        limit: Int? = nil
    ) throws {
        self.request = request
        self.observed = observed
        self.offset = offset
        self.limit = limit
        saved = order
        window = try OrderWindow(order.order, offset: offset, limit: limit)
    }

    /// The order that the window shows: with the unsaved edits, if any.
    private var current: SectionedOrder { fork?.order ?? saved.order }

    /// The request for the cache that contains the order, or over which the order is a fork; nil if the order is in
    /// memory.
    package var cache: CacheRequest? { saved.place.header.map { CacheRequest(name: $0.name, order: request) } }

    /// The entities whose changes may change the order or observed values, in ascending order.
    package var dependencies: [Int] {
        observed.isEmpty
            ? request.builder.dependencies
            : Set(request.builder.dependencies).union(observed.flatMap(\.reads.keys)).sorted()
    }

    /// Whether the saved order is in its cache.
    package var isStored: Bool { saved.isStored }

    private func window(on order: SectionedOrder) throws -> OrderWindow {
        try OrderWindow(order, offset: offset, limit: limit)
    }

    private func orderEdits(_ changes: [RecordChange], _ states: StateChange?) throws -> OrderEdits {
        try request.builder.edits(changes, states, observing: observed)
    }

    /// Creates a fork over an order, with the unsaved edits of a step; nil if the step has none.
    private func makeFork(over order: SectionedOrder, with step: Step) throws -> ForkedOrder? {
        if step.unsaved.isEmpty { return nil }
        var fork = ForkedOrder(over: order)
        try fork.update(try orderEdits(step.unsaved, step.states?.unsaved))
        return fork
    }

    // MARK: Unsaved edits

    /// Adds unsaved edits. Their old records must be those that the order reflects now. O(k log n) for k edits, without
    /// an offset or a limit.
    package func edit(_ edits: [RecordChange], _ states: StateChange?) throws -> OrderChange<RecordKey> {
        let rows = try orderEdits(edits, states)
        if rows.isEmpty { return OrderChange() }
        let current = current
        var next = ForkedOrder(over: current)
        let places = try next.update(rows)
        let change = try self.change(from: current, to: try window(on: next.order), edits, rows, places)
        // After this line, window(on:) only repeats reads that succeeded above, so it doesn't throw in practice.
        if let fork { next = next.publish(to: fork) }
        fork = next
        window = try window(on: next.order)
        return change
    }

    /// Undoes all unsaved edits. `changes` lead from the edited records back to the saved ones. O(k log n) for k
    /// changes, without an offset or a limit.
    package func rollBack(_ changes: [RecordChange], _ states: StateChange?) throws -> OrderChange<RecordKey> {
        let savedWindow = try window(on: saved.order)
        let change = try edit(changes, states)
        (window, fork) = (savedWindow, nil)
        return change
    }

    // MARK: Commits

    /// The changes of records from one commit to another, and those that a reader with unsaved edits sees.
    package struct Step {
        /// The changes from the old commit's records to the new one's.
        package let committed: [RecordChange]
        /// The changes from the new commit's records to the edits that are still unsaved.
        package let unsaved: [RecordChange]
        /// The changes from the records that the reader saw before to those that it sees now.
        package let net: [RecordChange]
        /// The states of records, for orders that read or observe records of other objects; nil if the model has no
        /// relationships.
        package var states: States?

        package struct States {
            let committed: StateChange
            let unsaved: StateChange
            let net: StateChange

            /// `old` and `new` are the states of the two commits; `seenOld` and `seenNew` are these states with the
            /// unsaved edits.
            package init(
                old: any RecordState, seenOld: any RecordState, new: any RecordState, seenNew: any RecordState
            ) {
                committed = StateChange(from: old, to: new)
                unsaved = StateChange(from: new, to: seenNew)
                net = StateChange(from: seenOld, to: seenNew)
            }
        }

        package init(committed: [RecordChange], unsaved: [RecordChange] = [], net: [RecordChange]? = nil) {
            self.committed = committed
            self.unsaved = unsaved
            self.net = net ?? committed
        }
    }

    /// Advances an order with a `cache` to a new commit. `next` is the order opened at this commit. O(k log n) for k
    /// changes, without an offset or a limit.
    package func advance(_ step: Step, to next: OpenedOrder) throws -> OrderChange<RecordKey> {
        let nextFork = try makeFork(over: next.order, with: step)
        let nextWindow = try window(on: nextFork?.order ?? next.order)
        let change: OrderChange<RecordKey>
        if case .stored(let header) = saved.place, header.commit == next.start, let known = next.change,
            nextFork == nil, fork == nil, isWhole, observed.isEmpty
        {
            change = known
        } else {
            let rows = try orderEdits(step.net, step.states?.net)
            change = try self.change(from: current, to: nextWindow, step.net, rows, nil)
        }
        window = nextWindow
        (saved, fork) = (next, nextFork)
        return change
    }

    /// Advances an order without a cache, which is in memory, to a new commit. O(k log n) for k changes, without an
    /// offset or a limit.
    package func advance(_ step: Step) throws -> OrderChange<RecordKey> {
        guard case .memory(let nodes) = saved.place else {
            preconditionFailure("An order with a cache can advance only to an order that was opened at the new commit.")
        }
        var next = ForkedOrder(over: saved.order)
        let rows = try orderEdits(step.committed, step.states?.committed)
        let places = try next.update(rows)
        let nextFork = try makeFork(over: next.order, with: step)
        let nextWindow = try window(on: nextFork?.order ?? next.order)
        let change =
            fork == nil && nextFork == nil
            ? try self.change(from: current, to: nextWindow, step.committed, rows, places)
            : try self.change(
                from: current, to: nextWindow, step.net, orderEdits(step.net, step.states?.net), nil)
        // The nodes are in memory, and window(on:) repeats reads that succeeded above, so the following lines don't
        // throw in practice.
        let published = OpenedOrder(try next.publish(to: nodes), .computed, in: .memory(nodes))
        let rebased = nextFork?.rebased(over: nodes)
        window = try window(on: rebased?.order ?? published.order)
        (saved, fork) = (published, rebased)
        return change
    }

    /// Computes the change from this order's window to that of another order, which replaces this one. O(n log n) for n
    /// rows of both.
    package func change(
        to other: LiveOrder, updated: Set<RecordKey> = [], renumbered: [RecordKey: RecordKey] = [:]
    ) throws -> OrderChange<RecordKey> {
        try OrderDiff.change(from: window, to: other.window, updated: updated, renumbered: renumbered)
    }

    /// Whether an object is a member of the order, inside of the window or not. Returns false if the record is nil. If
    /// the order reads records of other objects, may return true for an object that isn't a member.
    package func isMember(_ object: RecordKey, _ record: [UInt8]?) throws -> Bool {
        guard let record, let placer = try request.builder.placer(of: object.entity) else { return false }
        if request.builder.readsRelated { return true }
        var placement = RowPlacement()
        return try placer.place(object, record.span.bytes, in: nil, &placement)
    }

    private var isWhole: Bool { offset == 0 && limit == nil }

    private func change(
        from current: SectionedOrder, to next: OrderWindow, _ changes: [RecordChange], _ rows: OrderEdits,
        _ places: ChangedPlaces?
    ) throws -> OrderChange<RecordKey> {
        if rows.isEmpty { return OrderChange() }
        if isWhole {
            if let places { return try OrderDiff.change(from: current, to: next.order, rows.rows, places) }
            return try OrderDiff.change(from: current, to: next.order, rows)
        }
        let updated = Set(rows.rows.lazy.filter(\.isUpdated).map(\.object))
        let renumbered = changes.lazy.filter { $0.object != $0.oldObject }.map { ($0.oldObject, $0.object) }
        return try OrderDiff.change(
            from: window, to: next, updated: updated,
            renumbered: Dictionary(renumbered, uniquingKeysWith: { first, _ in first }))
    }
}
