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

/// How an order was opened. Its change names rows by the ids of their objects.
public typealias FetchOutcome = OrderOutcome<ObjectID>

extension OrderOutcome<RecordKey> {
    /// Returns the outcome with ids instead of keys.
    func identified(by id: (RecordKey) -> ObjectID) -> FetchOutcome { with { $0.identified(by: id) } }

    var withoutChange: FetchOutcome { with { _ in nil } }

    /// This outcome with another change, if it has one; `pending` if the function returns nil for the change. Not
    /// generic, because a generic function of another module makes the metadata of its types in each process.
    private func with(_ change: (OrderChange<RecordKey>) -> ResultsChange?) -> FetchOutcome {
        switch self {
        case .hit: .hit
        case .caughtUp(let known): change(known).map { .caughtUp($0) } ?? .pending
        case .pending: .pending
        case .rebuilt(let reason): .rebuilt(reason)
        case .computed: .computed
        }
    }
}
