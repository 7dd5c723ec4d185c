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
    func identified(by id: (RecordKey) -> ObjectID) -> FetchOutcome { mapChange { $0.identified(by: id) } }

    var withoutChange: FetchOutcome { mapChange { _ in nil } }
}
