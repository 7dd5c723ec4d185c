internal import FetchIndexOrderCaches
internal import FetchIndexRecords
internal import FetchIndexEssentials
public import FetchIndexModels
/// Writes many objects of an entity in transactions, without making managed objects. It can find objects by a unique
/// key. Its changes are logged like all others.
///
/// The first change or read begins a transaction, which holds the store's write lock until `commit` or `rollback`, or
/// until the writer is released. After an error, roll back. A transaction belongs to the thread that began it, so don't
/// use a writer from an actor or a task across suspensions; another thread gets `StoreError.wrongThread`.
public final class BatchWriter {
    public struct Counts: Equatable, Sendable {
        public internal(set) var inserted = 0
        public internal(set) var updated = 0
        /// Rows and updates that left the stored values as they were, or that later ones undid or replaced.
        public internal(set) var unchanged = 0
        public internal(set) var deleted = 0

        package init(unchanged: Int = 0) { self.unchanged = unchanged }

        package var changed: Int { inserted + updated + deleted }

        mutating func add(_ outcome: WriteOutcome) {
            switch outcome {
            case .inserted: inserted += 1
            case .updated: updated += 1
            case .unchanged: unchanged += 1
            }
        }

        package static func + (left: Counts, right: Counts) -> Counts { left.combined(with: right, +) }
        package static func - (left: Counts, right: Counts) -> Counts { left.combined(with: right, -) }

        private func combined(with other: Counts, _ operation: (Int, Int) -> Int) -> Counts {
            var counts = Counts()
            counts.inserted = operation(inserted, other.inserted)
            counts.updated = operation(updated, other.updated)
            counts.unchanged = operation(unchanged, other.unchanged)
            counts.deleted = operation(deleted, other.deleted)
            return counts
        }
    }

    /// The container, retained because a temporary store is removed with it.
    let container: PersistentContainer
    let store: Store
    public let entity: Entity
    let entityNumber: Int
    let constraint: UniqueConstraint?
    private let origin: ObjectOrigin
    let author: String
    /// The maximum time that a transaction waits for another writer before it throws `StoreError.writerBusy`; nil waits
    /// without limit.
    public var writeTimeout: Duration?
    /// Called before each commit with a preview of what it would change. If it throws, the transaction is dropped, and
    /// the commit rethrows the error: rules can refuse a batch that changes too much.
    public var beforeCommit: ((BatchPreview) throws -> Void)?
    var writer: StoreWriter?
    /// What the first transaction adds to the store's model; nil once it's committed.
    private var added: Model?
    /// The order that a cache's reader has received, but the cache doesn't store yet.
    var told: CacheReading?
    /// The store that allocated the numbers of the inserted objects; nil if this store allocates them. `commit()` and
    /// `commitBatch` note it in the store.
    var numbersOrigin: UUID?
    /// The deferred unique keys of a first import; nil if its keys aren't deferred.
    var deferred: DeferredKeys?
    /// The number of deferred keys at which they are written; nil if keys mustn't be deferred.
    var mostDeferred: Int?
    /// Whether the store had most records of the last batch already.
    var areMostUnchanged = false
    public internal(set) var counts = Counts()
    /// The value of `counts` at the last commit.
    package internal(set) var savedCounts = Counts()
    /// The objects that `update` changed in the open transaction.
    var updatedRows = UpdatedRows()
    /// The objects whose rows are counted as updated because of links that were made later.
    var linkedLater: Set<UInt64> = []

    /// `key` names the unique attribute by which ``object(key:)`` finds objects, and imported rows update objects.
    /// Throws `StoreError`, for example for an unknown name, and `RequestError` if the key isn't unique.
    public convenience init(
        _ container: PersistentContainer, entity name: String, key: String? = nil, author: String = ""
    ) throws {
        try self.init(container, adding: nil, entity: name, key: key, author: author)
    }

