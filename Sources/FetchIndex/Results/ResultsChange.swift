public import FetchIndexModels
internal import FetchIndexOrderCaches

/// The exact change from one state of results to another.
///
/// Old positions (`from`) are in the state before the change, new positions (`to`) in the state after it. Rows that
/// only shift aren't reported, and neither are the rows of a moved section. The number of moves is the minimum that
/// explains the new order. Events of one kind are ordered by position.
public struct ResultsChange: Equatable, Sendable {
    public enum SectionEvent: Equatable, Sendable {
        case delete(from: Int, name: String)
        case insert(to: Int, name: String)
        case move(from: Int, to: Int, name: String)
        /// The section's object has another name, but the section hasn't moved.
        case update(from: Int, to: Int, name: String)

        /// The section's name; after a renaming, the new one.
        public var name: String {
            switch self {
            case .delete(_, let name), .insert(_, let name), .move(_, _, let name), .update(_, _, let name): name
            }
        }
    }

    public enum RowEvent: Equatable, Sendable {
        case delete(ObjectID, from: RowPath)
        case insert(ObjectID, to: RowPath)
        case move(ObjectID, from: RowPath, to: RowPath)
        case update(ObjectID, from: RowPath, to: RowPath)

        /// The id of the row's object.
        public var id: ObjectID {
            switch self {
            case .delete(let id, _), .insert(let id, _), .move(let id, _, _), .update(let id, _, _): id
            }
        }
    }

    /// The events of sections: deletions, then insertions, then moves, then updates.
    public var sections: [SectionEvent] = []
    /// The events of rows: deletions, then insertions, then moves, then updates.
    public var rows: [RowEvent] = []

    /// The permanent ids of rows that were saved, by their temporary ids. They aren't reported as events, so a copy of
    /// the ids must be updated by this dictionary. Events contain the permanent ids.
    public var renumbered: [ObjectID: ObjectID] = [:]

    /// The reason for a rebuild, if the old order can't be read, otherwise nil. The change is then unknown: it has no
    /// events, and a copy of the rows must be read again.
    public var rebuilt: RebuildReason?

    /// The indices in `sections` of events that concern the section of null. Its name is "", like that of the section
    /// of the empty text.
    package var eventsOfNull: Set<Int> = []

    /// Makes an empty change.
    public init() {}

    /// Makes an unknown change, after a rebuild.
    init(rebuilt reason: RebuildReason) { rebuilt = reason }

    /// Whether the change is known and has no events.
    public var isEmpty: Bool { sections.isEmpty && rows.isEmpty && rebuilt == nil }
}

extension ResultsChange {
    init(_ change: OrderChange, _ id: (RecordKey) -> ObjectID) {
        rebuilt = change.rebuilt
        for (old, new) in change.renumbered { renumbered[id(old)] = id(new) }
        for (index, event) in change.sections.enumerated() {
            switch event {
            case .delete(let from, let name): sections.append(.delete(from: from, name: name ?? ""))
            case .insert(let to, let name): sections.append(.insert(to: to, name: name ?? ""))
            case .move(let from, let to, let name): sections.append(.move(from: from, to: to, name: name ?? ""))
            case .update(let from, let to, let name): sections.append(.update(from: from, to: to, name: name ?? ""))
            }
            if event.name == nil { eventsOfNull.insert(index) }
        }
        rows = change.rows.map { event in
            switch event {
            case .delete(let key, let from): .delete(id(key), from: from)
            case .insert(let key, let to): .insert(id(key), to: to)
            case .move(let key, let from, let to): .move(id(key), from: from, to: to)
            case .update(let key, let from, let to): .update(id(key), from: from, to: to)
            }
        }
    }
}

extension ResultsChange {
    /// Applies the change to the old rows, given by section. Returns nil if the change doesn't fit them.
    package func replay(on old: [[ObjectID]]) -> [[ObjectID]]? {
        var ids: [RecordKey: ObjectID] = [:]
        for id in old.joined() { ids[id.key] = id }
        for event in rows { ids[event.id.key] = event.id }
        let new = orderChange.replay(on: old.map { $0.map(\.key) })
        return new?.map { $0.compactMap { ids[$0] } }
    }

    /// The change with keys instead of ids, as order caches use it.
    private var orderChange: OrderChange {
        var change = OrderChange()
        change.sections = sections.map { event in
            switch event {
            case .delete(let from, let name): .delete(from: from, name: name)
            case .insert(let to, let name): .insert(to: to, name: name)
            case .move(let from, let to, let name): .move(from: from, to: to, name: name)
            case .update(let from, let to, let name): .update(from: from, to: to, name: name)
            }
        }
        change.rows = rows.map { event in
            switch event {
            case .delete(let id, let from): .delete(id.key, from: from)
            case .insert(let id, let to): .insert(id.key, to: to)
            case .move(let id, let from, let to): .move(id.key, from: from, to: to)
            case .update(let id, let from, let to): .update(id.key, from: from, to: to)
            }
        }
        return change
    }
}

extension ResultsChange: CustomStringConvertible {
    /// The events in one line, such as section move 2 → 0 小学館, row insert #5 → 0:3.
    public var description: String {
        if let rebuilt { return "rebuilt (\(rebuilt.rawValue))" }
        let events = sections.map(\.description) + rows.map(\.description)
        return events.isEmpty ? "no changes" : events.joined(separator: ", ")
    }
}

extension ResultsChange.SectionEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .delete(let from, let name): "section delete \(from) \(name)"
        case .insert(let to, let name): "section insert → \(to) \(name)"
        case .move(let from, let to, let name): "section move \(from) → \(to) \(name)"
        case .update(let from, let to, let name): "section update \(from) → \(to) \(name)"
        }
    }
}

extension ResultsChange.RowEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .delete(let id, let from): "row delete \(id) \(from)"
        case .insert(let id, let to): "row insert \(id) → \(to)"
        case .move(let id, let from, let to): "row move \(id) \(from) → \(to)"
        case .update(let id, let from, let to): "row update \(id) \(from) → \(to)"
        }
    }
}

/// How an order was opened.
public enum FetchOutcome: Equatable, Sendable {
    /// The cache was current.
    case hit
    /// The cache was behind. The change leads from its last current state to the new state.
    case caughtUp(ResultsChange)
    /// The cache was built from all records.
    case rebuilt(RebuildReason)
    /// The order was computed in memory, without a cache.
    case computed
}

extension FetchOutcome {
    init(_ outcome: OrderOutcome, _ id: (RecordKey) -> ObjectID) {
        switch outcome {
        case .hit: self = .hit
        case .caughtUp(let change): self = .caughtUp(ResultsChange(change, id))
        // The change couldn't be computed, because of damage.
        case .pending: self = .rebuilt(.damaged)
        case .rebuilt(let cause): self = .rebuilt(cause)
        case .computed: self = .computed
        }
    }

    /// Makes the outcome of an opening with an empty change.
    init(withoutChange outcome: OrderOutcome) {
        switch outcome {
        case .hit: self = .hit
        case .caughtUp, .pending: self = .caughtUp(ResultsChange())
        case .rebuilt(let cause): self = .rebuilt(cause)
        case .computed: self = .computed
        }
    }
}

extension FetchOutcome: CustomStringConvertible {
    /// One of: hit; caught up (row insert #5 → 0:3); rebuilt (first); computed.
    public var description: String {
        switch self {
        case .hit: "hit"
        case .caughtUp(let change): "caught up (\(change))"
        case .rebuilt(let reason): "rebuilt (\(reason.rawValue))"
        case .computed: "computed"
        }
    }
}
