package import LMDB
package import Values

/// What can be read of a store in one transaction: a `Snapshot` or the `StoreWriter`. One thread at a time uses it.
package class StoreReader {
    package let store: Store
    /// The transaction's view; the subclass owns the transaction.
    package let view: TransactionView
    package let tables: StoreTables
    package internal(set) var state: StoreState
    package let model: Model

    init(_ store: Store, _ view: TransactionView) throws {
        self.store = store
        self.view = view
        self.tables = store.tables
        self.state = try Self.state(in: view, store.tables)
        self.model = try store.model(version: state.modelVersion, in: view)
    }

    private static func state(in view: TransactionView, _ tables: StoreTables) throws -> StoreState {
        var state: StoreState?
        let key = StoreLayout.stateKey
        _ = try view.get(key.span.bytes, in: tables.meta) { state = try StoreState(decoding: $0) }
        guard let state else { throw StoreError.corrupted("the store's state is missing") }
        return state
    }

    /// The newest commit that this reader sees.
    package var commit: UInt64 { state.commit }

    package func entityState(_ entity: Int) throws -> EntityState {
        var state = EntityState()
        let key = StoreLayout.entityKey(entity)
        _ = try view.get(key.span.bytes, in: tables.meta) { state = try EntityState(decoding: $0) }
        return state
    }

    /// Hands out a record in place. False when there is no such object. O(log n).
    package func record(_ object: ObjectID, _ body: (RawSpan) throws -> Void) throws -> Bool {
        try view.get(object.rawValue, in: tables.records, body)
    }

    /// Hands out an entity's records in place, by number from the given one on, until the body returns false.
    package func scan(
        _ entity: Int, from number: UInt64 = 0, _ body: (ObjectID, RawSpan) throws -> Bool
    ) throws {
        try view.withCursor(on: tables.records) { cursor in
            let first = ObjectID(entity: entity, number: number).rawValue
            try cursor.walk(fromKey: first, isInMap: self is Snapshot) { key, record in
                let object = ObjectID(rawValue: key)
                return try object.entity == entity && body(object, record)
            }
        }
    }

    /// The object that has a value of a unique attribute. O(log n).
    package func object(_ entity: Int, slot: Int, equalTo value: Value) throws -> ObjectID? {
        var key = StoreLayout.uniqueKey(entity: entity, slot: slot)
        OrderKey.append(value, to: &key)
        return key.count > Table.maximumKeyLength ? nil : try object(entity, unique: key)
    }

    func object(_ entity: Int, unique key: [UInt8]) throws -> ObjectID? {
        var object: ObjectID?
        _ = try view.get(key.span.bytes, in: tables.unique) { value in
            var reader = try ByteReader(checked: value, "a unique key's value")
            let number = try reader.uint64()
            guard number <= ObjectID.maximumNumber else {
                throw StoreError.corrupted("a unique key's value is no object's number")
            }
            object = ObjectID(entity: entity, number: number)
        }
        return object
    }
}

/// One unchanging state of a store. While it lives its pages are not used again, so keep it short or move on.
package final class Snapshot: StoreReader {
    private let transaction: ReadTransaction

    init(_ store: Store) throws {
        let transaction = try store.environment.beginRead()
        let view = transaction.view
        self.transaction = transaction
        try super.init(store, view)
    }
}
