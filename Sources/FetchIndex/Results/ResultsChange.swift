public import FetchIndexModels
internal import FetchIndexOrderCaches

/// The exact change between two states of results.
///
/// Old positions (`from`) are in the state before, new positions (`to`) in the state after. The rows of a moved section
/// are not reported one by one, and shifted rows are not reported. The moves are the fewest that explain the new order.
/// Within each kind, events are ordered by position.
public struct ResultsChange: Equatable, Sendable {
    public enum SectionEvent: Equatable, Sendable {
        case delete(from: Int, name: String)
        case insert(to: Int, name: String)
        case move(from: Int, to: Int, name: String)
        /// The section's object has another name, but the section did not move.
        case update(from: Int, to: Int, name: String)

        /// The section's name; the new one if it has changed.
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

        /// The row's object.
        public var id: ObjectID {
            switch self {
            case .delete(let id, _), .insert(let id, _), .move(let id, _, _), .update(let id, _, _): id
            }
        }
    }

    /// Deletes, then inserts, then moves, then updates.
    public var sections: [SectionEvent] = []
    /// Deletes, then inserts, then moves, then updates.
    public var rows: [RowEvent] = []

    /// The permanent ids of saved rows, by their temporary ids. No event reports them, so a list of ids must replace
    /// them. Events contain the new ids.
    public var renumbered: [ObjectID: ObjectID] = [:]

    /// The reason for a rebuild after which the old order couldn't be read; otherwise nil. The change is then unknown:
    /// it has no events, and a copy of the rows must be read again.
    public var rebuilt: RebuildReason?

    /// The positions in `sections` of events of the null section, whose name is "" like that of the empty text.
    package var eventsOfNull: Set<Int> = []

    /// No changes.
    public init() {}

    /// An unknown change.
    init(rebuilt reason: RebuildReason) { rebuilt = reason }

    /// Whether nothing changed.
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
    /// The rows after the change, by section; nil if the change doesn't fit the old rows.
    package func replay(on old: [[ObjectID]]) -> [[ObjectID]]? {
        var ids: [RecordKey: ObjectID] = [:]
        for id in old.joined() { ids[id.key] = id }
        for event in rows { ids[event.id.key] = event.id }
        let new = orderChange.replay(on: old.map { $0.map(\.key) })
        return new?.map { $0.compactMap { ids[$0] } }
    }

    /// The change in the form of the order caches, with keys instead of ids.
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
    /// The events in a line: section move 2 → 0 小学館, row insert #5 → 0:3, …
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

/// The way in which an order was opened.
public enum FetchOutcome: Equatable, Sendable {
    /// The cache was current.
    case hit
    /// The cache was behind; the change is the one since it was last current.
    case caughtUp(ResultsChange)
    /// The cache was built from all records.
    case rebuilt(RebuildReason)
    /// The order has no cache name and was computed in memory.
    case computed
}

extension FetchOutcome {
    init(_ outcome: OrderOutcome, _ id: (RecordKey) -> ObjectID) {
        switch outcome {
        case .hit: self = .hit
        case .caughtUp(let change): self = .caughtUp(ResultsChange(change, id))
        // The change couldn't be computed.
        case .pending: self = .rebuilt(.damaged)
        case .rebuilt(let cause): self = .rebuilt(cause)
        case .computed: self = .computed
        }
    }

    /// Makes the outcome without the change of a catch-up.
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
    /// hit; caught up (row insert #5 → 0:3); rebuilt (first); computed.
    public var description: String {
        switch self {
        case .hit: "hit"
        case .caughtUp(let change): "caught up (\(change))"
        case .rebuilt(let reason): "rebuilt (\(reason.rawValue))"
        case .computed: "computed"
        }
    }
}
