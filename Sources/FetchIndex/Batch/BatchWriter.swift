internal import Synchronization
internal import FetchIndexOrderCaches
internal import FetchIndexRecords
internal import FetchIndexPlatform
public import FetchIndexModels
/// Writes many objects of an entity without making managed objects: in transactions, by unique keys, logged like every
/// change.
///
/// The first change begins a transaction, which holds the store's write lock until `commit` or `rollback`. After an
/// error, roll back. A transaction belongs to the thread that began it, so do not use a writer from an actor or a task
/// across suspensions; another thread gets `StoreError.wrongThread`.
public final class BatchWriter {
    public struct Counts: Equatable, Sendable {
        public internal(set) var inserted = 0
        public internal(set) var updated = 0
        /// Rows whose values were stored already.
        public internal(set) var unchanged = 0
        public internal(set) var deleted = 0

        package init() {}

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

    /// Kept, because a temporary store is removed with its container.
    let container: PersistentContainer
    let store: Store
    public let entity: Entity
    let entityNumber: Int
    let constraint: UniqueConstraint?
    private let origin: ObjectOrigin
    let author: String
    /// How long a transaction waits for a busy writer before it throws `StoreError.writerBusy`. Nil: without limit.
    public var writeTimeout: Duration?
    var writer: StoreWriter?
    /// What a cache takes with the next transaction: its reader has had it.
    var told: CacheReading?
    /// The store whose numbers the objects get; noted with each commit. Nil: this one.
    var numbersOrigin: UUID?
    /// Whether unique keys are left out until the end of a first import, and at most how many of them.
    var deferral = KeyDeferral.never
    var mostDeferred = 0
    /// What the writer needs of the next batch, as the last ones were.
    let preparation = Atomic(Preparation.sortedKeys)
    public internal(set) var counts = Counts()
    /// What of `counts` is committed. Unique keys that were left out are written in a commit of their own before the last one.
    package internal(set) var savedCounts = Counts()
    /// The updates of the open transaction.
    var updatedRows = UpdatedRows()
    /// Objects whose rows are counted as updated because of links that were made later.
    var linkedLater: Set<UInt64> = []

    /// `key` names the unique attribute by which rows update objects; without a key every row is a new object. Throws
    /// `StoreError.unknownEntity`, and `RequestError` when the key is not unique.
    public init(_ container: PersistentContainer, entity name: String, key: String? = nil, author: String = "") throws {
        do {
            self.container = container
            store = container.store
            let model = try store.snapshot().model
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
        } catch { throw publicError(error) }
    }

    /// The open transaction; begun at the first change.
    func transaction() throws -> StoreWriter {
        if let writer { return writer }
        let begun = try store.beginWrite(author: author, limit: writeTimeout, changesRecords: !isDeferring)
        let stored = begun.model.entities[entityNumber]
        guard stored.hasSameRules(as: entity), entity.isReadable(with: stored), stored.slots.count == entity.slots.count
        else {
            throw StoreError.modelMismatch(entity: entity.name, "another process changed it; create a new writer")
        }
        writer = begun
        updatedRows = UpdatedRows()
        return begun
    }

    private func id(of object: RecordKey) -> ObjectID { ObjectID(object, origin) }

    /// Throws for an object of another entity, which has other attributes.
    private func key(of object: ObjectID) throws -> RecordKey {
        let key = try container.key(of: object)
        guard key.entity == entityNumber else {
            throw RequestError.wrongType("the writer writes \(entity.name), and \(object) is a \(object.entityName)")
        }
        return key
    }

    /// The numbers of the entity's objects, in ascending order, until the body returns false. O(n).
    package func forEachNumber(_ body: (UInt64) throws -> Bool) throws {
        try transaction().scan(entityNumber) { object, _ in try body(object.number) }
    }

    /// The object with a key; nil when there is none. O(log n). Throws `StoreError`, and `RequestError` without a key.
    public func object(key: Value) throws -> ObjectID? {
        try withPublicErrors {
            guard let constraint else { throw RequestError.malformed("\(entity.name) has no key") }
            let object = try transaction().object(entityNumber, constraint, equalTo: [key])
            // An object of another entity of the hierarchy may have the key.
            return object.flatMap { $0.entity == entityNumber ? id(of: $0) : nil }
        }
    }

