internal import FetchIndexPlatform
package import FetchIndexModels
internal import FetchIndexLMDB

/// The one write transaction of a store. Released without `commit()`, it is rolled back; release it after an error.
///
/// Every change of a record goes through it into the change log, in the same transaction.
package final class StoreWriter: StoreReader {
    private var transaction: WriteTransaction?
    private var lock: FolderLock?
    private var log: LogWriter
    private var entities: [Int: EntityState] = [:]
    /// Where the numbers of the objects inserted by this transaction begin.
    private var firstInserted: [Int: UInt64] = [:]
    let zones = OpenZones()
    private var canAppend = true
    var canAppendUniqueKeys = true
    private var isCounted = false
    /// Whether an entity has derived attributes. Asking one entity for each record would copy it.
    var hasDerivations = false
    /// How objects are linked, by entity.
    private(set) var linksByEntity: [EntityLinks?] = []
    var hasLinks = false
    /// Whether required references may be written as null: those of objects that refer to each other are completed later.
    package var acceptsMissingReferences = false
    private let thread = currentThread()
    private var isSealed = false
    private var hasCommits = false
    var isStateChanged = false
    /// Whether the transaction is a commit although no object changed.
    var commitsWithoutChanges = false

    init(_ store: Store, author: String, _ lock: consuming FolderLock) throws {
        let transaction = try store.environment.beginWrite()
        let view = transaction.view
        self.transaction = consume transaction
        self.lock = consume lock
        self.log = LogWriter(author: author)
        // A newer program may have written since the store was opened.
        try Store.checkFormat(in: view, store.tables, path: store.path)
        try super.init(store, view)
        log.commit = state.commit + 1
        noteModel()
        store.writerBegan(on: thread)
        isCounted = true
    }

    deinit { if isCounted { store.writerEnded(on: thread) } }

    /// Keeps of the model what each change of a record needs.
    func noteModel() {
        hasDerivations = model.entities.contains { $0.hasDerivations }
        linksByEntity = model.entities.map(\.links)
        hasLinks = linksByEntity.contains { $0 != nil }
    }

    /// Throws unless the calling thread is the one that began the transaction.
    func checkThread() throws { if currentThread() != thread { throw StoreError.wrongThread } }

    func requireChangeable() throws {
        precondition(!isSealed, "A sealed transaction changes no records.")
        try checkThread()
    }

    // MARK: Records

    /// Adds an object. Throws when a unique value is taken; nothing is changed then. O(log n).
    @discardableResult
    package func insert(_ entity: Int, _ record: RawSpan) throws -> RecordKey {
        try requireChangeable()
        if let completed = try completed(entity, record) { return try insertCompleted(entity, completed.span.bytes) }
        return try insertCompleted(entity, record)
    }

    /// The record with its derived values; nil when it has them, or there are none.
    func completed(_ entity: Int, _ record: RawSpan) throws -> [UInt8]? {
        guard hasDerivations, model.entities.indices.contains(entity) else { return nil }
        return try model.entities[entity].completed(record)
    }

    /// With a number, those before it are given to no object any more: it must not be less than the next one, nor much greater.
    func insertCompleted(_ entity: Int, _ record: RawSpan, as number: UInt64? = nil) throws -> RecordKey {
        if firstInserted[entity] == nil, model.entities[entity].isAbstract {
            throw StoreError.abstractEntity(model.entities[entity].name)
        }
        let keys = try uniqueKeys(entity, record)
        try checkUnique(keys, of: entity, record)
        if hasLinks { try checkLinks(of: entity, record) }
        if let number { entities[entity] = try entityState(entity).skipping(to: number) }
        let object = RecordKey(entity: entity, number: try entityState(entity).nextObject)
        try putUniqueKeys(keys, of: object)
        return try append(record, of: entity)
    }

    /// Adds an object, but not its unique keys.
    func append(_ record: RawSpan, of entity: Int) throws -> RecordKey {
        let object = RecordKey(entity: entity, number: try entityState(entity).nextObject)
        try append(record, as: object)
        try noteInsertedRecord(object, record)
        try noteInserted(object, count: 1)
        return object
    }

    /// Notes that the next objects of an entity were appended, the first of which is given.
    func noteInserted(_ first: RecordKey, count: UInt64) throws {
        var entityState = try entityState(first.entity)
        if firstInserted[first.entity] == nil { firstInserted[first.entity] = first.number }
        log.insert(first, count: count)
        entityState.nextObject += count
        entityState.count += count
        entities[first.entity] = entityState
    }

    /// Replaces an object's record. False when it has these bytes already: then nothing is changed or logged. O(log n).
    @discardableResult
    package func update(_ object: RecordKey, _ record: RawSpan) throws -> Bool {
        if let completed = try completed(object.entity, record) {
            return try update(object, completed.span.bytes, foundBy: nil)
        }
        return try update(object, record, foundBy: nil)
    }

    func update(
        _ object: RecordKey, _ record: RawSpan, foundBy unique: (constraint: UniqueConstraint, key: [UInt8])?
    ) throws -> Bool {
        try requireChangeable()
        return try view.withCursor(on: tables.records) { cursor in
            guard try cursor.seek(toKeyFrom: object.rawValue), cursor.integerKey == object.rawValue else {
                if let unique { throw wrongUniqueKey(unique.constraint, to: object) }
                throw StoreError.unknownObject("\(object.number)")
            }
            try verify(cursor.value, of: object)
            // The same values have the same unique keys.
            if cursor.value.isEqual(to: record) { return false }
            if let unique { try requireUniqueKey(unique.key, unique.constraint, of: object, cursor.value) }
            let old = [UInt8](copying: cursor.value)
            if hasLinks { try checkLinks(of: object.entity, record, replacing: old.span.bytes) }
            let keys = try uniqueKeys(object.entity, record)
            let oldKeys = try uniqueKeys(object.entity, old.span.bytes)
            try checkUnique(keys, of: object.entity, record, except: object, old: oldKeys)
            try putUniqueKeys(keys, of: object, replacing: oldKeys)
            if hasLinks { try putLinks(of: object, record, replacing: old.span.bytes) }
            // The cursor still stands there.
            try cursor.put(record, for: object.rawValue)
            try noteUpdatedRecord(object, record, replacing: old.span.bytes)
            try log(.updated, object, old)
            return true
        }
    }

    /// Deletes an object, and does with those that are linked to it what the delete rules say. False when there is none.
    /// O(log n), and O(log n) for each of them. Throws as `applyDeleteRules`.
    @discardableResult
    package func delete(_ object: RecordKey) throws -> Bool {
        guard let record = try remove(object) else { return false }
        if hasLinks { _ = try applyDeleteRules(of: [(object, record)]) }
        return true
    }

    /// Deletes an object alone, and returns its record: the caller applies the delete rules, when all is written.
    @discardableResult
    package func remove(_ object: RecordKey) throws -> [UInt8]? {
        try requireChangeable()
        guard let old = try copy(of: object) else { return nil }
        // None of the objects that lack their keys is deleted: they are counted by their numbers.
        if !mustHaveUniqueKeys(object) { try requireUniqueKeys(of: object.entity) }
        try deleteUniqueKeys(of: object, old.span.bytes)
        if hasLinks { try deleteLinks(of: object, old.span.bytes) }
        try view.delete(object.rawValue, in: tables.records)
        try noteRemovedRecord(object)
        var entityState = try entityState(object.entity)
        entityState.count -= min(1, entityState.count)
        entities[object.entity] = entityState
        try log(.deleted, object, old)
        return old
    }

    /// How many objects this transaction has inserted, updated or deleted so far; one that was changed several times counts once.
    package var changeCount: Int { log.changeCount }

    /// Logs the first change of an object that was there before this transaction.
    private func log(_ kind: LogEntryKind, _ object: RecordKey, _ old: [UInt8]) throws {
        if let first = firstInserted[object.entity], object.number >= first { return }
        try log.change(kind, object, old.span.bytes, in: self)
    }

    override var hasOpenZones: Bool { zones.haveChanged }

    package override func entityState(_ entity: Int) throws -> EntityState {
        if let state = entities[entity] { return state }
        return try super.entityState(entity)
    }

    /// LMDB fills its pages when it is told that a key is the greatest. Never replaces a record: the counter from which
    /// the number came may be damaged.
    /// Its zone is told by the caller.
    func append(_ record: RawSpan, as object: RecordKey) throws {
        if hasLinks { try putLinks(of: object, record) }
        if canAppend {
            do {
                try view.put(record, for: object.rawValue, in: tables.records, appending: true)
                return
            } catch let error as LMDBError where error == .keyExists {
                canAppend = false
            }
        }
        do {
            try view.put(record, for: object.rawValue, in: tables.records, replacing: false)
        } catch let error as LMDBError where error == .keyExists {
            throw StoreError.corrupted("object \(object.number) is to be inserted, but already exists")
        }
    }

    // MARK: Commit

    /// Makes everything that was done here the store's newest state, on disk as the store's durability says. Returns
    /// the number of the newest commit, which is a new one only when records changed.
    @discardableResult
    package func commit() throws -> UInt64 {
        defer { finish() }
        try end()
        return state.commit
    }

    /// Commits, and takes a snapshot of just that state, before another writer can come.
    package func commitAndRead() throws -> Snapshot {
        defer { finish() }
        try end()
        do { return try store.snapshot() } catch { throw CommittedWithoutSnapshot(reason: error) }
    }

    /// Commits, and hands the lock on to the next writer of the thread.
    func commitAndKeepLock() throws -> FolderLock {
        guard let kept = lock.take() else { preconditionFailure("A transaction is committed once.") }
        defer { finish() }
        try end()
        return kept
    }

    /// Gives up what is left of the transaction, and only then the lock.
    private func finish() {
        transaction = nil
        lock = nil
        if isCounted { store.writerEnded(on: thread) }
        isCounted = false
    }

    /// Ends the changes of records and writes their log, so that caches can catch up to the new commit in the same
    /// transaction. Returns the number of that commit.
    @discardableResult
    package func seal() throws -> UInt64 {
        if isSealed { return state.commit }
        isSealed = true
        guard log.hasChanges || commitsWithoutChanges else { return state.commit }
        hasCommits = true
        state.commit += 1
        state.logBytes += try log.finish(in: self)
        for (entity, entityState) in entities {
            let key = StoreLayout.entityKey(entity)
            try view.put(entityState.encoded, for: key, in: tables.meta)
        }
        try writeZones()
        isStateChanged = true
        return state.commit
    }

    /// Ends a commit, and begins the next one in the same transaction: what follows has a number and an author of its own, but both
    /// reach the disk together, or neither does.
    package func beginNextCommit(author: String) throws {
        try checkThread()
        try seal()
        isSealed = false
        log = LogWriter(author: author)
        log.commit = state.commit + 1
        firstInserted = [:]
    }

    private func end() throws {
        precondition(transaction != nil, "A transaction is committed once.")
        try checkThread()
        try seal()
        if hasCommits { try enforceLogLimit() }
        if isStateChanged || transaction?.hasWritten ?? false {
            let entries = [
                (StoreLayout.stateKey, state.encoded(writtenBy: view)),
                (StoreLayout.formatKey, StoreLayout.encodedVersion),
            ]
            for (key, value) in entries {
                try view.put(value, for: key, in: tables.meta)
            }
            if store.identifier == nil { try StoreIdentifier.makeIfMissing(in: view, tables) }
        }
        if let ended = transaction.take() {
            do { try ended.commit() } catch let error as LMDBError {
                throw StoreError(failedWrite: error) ?? error
            } catch let error as EnvironmentMoved {
                throw StoreError.moved(path: error.path)
            }
        }
    }
}
