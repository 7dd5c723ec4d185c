public import FetchIndexModels
public import FetchIndexOrderCaches

/// The exact change between two states of results, whose rows are named by the ids of their objects.
public typealias ResultsChange = OrderChange<ObjectID>

extension OrderChange<RecordKey> {
    /// Returns the change with ids instead of keys.
    func identified(by id: (RecordKey) -> ObjectID) -> ResultsChange {
        var change = ResultsChange()
        change.sections = sections
        change.eventsOfNull = eventsOfNull
        change.rebuilt = rebuilt
        for (old, new) in renumbered { change.renumbered[id(old)] = id(new) }
        change.rows = rows.map { event in
            switch event {
            case .delete(let key, let from): .delete(id(key), from: from)
            case .insert(let key, let to): .insert(id(key), to: to)
            case .move(let key, let from, let to): .move(id(key), from: from, to: to)
            case .update(let key, let from, let to): .update(id(key), from: from, to: to)
            }
        }
        return change
    }
}

/// How an order was opened.
public enum FetchOutcome: Equatable, Sendable {
    /// The cache was current.
    case hit
    /// The cache, or the controller's rows from it, were behind. The change leads from the former rows to the current
    /// ones.
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
        case .caughtUp(let change): self = .caughtUp(change.identified(by: id))
        // The change couldn't be computed, because of damage.
        case .pending: self = .rebuilt(.damaged)
        case .rebuilt(let cause): self = .rebuilt(cause)
        case .computed: self = .computed
        }
    }

    /// Makes an outcome whose change is left out: `caughtUp` has an empty change.
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