    /// An object by its number; nil when there is none. Throws `StoreError`.
    public func object(number: UInt64) throws -> ObjectID? {
        try withPublicErrors {
            guard number <= RecordKey.maximumNumber else { return nil }
            let object = RecordKey(entity: entityNumber, number: number)
            return try transaction().record(object, { _ in }) ? id(of: object) : nil
        }
    }

    /// An object's values in the order of the entity's attributes. Throws `StoreError.unknownObject` when there is no such
    /// object.
    public func values(of object: ObjectID) throws -> [Value] {
        try withPublicErrors {
            var values: [Value]?
            _ = try transaction().record(key(of: object)) { values = try entity.values(of: $0) }
            guard let values else { throw StoreError.unknownObject("\(object.number)") }
            return values
        }
    }

    /// Adds an object with values in the order of the entity's attributes. O(log n).
    /// Throws `StoreError` when a value has another type, is missing, or is not unique.
    @discardableResult
    public func insert(_ values: [Value]) throws -> ObjectID {
        try withPublicErrors {
            let record = try entity.record(values)
            let object = try transaction().insert(entityNumber, record.span.bytes)
            counts.add(.inserted(object))
            return id(of: object)
        }
    }

    /// Gives an object new values; its relationships stay. Equal values change nothing. Of several updates of an object in one
    /// transaction the last decides what is counted and committed: one update, or none. O(log n). Throws `StoreError`,
    /// `ContextError.otherStore`, and `RequestError` for an object of another entity.
    public func update(_ object: ObjectID, _ values: [Value]) throws {
        try withPublicErrors {
            let record = try entity.record(values)
            let outcome = try transaction().update(key(of: object), from: record.span.bytes)
            counts.add(outcome)
            if !outcome.isUnchanged { updatedRows.note(object.number) }
        }
    }

    /// Deletes an object, if it is there, and does with related objects what the delete rules say. O(log n), and O(log n) for each of
    /// them. Throws as `update`, and `StoreError.deletionDenied`.
    public func delete(_ object: ObjectID) throws {
        try withPublicErrors {
            if try transaction().delete(key(of: object)) { counts.deleted += 1 }
        }
    }

    /// Commits what was written. Returns the commit's number; nil when nothing was written. Throws `StoreError`.
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
        try ended.seal()
        try container.cacheEngine.keepAll(in: ended)
        let commit = try ended.commit()
        savedCounts = counts
        return commit
    }

    /// As `commit`, and catches up a cache in the same transaction; ``commit(bringing:cacheName:telling:)`` is for a reader that may fail.
    /// Returns `.hit` when nothing of the order changed,
    /// `.caughtUp` with the exact change since the cache was last current, or `.rebuilt` with the reason when the change is not
    /// known: then fetch the order again. Nil when there is no open transaction: nothing was read or written since the last commit,
    /// the cache is left as it is, and it may be behind what others wrote. O(k log n) for k changes. Throws also when the
    /// definition does not fit the model.
    public func commit(bringing definition: OrderDefinition, cacheName: String) throws -> FetchOutcome? {
        try withPublicErrors {
            if CacheDirectory.isIndex(cacheName) { throw StoreError.invalidCacheName(cacheName) }
            try settleUpdates()
            guard let ended = writer else { return nil }
            writer = nil
            let request = try definition.compile(in: ended.model)
            try ended.seal()
            let cache = CacheRequest(name: cacheName, order: request, needsExactChange: true, author: author)
            let start = ContinuousClock.now
            let engine = container.cacheEngine
            let written = try engine.open(cache, in: ended, for: .following)
            try engine.keepAll(in: ended, except: written.opened == nil ? [] : [cacheName])
            try ended.commit()
            savedCounts = counts
            if let opened = written.opened { engine.record(opened, of: cache, since: start) }
            let model = ended.model
            return FetchOutcome(written.outcome) { container.id(of: $0, in: model) }
        }
    }

    /// Whether something was written since the last commit.
    public var hasOpenTransaction: Bool { writer != nil }

    /// Commits, and releases the mapped pages of the file: for imports of many batches.
    func commitBatch() throws {
        try withPublicErrors { _ = try commitTransaction() }
        store.releasePages()
    }

    /// Drops what was written since the last commit, and what it was counted as.
    func rollback(uncounting gone: Counts) {
        rollback()
        counts = counts - gone
    }

    /// Counts rows that changed nothing, because a later one has their key.
    func countUnchanged(_ count: Int) { counts.unchanged += count }

    /// Drops what was written since the last commit.
    public func rollback() {
        writer = nil
        leaveDeferral()
    }
}
