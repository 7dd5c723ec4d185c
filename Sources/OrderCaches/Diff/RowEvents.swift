package import FetchIndexModels

extension OrderChange {
    /// The events of rows, as a collection. The events of a change of very many rows are kept in a packed form, some 4 to
    /// 12 bytes each, and are made when they are read: so read them one after the other instead of copying them to an
    /// array. Access to an event costs O(1).
    public struct RowEvents: Sendable {
        private enum Storage: Sendable {
            case list([RowEvent])
            case packed(PackedRowEvents, name: @Sendable (RecordKey) -> RowID)
        }

        private var storage: Storage

        public init() { storage = .list([]) }

        public init(_ events: [RowEvent]) { storage = .list(events) }

        /// `name` returns the id of a row by the key of its object.
        package init(packed events: PackedRowEvents, name: @escaping @Sendable (RecordKey) -> RowID) {
            storage = .packed(events, name: name)
        }
    }
}

extension OrderChange.RowEvents: RandomAccessCollection {
    public var startIndex: Int { 0 }

    public var endIndex: Int {
        switch storage {
        case .list(let events): events.count
        case .packed(let events, _): events.count
        }
    }

    public subscript(index: Int) -> OrderChange.RowEvent {
        switch storage {
        case .list(let events): events[index]
        case .packed(let events, let name): events[index].named(by: name)
        }
    }
}

extension OrderChange.RowEvents: RangeReplaceableCollection {
    /// Replaces events. Packed events are unpacked.
    public mutating func replaceSubrange(
        _ range: Range<Int>, with events: some Collection<OrderChange.RowEvent>
    ) {
        var list = if case .list(let list) = storage { list } else { Array(self) }
        // The list has one owner, so that it isn't copied.
        storage = .list([])
        list.replaceSubrange(range, with: events)
        storage = .list(list)
    }
}

extension OrderChange.RowEvents: Equatable {
    public static func == (left: Self, right: Self) -> Bool { left.elementsEqual(right) }
}

extension OrderChange.RowEvents: ExpressibleByArrayLiteral {
    public init(arrayLiteral events: OrderChange.RowEvent...) { self.init(events) }
}

extension OrderChange.RowEvents where RowID == RecordKey {
    /// Returns the events with other names of the rows. Packed events stay packed: `name` is then called once for an
    /// object of each entity, and `rename` makes the name of another object of the entity.
    package func named<Name>(
        by name: (RecordKey) -> Name, rename: @escaping @Sendable (Name, RecordKey) -> Name
    ) -> OrderChange<Name>.RowEvents {
        switch storage {
        case .list(let events): return OrderChange<Name>.RowEvents(events.map { $0.named(by: name) })
        case .packed(let events, _):
            let names = Dictionary(
                uniqueKeysWithValues: events.entities.map { ($0, name(RecordKey(entity: $0, number: 1))) })
            return OrderChange<Name>.RowEvents(packed: events) { object in
                // Each name is the entity of the event.
                guard let name = names[object.entity] else { preconditionFailure("An event's entity is not known.") }
                return rename(name, object)
            }
        }
    }
}

extension OrderChange.RowEvent where RowID == RecordKey {
    package func named<Name>(by name: (RecordKey) -> Name) -> OrderChange<Name>.RowEvent {
        switch self {
        case .delete(let row, let from): .delete(name(row), from: from)
        case .insert(let row, let to): .insert(name(row), to: to)
        case .move(let row, let from, let to): .move(name(row), from: from, to: to)
        case .update(let row, let from, let to): .update(name(row), from: from, to: to)
        }
    }
}
