internal import FetchIndexPlatform
package import FetchIndexModels
package import FetchIndexLMDB
package import FetchIndexValues

/// Reads a store in the transaction of a subclass, `Snapshot` or `StoreWriter`. Must be used by one thread at a time.
package class StoreReader {
    package let store: Store
    /// The view of the transaction. The subclass owns the transaction.
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

    /// A number that no other reader of this process has, if this reader's state can't change; otherwise nil. See
    /// `RecordState`.
    package var identity: UInt64? { nil }

    /// The newest commit that this reader sees.
    package var commit: UInt64 { state.commit }

    package func entityState(_ entity: Int) throws -> EntityState {
        var state = EntityState()
        _ = try view.get(StoreLayout.entityKey(entity), in: tables.meta) { state = try EntityState(decoding: $0) }
        return state
    }

    /// Calls the body with an object's record, without copying it. Returns false if the object doesn't exist. Throws
    /// `corrupted` if the record doesn't match its checksum. O(log n).
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

    /// The version of the stored model, a number that changes whenever the model does.
    package var modelVersion: UInt32 { state.modelVersion }

    /// A copy of a record; nil if the object doesn't exist. Throws like `record`. O(log n).
    package func copy(of object: RecordKey) throws -> [UInt8]? {
        var copy: [UInt8]?
        _ = try record(object) { copy = [UInt8](copying: $0) }
        return copy
    }

    /// Calls the body with a record that may be damaged, for checks. Returns false if the object doesn't exist.
    func storedRecord(_ object: RecordKey, _ body: (RawSpan) throws -> Void) throws -> Bool {
        try view.get(object.rawValue, in: tables.records, body)
    }

    /// Throws `corrupted` unless a record matches its checksum.
    @inline(__always)
    func verify(_ record: RawSpan, of object: RecordKey) throws {
        guard record.endsWithChecksum() else { throw damaged(object) }
    }

    private func damaged(_ object: RecordKey) -> StoreError {
        let entity = model.entities.indices.contains(object.entity) ? model.entities[object.entity].name : "an object"
        return .corrupted("the record of \(entity) \(object.number) does not match its checksum")
    }

    /// The error to throw if pages with records of an entity are damaged.
    func damaged(_ error: LMDBError, among entity: Int) -> StoreError {
        let name = model.entities.indices.contains(entity) ? model.entities[entity].name : "an entity"
        return .corrupted("pages with records of \(name): \(error.reason)")
    }

    /// Calls the body with an entity's records, without copying them, by ascending object number, starting at `number`,
    /// until the body returns false. Throws `corrupted` for a record that doesn't match its checksum. If the scan
    /// begins at 0 and reaches the end, also throws if the number of records differs from the entity's count. After a
    /// snapshot has scanned an entity completely, its later scans don't verify the entity's records again. O(n).
    ///
    /// Records are read one by one, so if this is a writer, the body may write. But it must not insert or delete
    /// objects of the entity, because their number may then differ from the count. `Scan` reads blocks of records on
    /// several threads.
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

    /// Calls the body with records like `scan`, but without verifying or counting them: checks and repairs read damaged
    /// stores.
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

    /// The least object number of an entity; 0 if it has no objects. O(log n).
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

    /// Throws `corrupted` unless `scanned` is the number of the entity's objects whose object numbers are at least
    /// `number`, according to the entity's counters.
    func requireCount(of entity: Int, _ scanned: UInt64, from number: UInt64 = 0) throws {
        let counted = try count(of: entity, from: number)
        guard scanned == counted else {
            throw StoreError.corrupted("\(model.entities[entity].name) counts \(counted) objects, but has \(scanned)")
        }
    }

    /// The entities whose records were all verified.
    var verifiedEntities: Set<Int> { [] }
    func noteVerified(_ entity: Int) {}

    /// Whether this reader has changed zones and hasn't written them yet.
    var hasOpenZones: Bool { false }

    /// The object that has a value of a unique attribute; nil if there isn't one, or if the attribute isn't unique.
    /// Throws `corrupted` if the unique key leads to an object that is missing or has another value. O(log n), plus
    /// O(k) if the value has no unique key and k objects lack theirs.
    package func object(_ entity: Int, slot: Int, equalTo value: Value) throws -> RecordKey? {
        guard let constraint = model.entities[entity].uniqueConstraint(ofSlot: slot) else { return nil }
        return try object(entity, constraint, equalTo: [value])
    }

    /// The object that has these values of attributes that are unique together; nil if there isn't one. Throws and
    /// costs like `object(_:slot:equalTo:)`.
    package func object(_ entity: Int, _ constraint: UniqueConstraint, equalTo values: [Value]) throws -> RecordKey? {
        var key = StoreLayout.uniqueKey(entity: entity, constraint)
        for value in values { OrderKey.append(value, to: &key) }
        guard key.count <= Table.maximumKeyLength else { return nil }
        guard let object = try object(unique: key) else { return try unkeyedObject(entity, constraint, key) }
        let isFound = try record(object) { try requireUniqueKey(key, constraint, of: object, $0) }
        if !isFound { throw wrongUniqueKey(constraint, to: object) }
        return object
    }

    /// Throws `corrupted` unless a record has the unique key that led to it.
    func requireUniqueKey(
        _ key: [UInt8], _ constraint: UniqueConstraint, of object: RecordKey, _ record: RawSpan
    ) throws {
        let entity = model.entities[object.entity]
        // In a hierarchy of entities, another entity may have declared the constraint.
        let own =
            constraint.owner == nil && entity.superentity == nil
            ? constraint : entity.uniqueConstraints.first { StoreLayout.isKey(key, of: $0, object.entity) }
        guard let own, try uniqueKey(object.entity, own, record) == key else {
            throw wrongUniqueKey(constraint, to: object)
        }
    }

    /// The unique key of a record, of any length; nil if one of the values is null, since nulls needn't be unique.
    func uniqueKey(_ entity: Int, _ constraint: UniqueConstraint, _ record: RawSpan) throws -> [UInt8]? {
        try Self.uniqueKey(entity, model.entities[entity], constraint, record)
    }

    static func uniqueKey(
        _ number: Int, _ entity: Entity, _ constraint: UniqueConstraint, _ record: RawSpan
    ) throws -> [UInt8]? {
        var key: [UInt8] = []
        return try makeUniqueKey(number, entity, constraint, record, in: &key) ? key : nil
    }

    /// Writes the unique key of a record into `key`, whose memory is reused. Returns false if one of the values is
    /// null.
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
            "a unique key of \(entity.name)\(attribute) refers to object \(object.number), which is missing or has another value"
        )
    }

    /// The object that a unique key leads to; nil if the key is missing. The key's value is the object number. If the
    /// object is of a subentity of the key's entity, the high 16 bits of the value are the subentity's number.
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
