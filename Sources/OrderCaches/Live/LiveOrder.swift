internal import CountedTree
package import Records

/// An order that is followed from state to state: the order of a commit, and over it a fork with unsaved edits.
///
/// Each step gives exactly what it changed in the window. A step that throws leaves the order as it was.
package struct LiveOrder {
    package let request: OrderRequest
    private let offset: Int
    private let limit: Int?
    /// The order of the records that are saved.
    private var committed: SectionedOrder
    /// With the unsaved edits.
    private var current: SectionedOrder
    /// What the reader sees of it.
    package private(set) var window: OrderWindow
    /// Where the nodes of an order without a name are.
    private var memory: MemoryNodeStore?
    /// The name that the order is kept under, until another request takes it.
    package private(set) var name: String?
    /// The commit of the named order's header; nil when the header is behind.
    private var headerCommit: UInt64?
    private var hasPending = false

    private init(_ request: OrderRequest, _ order: SectionedOrder, offset: Int, limit: Int?) throws {
        self.request = request
        self.offset = offset
        self.limit = limit
        committed = order
        current = order
        window = try OrderWindow(order, offset: offset, limit: limit)
    }

    /// Follows an order from a commit on.
    package init(_ request: OrderRequest, _ order: OrderOfCommit, offset: Int = 0, limit: Int? = nil) throws {
        try self.init(request, order.order, offset: offset, limit: limit)
        adopt(order)
    }

    private mutating func adopt(_ order: OrderOfCommit) {
        switch order.place {
        case .named(let name, let commit):
            self.name = name
            headerCommit = commit
            memory = nil
        case .memory(let store):
            name = nil
            headerCommit = nil
            memory = store
        }
    }

    // MARK: Unsaved edits

    /// Takes over unsaved edits, old records being those that the order has now. O(k log n).
    package mutating func edit(_ edits: [RecordChange]) throws -> OrderChange {
        let rows = try request.builder.placer.rowChanges(edits, of: request.builder.entity)
        if rows.isEmpty { return OrderChange() }
        let fork = ForkNodeStore(over: current.rows.store)
        var next = current.moved(to: fork)
        let places = try next.update(rows)
        let nextWindow = try OrderWindow(next, offset: offset, limit: limit)
        let change = try self.change(to: nextWindow, edits, rows, places)
        if let pending = current.rows.store as? ForkNodeStore, hasPending {
            fork.publish(into: pending)
            next = next.moved(to: pending)
        }
        current = next
        window = try OrderWindow(next, offset: offset, limit: limit)
        hasPending = true
        return change
    }

    /// Drops the fork once all unsaved edits were taken back.
    package mutating func dropPending() throws {
        current = committed
        window = try OrderWindow(current, offset: offset, limit: limit)
        hasPending = false
    }

    // MARK: Commits

    /// The edits that lead from one commit's state to another's, and those that a reader with unsaved edits sees.
    package struct Step {
        /// From the old commit's records to the new one's.
        package let committed: [RecordChange]
        /// From the new commit's records to what is still unsaved over them.
        package let pending: [RecordChange]
        /// From what the reader saw to what it sees now.
        package let net: [RecordChange]

        package init(committed: [RecordChange], pending: [RecordChange] = [], net: [RecordChange]? = nil) {
            self.committed = committed
            self.pending = pending
            self.net = net ?? committed
        }
    }

    /// Moves to a new commit, to which the named order was brought. `change` is what bringing it there changed, where
    /// it began at a header of commit `first`.
    package mutating func move(
        to order: OrderOfCommit, _ step: Step, change known: (first: UInt64, change: OrderChange)? = nil
    ) throws -> OrderChange {
        let builder = request.builder
        var next = order.order
        if !step.pending.isEmpty {
            next = next.moved(to: ForkNodeStore(over: next.rows.store))
            try next.update(try builder.placer.rowChanges(step.pending, of: builder.entity))
        }
        let nextWindow = try OrderWindow(next, offset: offset, limit: limit)
        let change: OrderChange
        if let known, known.first == headerCommit, !hasPending, step.pending.isEmpty, isWhole {
            change = known.change
        } else {
            let rows = try builder.placer.rowChanges(step.net, of: builder.entity)
            change = try self.change(to: nextWindow, step.net, rows, nil)
        }
        committed = order.order
        current = next
        window = nextWindow
        hasPending = !step.pending.isEmpty
        adopt(order)
        return change
    }

    /// Moves an order without a name to a new commit, by the edits that lead there. O(k log n).
    package mutating func move(_ step: Step) throws -> OrderChange {
        // Which of the two an order is, was said when it was made, and is in no file.
        guard let memory else { preconditionFailure("A named order moves to what was stored of it.") }
        let builder = request.builder
        let fork = ForkNodeStore(over: memory)
        var next = committed.moved(to: fork)
        let rows = try builder.placer.rowChanges(step.committed, of: builder.entity)
        let places = try next.update(rows)
        var nextCurrent = next
        if !step.pending.isEmpty {
            nextCurrent = next.moved(to: ForkNodeStore(over: fork))
            try nextCurrent.update(try builder.placer.rowChanges(step.pending, of: builder.entity))
        }
        let nextWindow = try OrderWindow(nextCurrent, offset: offset, limit: limit)
        let isDirect = !hasPending && step.pending.isEmpty
        let change =
            isDirect
            ? try self.change(to: nextWindow, step.committed, rows, places)
            : try self.change(
                to: nextWindow, step.net, try builder.placer.rowChanges(step.net, of: builder.entity), nil)
        // All was read; from here on nothing throws but a window's two descents in memory.
        fork.publish(into: memory)
        committed = next.moved(to: memory)
        if let pending = nextCurrent.rows.store as? ForkNodeStore, !step.pending.isEmpty {
            current = nextCurrent.moved(to: pending.moved(over: memory))
        } else {
            current = committed
        }
        hasPending = !step.pending.isEmpty
        window = try OrderWindow(current, offset: offset, limit: limit)
        return change
    }

    /// The change to another order, which takes the place of this one. O(rows of both).
    package func change(
        to other: LiveOrder, updated: Set<RecordKey> = [], renumbered: [RecordKey: RecordKey] = [:]
    ) throws -> OrderChange {
        try OrderDiff.change(from: window, to: other.window, updated: updated, renumbered: renumbered)
    }

    /// Whether an object with a record is among the order's rows, whatever its window shows. No record is no member.
    package func isMember(_ record: [UInt8]?) throws -> Bool {
        guard let record else { return false }
        var placement = RowPlacement()
        placement.begin()
        return try request.builder.placer.place(RecordView(record.span.bytes), &placement)
    }

    private var isWhole: Bool { offset == 0 && limit == nil }

    private func change(
        to next: OrderWindow, _ edits: [RecordChange], _ rows: [RowChange], _ places: ChangedPlaces?
    ) throws -> OrderChange {
        if rows.isEmpty { return OrderChange() }
        if isWhole {
            if let places { return try OrderDiff.change(from: current, to: next.order, rows, places) }
            return try OrderDiff.change(from: current, to: next.order, rows)
        }
        let updated = Set(rows.lazy.filter(\.isUpdated).map(\.object))
        let renumbered = edits.lazy.filter { $0.object != $0.oldObject }.map { ($0.oldObject, $0.object) }
        return try OrderDiff.change(
            from: window, to: next, updated: updated,
            renumbered: Dictionary(renumbered, uniquingKeysWith: { first, _ in first }))
    }
}

/// The order of one commit's records, and where it is.
package struct OrderOfCommit {
    enum Place {
        /// Under a name; with the commit of its header, nil when that is behind and the rest in memory.
        case named(String, commit: UInt64?)
        case memory(MemoryNodeStore)
    }

    let order: SectionedOrder
    let place: Place

    /// Whether it is read as its cache has it.
    package var isStored: Bool {
        if case .named(_, let commit) = place { return commit != nil }
        return false
    }
}
