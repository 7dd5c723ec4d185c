internal import FetchIndexPlatform
package import FetchIndexModels
package import FetchIndexLMDB
package import FetchIndexValues

/// Reads a store in one transaction: a `Snapshot` or the `StoreWriter`. Only one thread at a time may use it.
package class StoreReader {
    package let store: Store
    /// The transaction's view; the subclass owns the transaction.
    package let view: TransactionView
    package let tables: StoreTables
    package internal(set) var state: StoreState
    package internal(set) final var model: Model

    init(_ store: Store, _ view: TransactionView) throws {
        self.store = store
        self.view = view
        self.tables = store.tables
        self.state = try Self.state(in: view, store.tables)
        self.model = try store.model(version: state.modelVersion, in: view)
    }

    private static func state(in view: TransactionView, _ tables: StoreTables) throws -> StoreState {
        var state: StoreState?
        _ = try view.get(StoreLayout.stateKey, in: tables.meta) { state = try StoreState(decoding: $0) }
        guard let state else { throw StoreError.corrupted("the store's state is missing") }
        return state
    }

    /// See `RecordState`.
    package var identity: UInt64? { nil }

    /// The newest commit that this reader sees.
    package var commit: UInt64 { state.commit }

    package func entityState(_ entity: Int) throws -> EntityState {
        var state = EntityState()
        _ = try view.get(StoreLayout.entityKey(entity), in: tables.meta) { state = try EntityState(decoding: $0) }
        return state
    }

    /// Calls the body with a record in place. Returns false if the object doesn't exist. Throws `corrupted` if the
    /// record does not match its checksum. O(log n).
    package func record(_ object: RecordKey, _ body: (RawSpan) throws -> Void) throws -> Bool {
        do {
            return try storedRecord(object) { record in
                try verify(record, of: object)
                try body(record)
            }
        } catch let error as LMDBError where error.isDamage {
            throw damaged(error, among: object.entity)
        }
    }

    /// The version of the stored model. It changes with each change of the model.
    package var modelVersion: UInt32 { state.modelVersion }

    /// A copy of a record; nil if the object doesn't exist. Throws like `record`. O(log n).
    package func copy(of object: RecordKey) throws -> [UInt8]? {
        var copy: [UInt8]?
        _ = try record(object) { copy = [UInt8](copying: $0) }
        return copy
    }

    /// Like `record`, for checks: the record may be damaged.
    func storedRecord(_ object: RecordKey, _ body: (RawSpan) throws -> Void) throws -> Bool {
        try view.get(object.rawValue, in: tables.records, body)
    }

    /// Throws unless a record matches its checksum.
    @inline(__always)
    func verify(_ record: RawSpan, of object: RecordKey) throws {
        guard record.endsWithChecksum() else { throw damaged(object) }
    }

    private func damaged(_ object: RecordKey) -> StoreError {
        let entity = model.entities.indices.contains(object.entity) ? model.entities[object.entity].name : "an object"
        return .corrupted("the record of \(entity) \(object.number) does not match its checksum")
    }

    /// The error for damaged pages among an entity's records.
    func damaged(_ error: LMDBError, among entity: Int) -> StoreError {
        let name = model.entities.indices.contains(entity) ? model.entities[entity].name : "an entity"
        return .corrupted("pages with records of \(name): \(error.reason)")
    }

    /// Calls the body with an entity's records in place, by number from the given one on, until it returns false.
    /// Throws `corrupted` for a record that does not match its checksum, and at the end of a whole scan if the number
    /// of records isn't the one that the entity counts. After a snapshot's first whole scan, records are not verified
    /// again. O(n).
    ///
    /// Records are read one by one, so the body may write if this is a writer. `Scan` reads blocks, on several threads.
    package func scan(_ entity: Int, from number: UInt64 = 0, _ body: (RecordKey, RawSpan) throws -> Bool) throws {
        var isWhole = true
        var scanned: UInt64 = 0
        let isVerified = verifiedEntities.contains(entity)
        try withScanErrors(of: entity) {
            try scanStored(entity, from: number) { object, record in
                if !isVerified { try verify(record, of: object) }
                scanned &+= 1
                isWhole = try body(object, record)
                return isWhole
            }
        }
        guard isWhole, number == 0 else { return }
        try requireCount(of: entity, scanned)
        noteVerified(entity)
    }

    /// Like `scan`, for checks: records may be damaged or missing.
    func scanStored(
        _ entity: Int, from number: UInt64 = 0, _ body: (RecordKey, RawSpan) throws -> Bool
    ) throws {
        try view.withCursor(on: tables.records) { cursor in
            try cursor.walk(fromKey: RecordKey(entity: entity, number: number).rawValue) { key, record in
                let object = RecordKey(rawValue: key)
                return try object.entity == entity && body(object, record)
            }
        }
    }

    /// The least number of an entity's objects; 0 if it has no objects. O(log n).
    func firstNumber(of entity: Int) throws -> UInt64 {
        var number: UInt64 = 0
        try withScanErrors(of: entity) {
            try view.withCursor(on: tables.records) { cursor in
                guard try cursor.seek(toKeyFrom: RecordKey(entity: entity, number: 0).rawValue) else { return }
                let object = RecordKey(rawValue: cursor.integerKey)
                if object.entity == entity { number = object.number }
            }
        }
        return number
    }

    func withScanErrors(of entity: Int, _ body: () throws -> Void) throws {
        do { try body() } catch let error as LMDBError where error.isDamage { throw damaged(error, among: entity) }
    }

    /// Throws unless an entity counts `scanned` objects from a number on.
    func requireCount(of entity: Int, _ scanned: UInt64, from number: UInt64 = 0) throws {
        let counted = try count(of: entity, from: number)
        guard scanned == counted else {
            throw StoreError.corrupted("\(model.entities[entity].name) counts \(counted) objects and has \(scanned)")
        }
    }

    /// The entities whose records have all been verified.
    var verifiedEntities: Set<Int> { [] }
    func noteVerified(_ entity: Int) {}

    /// Whether changed zones are not written yet.
    var hasOpenZones: Bool { false }

    /// The object that has a value of a unique attribute; nil if it doesn't exist. Throws `corrupted` if the key leads
    /// to an object that is missing or has another value. O(log n), or O(n) for objects whose unique keys are left out.
    package func object(_ entity: Int, slot: Int, equalTo value: Value) throws -> RecordKey? {
        guard let constraint = model.entities[entity].uniqueConstraint(ofSlot: slot) else { return nil }
        return try object(entity, constraint, equalTo: [value])
    }

    /// The object that has the values of attributes that are unique together, with the same errors and cost.
    package func object(_ entity: Int, _ constraint: UniqueConstraint, equalTo values: [Value]) throws -> RecordKey? {
        var key = StoreLayout.uniqueKey(entity: entity, constraint)
        for value in values { OrderKey.append(value, to: &key) }
        guard key.count <= Table.maximumKeyLength else { return nil }
        guard let object = try object(unique: key) else { return try unkeyedObject(entity, constraint, key) }
        let isFound = try record(object) { try requireUniqueKey(key, constraint, of: object, $0) }
        if !isFound { throw wrongUniqueKey(constraint, to: object) }
        return object
    }

    /// Throws unless a record has the unique key that led to it.
    func requireUniqueKey(
        _ key: [UInt8], _ constraint: UniqueConstraint, of object: RecordKey, _ record: RawSpan
    ) throws {
        let entity = model.entities[object.entity]
        // In a hierarchy, the constraint may belong to another entity.
        let own =
            constraint.owner == nil && entity.superentity == nil
            ? constraint : entity.uniqueConstraints.first { StoreLayout.isKey(key, of: $0, object.entity) }
        guard let own, try uniqueKey(object.entity, own, record) == key else {
            throw wrongUniqueKey(constraint, to: object)
        }
    }

    /// The unique key of a record, of any length; nil if a value is null: records with nulls are exempt.
    func uniqueKey(_ entity: Int, _ constraint: UniqueConstraint, _ record: RawSpan) throws -> [UInt8]? {
        try Self.uniqueKey(entity, model.entities[entity], constraint, record)
    }

    static func uniqueKey(
        _ number: Int, _ entity: Entity, _ constraint: UniqueConstraint, _ record: RawSpan
    ) throws -> [UInt8]? {
        var key: [UInt8] = []
        return try makeUniqueKey(number, entity, constraint, record, in: &key) ? key : nil
    }

    /// Makes the unique key of a record in the memory of another key. Returns false if a value is null.
    static func makeUniqueKey(
        _ number: Int, _ entity: Entity, _ constraint: UniqueConstraint, _ record: RawSpan, in key: inout [UInt8]
    ) throws -> Bool {
        let view = try RecordView(record, of: entity)
        StoreLayout.beginUniqueKey(entity: number, constraint, in: &key)
        for slot in constraint.slots {
            guard try view.range(of: slot) != nil else { return false }
            try view.appendOrderKey(of: slot, as: entity.type(at: slot), to: &key)
        }
        return true
    }

    func wrongUniqueKey(_ constraint: UniqueConstraint, to object: RecordKey) -> StoreError {
        let entity = model.entities[object.entity]
        let attribute = entity.uniqueConstraints.contains(constraint) ? "." + entity.name(of: constraint) : ""
        return .corrupted(
            "a unique key of \(entity.name)\(attribute) refers to object \(object.number), whose value differs"
        )
    }

    /// The object that a unique key leads to; nil if the key is missing. The key's value is the object's number, with
    /// the object's entity in the high 16 bits if it is a subentity of the key's entity.
    func object(unique key: [UInt8]) throws -> RecordKey? {
        var object: RecordKey?
        _ = try view.get(key, in: tables.unique) { object = try self.object(unique: key, value: $0) }
        return object
    }

    func object(unique key: [UInt8], value: RawSpan) throws -> RecordKey {
        var reader = try ByteReader(checked: value, "a unique key's value")
        let found = RecordKey(rawValue: try reader.numberToEnd())
        let entity = found.entity == 0 ? StoreLayout.entity(ofUniqueKey: key) : found.entity
        guard let entity, model.entities.indices.contains(entity), found.number > 0 else {
            throw StoreError.corrupted("a unique key's value is not an object's number")
        }
        return RecordKey(entity: entity, number: found.number)
    }
}