    private init(
        _ container: PersistentContainer, _ model: Model, entity name: String, key: String?, author: String
    ) throws {
        self.container = container
        store = container.store
        entityNumber = try model.number(of: name)
        let entity = model.entities[entityNumber]
        self.entity = entity
        origin = container.origin(ofEntity: entityNumber, named: name)
        self.author = author
        constraint = try key.map { key in
            guard let constraint = entity.uniqueConstraint(ofSlot: try entity.requireSlot(of: key)) else {
                throw RequestError.wrongType("\(name).\(key) is not unique, so it cannot be the key")
            }
            return constraint
        }
    }

    /// Makes a writer whose first transaction adds to the store's model what `model` has and the store lacks: entities,
    /// attributes and relationships. So dropping the transaction undoes that, too. The transaction begins at once, unless
    /// `model` is nil. Costs like `PersistentContainer.migrate`. Throws like the public initializer.
    package convenience init(
        _ container: PersistentContainer, adding model: Model?, entity name: String, key: String?, author: String
    ) throws {
        do {
            let begun = try model.map { model in
                let begun = try container.store.beginWrite(author: author)
                try container.add(model, in: begun, author: author)
                return begun
            }
            let stored = try begun?.model ?? container.store.snapshot().model
            try self.init(container, stored, entity: name, key: key, author: author)
            (writer, added) = (begun, model)
        } catch { throw publicError(error) }
    }

    /// Returns the open transaction, or begins one.
    func transaction() throws -> StoreWriter {
        if let writer { return writer }
        let begun = try store.beginWrite(author: author, limit: writeTimeout, changesRecords: !isDeferring)
        if let added { try container.add(added, in: begun, author: author) }
        let stored = begun.model.entities[entityNumber]
        guard stored.hasSameRules(as: entity), entity.isReadable(with: stored), stored.slots.count == entity.slots.count
        else {
            throw StoreError.modelMismatch(entity: entity.name, "it has changed; create a new writer")
        }
        writer = begun
        updatedRows = UpdatedRows()
        return begun
    }

    func id(of object: RecordKey) -> ObjectID { ObjectID(object, origin) }

    /// Returns the record key of an object. Throws for an object of another entity or store.
    func key(of object: ObjectID) throws -> RecordKey {
        let key = try container.key(of: object)
        guard key.entity == entityNumber else {
            throw RequestError.wrongType("the writer writes \(entity.name), not \(object.entityName)")
        }
        return key
    }

    /// The model of the open transaction, or the store's.
    package var model: Model {
        get throws { try withPublicErrors { try (writer ?? store.snapshot()).model } }
    }

    /// Calls the body with the number of each object of the entity, in ascending order, until the body returns false.
    /// O(n).
    package func forEachNumber(_ body: (UInt64) throws -> Bool) throws {
        try transaction().scan(entityNumber) { object, _ in try body(object.number) }
    }

    /// Finds the object with a key; nil if no object of the writer's entity has it. O(log n). Throws `StoreError`, and
    /// `RequestError` if the writer has no key.
    public func object(key: Value) throws -> ObjectID? {
        try withPublicErrors {
            guard let constraint else {
                throw RequestError.malformed("the writer of \(entity.name) was created without a key")
            }
            let object = try transaction().object(entityNumber, constraint, equalTo: [key])
            // An object of another entity of the hierarchy may have the key.
            return object.flatMap { $0.entity == entityNumber ? id(of: $0) : nil }
        }
    }

    /// Finds an object by its number; nil if it doesn't exist. Throws `StoreError`.
    public func object(number: UInt64) throws -> ObjectID? {
        try withPublicErrors {
            guard number <= RecordKey.maximumNumber else { return nil }
            let object = RecordKey(entity: entityNumber, number: number)
            return try transaction().record(object, { _ in }) ? id(of: object) : nil
        }
    }

    /// An object's values in the order of the entity's attributes. Throws `StoreError.unknownObject` if the object
    /// doesn't exist.
    public func values(of object: ObjectID) throws -> [Value] {
        try withPublicErrors {
            var values: [Value]?
            _ = try transaction().record(key(of: object)) { values = try entity.values(of: $0) }
            guard let values else { throw StoreError.unknownObject("\(object.number)") }
            return values
        }
    }

