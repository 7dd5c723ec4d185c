public import FetchIndexModels
public import FetchIndexOrderCaches

/// The change between two states of results, whose rows are named by the ids of their objects.
public typealias ResultsChange = OrderChange<ObjectID>

extension OrderChange<RecordKey> {
    /// Returns the change with ids instead of keys.
    func identified(by id: (RecordKey) -> ObjectID) -> ResultsChange {
        var change = ResultsChange()
        change.sections = sections
        change.eventsOfNull = eventsOfNull
        change.rebuilt = rebuilt
        for (old, new) in renumbered { change.renumbered[id(old)] = id(new) }
        change.rows = rows.named(by: id) { $0.of($1) }
        return change
    }
}

/// How an order was opened.
public enum FetchOutcome: Equatable, Sendable {
    /// The order in the cache, or in the controller, was current.
    case hit
    /// The rows of the cache or of the controller were behind, or the cache's exact reader hadn't received earlier
    /// changes. The change leads from the former rows to the current ones; `OrderOptions.check` gets an empty one.
    case caughtUp(ResultsChange)
    /// The order was built from the records, or its change is unknown because of damage.
    case rebuilt(RebuildReason)
    /// The order was computed in memory, and isn't stored in a cache.
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
