package import FetchIndexModels

extension OrderChange {
    /// The events of rows, as a collection. The events of a change of very many rows are kept in a packed form, 16 or
    /// 24 bytes each, and are made when they are read: so read them one after the other instead of copying them to an
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

/// Events of rows by kind, each kind in the order in which its events were added.
package struct PackedRowEvents: Sendable {
    /// The entities of the events' rows.
    private(set) var entities: Set<Int> = []
    private var deletes = PackedWords(perItem: 4)
    private var inserts = PackedWords(perItem: 4)
    private var moves = PackedWords(perItem: 6)
    private var updates = PackedWords(perItem: 6)

    package init() {}

    package var count: Int { deletes.count + inserts.count + moves.count + updates.count }

    mutating func delete(_ row: RecordKey, from: RowPath) {
        note(row)
        deletes.append(row, from)
    }

    mutating func insert(_ row: RecordKey, to: RowPath) {
        note(row)
        inserts.append(row, to)
    }

    mutating func move(_ row: RecordKey, from: RowPath, to: RowPath) {
        note(row)
        moves.append(row, from, to)
    }

    mutating func update(_ row: RecordKey, from: RowPath, to: RowPath) {
        note(row)
        updates.append(row, from, to)
    }

    private mutating func note(_ row: RecordKey) { if !entities.contains(row.entity) { entities.insert(row.entity) } }

    package subscript(index: Int) -> OrderChange<RecordKey>.RowEvent {
        var index = index
        if index < deletes.count { return .delete(deletes.row(index), from: deletes.path(index, at: 2)) }
        index -= deletes.count
        if index < inserts.count { return .insert(inserts.row(index), to: inserts.path(index, at: 2)) }
        index -= inserts.count
        if index < moves.count {
            return .move(moves.row(index), from: moves.path(index, at: 2), to: moves.path(index, at: 4))
        }
        index -= moves.count
        return .update(updates.row(index), from: updates.path(index, at: 2), to: updates.path(index, at: 4))
    }
}

/// A list of rows and their paths, as 32-bit words, in blocks, so that appending never copies the list.
private struct PackedWords: Sendable {
    private static let itemsOfBlock = 1 << 14

    private let perItem: Int
    private var blocks: [[UInt32]] = []
    private(set) var count = 0

    init(perItem: Int) { self.perItem = perItem }

    /// Adds a row with one path, if an item has 4 words; with two, if it has 6.
    mutating func append(_ row: RecordKey, _ path: RowPath, _ other: RowPath? = nil) {
        if count % Self.itemsOfBlock == 0 {
            blocks.append([])
            blocks[blocks.count - 1].reserveCapacity(Self.itemsOfBlock * perItem)
        }
        count += 1
        let last = blocks.count - 1
        blocks[last].append(UInt32(truncatingIfNeeded: row.rawValue >> 32))
        blocks[last].append(UInt32(truncatingIfNeeded: row.rawValue))
        append(path, to: last)
        if let other { append(other, to: last) }
    }

    private mutating func append(_ path: RowPath, to block: Int) {
        blocks[block].append(UInt32(truncatingIfNeeded: path.section))
        blocks[block].append(UInt32(truncatingIfNeeded: path.row))
    }

    private func words(_ item: Int, at offset: Int) -> (UInt32, UInt32) {
        let block = blocks[item / Self.itemsOfBlock]
        let start = item % Self.itemsOfBlock * perItem + offset
        return (block[start], block[start + 1])
    }

    func row(_ item: Int) -> RecordKey {
        let (upper, lower) = words(item, at: 0)
        return RecordKey(rawValue: UInt64(upper) << 32 | UInt64(lower))
    }

    func path(_ item: Int, at offset: Int) -> RowPath {
        let (section, row) = words(item, at: offset)
        return RowPath(section: Int(section), row: Int(row))
    }
}