    /// Adds an object with values in the order of the entity's attributes. O(log n).
    /// Throws `StoreError` if a value has another type, is missing, or isn't unique.
    @discardableResult
    public func insert(_ values: [Value]) throws -> ObjectID {
        try withPublicErrors {
            let record = try entity.record(values)
            let object = try transaction().insert(entityNumber, record.span.bytes)
            counts.add(.inserted(object))
            return id(of: object)
        }
    }

    /// Gives an object new values; its relationships don't change. Equal values change nothing. When the transaction is
    /// committed, several updates of an object count as one update, or as unchanged if they undo each other. O(log n).
    /// Throws `StoreError`, `ContextError.otherStore`, and `RequestError` for an object of another entity.
    public func update(_ object: ObjectID, _ values: [Value]) throws {
        try withPublicErrors {
            let record = try entity.record(values)
            let outcome = try transaction().update(key(of: object), from: record.span.bytes)
            counts.add(outcome)
            if !outcome.isUnchanged { updatedRows.note(object.number) }
        }
    }

    /// Deletes an object if it exists, and applies the delete rules to its related objects. O(log n) for each deleted
    /// or changed object. Throws like `update`, and `StoreError.deletionDenied`.
    public func delete(_ object: ObjectID) throws {
        try withPublicErrors {
            if try transaction().delete(key(of: object)) { counts.deleted += 1 }
        }
    }

    /// Commits the open transaction, unless `beforeCommit` refuses it. Returns the number of the store's newest commit, which is a new one only if the
    /// transaction changed something; nil if no transaction is open. Throws `StoreError`.
    @discardableResult
    public func commit() throws -> UInt64? {
        try withPublicErrors {
            try settleUpdates()
            return try commitTransaction()
        }
    }

    func commitTransaction() throws -> UInt64? {
        guard let ended = writer else { return nil }
        writer = nil
        if let numbersOrigin { try ended.noteNumbers(of: numbersOrigin, entityNumber) }
        try seal(ended)
        try container.cacheEngine.keepAll(in: ended)
        let commit = try ended.commit()
        noteCommit()
        return commit
    }

    /// Commits, and catches up a cache in the same transaction. For a reader that may fail, use
    /// ``commit(bringing:cacheName:telling:)``. Returns `.hit` if the order didn't change, `.caughtUp` with the exact
    /// change since the cache was last current, or `.rebuilt` with the reason if the change isn't known. After
    /// `.rebuilt`, fetch the order again: only a cache that is damaged or too far behind is rebuilt here.
    ///
    /// Returns nil if no transaction is open, because nothing was read or written since the last one ended. The cache
    /// is then left as it is, and may be behind other writers' commits. O(k log n) for k changes; O(n log n) if the
    /// cache is rebuilt. Throws `StoreError`, and other errors if the definition doesn't fit the model. After an error,
    /// the transaction isn't committed.
    public func commit(bringing definition: OrderDefinition, cacheName: String) throws -> FetchOutcome? {
        try withPublicErrors {
            guard let (ended, cache) = try sealed(bringing: definition, cacheName: cacheName) else { return nil }
            let start = ContinuousClock.now
            let engine = container.cacheEngine
            let written = try engine.open(cache, in: ended, for: .following)
            try engine.keepAll(in: ended, except: written.opened == nil ? [] : [cacheName])
            try ended.commit()
            noteCommit()
            let model = ended.model
            switch written {
            case .unusable(let reason): return .rebuilt(reason)
            case .opened(let opened):
                engine.record(opened, of: cache, since: start)
                return opened.outcome.identified { container.id(of: $0, in: model) }
            }
        }
    }

    func noteCommit() {
        savedCounts = counts
        added = nil
    }

    /// Whether a transaction is open, because something was written or read since the last commit or rollback.
    public var hasOpenTransaction: Bool { writer != nil }

    /// Drops the changes since the last commit. `counts` still includes them.
    public func rollback() {
        writer = nil
        if isDeferring { leaveDeferral() }
    }
}
