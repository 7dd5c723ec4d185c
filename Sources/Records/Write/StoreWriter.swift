internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexLMDB

/// The one write transaction of a store. Released without `commit()`, it is rolled back; release it after an error.
///
/// It writes every change of a record to the change log, in the same transaction.
package final class StoreWriter: StoreReader {
    private var transaction: WriteTransaction?
    private var lock: FolderLock?
    var log: LogWriter
    /// The counters of entities whose objects changed.
    var entities: [Int: EntityState] = [:]
    /// The number of the first object inserted by the current commit, by entity.
    var firstInserted: [Int: UInt64] = [:]
    let zones = OpenZones()
    /// Whether the keys of new records, and new unique keys, have been the greatest of their table so far.
    var canAppend = true
    var canAppendUniqueKeys = true
    private var isCounted = false
    /// Whether an entity has derived attributes. Asking one entity for each record would copy it.
    var hasDerivations = false
    /// The links of each entity's objects.
    private(set) var linksByEntity: [EntityLinks?] = []
    var hasLinks = false
    /// Whether required references may be null: objects that refer to each other get them later.
    package var acceptsMissingReferences = false
    private let thread = currentThread()
    private var isSealed = false
    private var hasCommits = false
    var isStateChanged = false
    /// Whether the transaction is a commit even if no object changed.
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

    /// Caches the properties of the model that each change of a record needs.
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

    override var hasOpenZones: Bool { zones.haveChanged }

    package override func entityState(_ entity: Int) throws -> EntityState {
        if let state = entities[entity] { return state }
        return try super.entityState(entity)
    }

    // MARK: Commit

    /// Commits: the changes become the store's newest state, which reaches the disk as the store's durability says.
    /// Returns the number of the newest commit, which is a new one only if records changed.
    @discardableResult
    package func commit() throws -> UInt64 {
        defer { finish() }
        try end()
        return state.commit
    }

    /// Commits and takes a snapshot of exactly that state, before another writer can begin. Throws
    /// `CommittedWithoutSnapshot` if only the snapshot fails.
    package func commitAndRead() throws -> Snapshot {
        defer { finish() }
        try end()
        do { return try store.snapshot() } catch { throw CommittedWithoutSnapshot(reason: error) }
    }

    /// Commits, and returns the lock for the next writer of the thread.
    func commitAndKeepLock() throws -> FolderLock {
        guard let kept = lock.take() else { preconditionFailure("A transaction is committed once.") }
        defer { finish() }
        try end()
        return kept
    }

    /// Ends the transaction, if it is still open, and then releases the lock.
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

    /// Ends a commit and begins the next one in the same transaction. The next commit has a number and an author of its
    /// own, but both reach the disk together, or neither does (group commit).
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
