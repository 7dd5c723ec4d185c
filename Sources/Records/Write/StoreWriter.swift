internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexLMDB

/// A write transaction of a store. A store has only one at a time, in all processes together. If it's released before
/// it's committed, it's rolled back; release it after an error.
///
/// The changes of objects are also written to the change log, in the same transaction. A migration rewrites records
/// without logging them.
///
///     open -> sealed     seal, and commit before it ends the transaction
///     sealed -> open     beginNextCommit
///     sealed -> ended    commit
///     any -> ended       drop, release, or an error of commit
package final class StoreWriter: StoreReader {
    private enum Stage {
        /// Records may be changed.
        case open
        /// The commit has its number, and its changes are in the log. Caches may be changed.
        case sealed
        /// The transaction is committed or rolled back, and another writer may begin.
        case ended
    }

    private var stage = Stage.ended
    private var transaction: WriteTransaction?
    private var lock: FolderLock?
    var log: LogWriter
    /// By entity, the counters that this transaction changed.
    var entities: [Int: EntityState] = [:]
    /// By entity, the number of the first object that the current commit inserted.
    var firstInserted: [Int: UInt64] = [:]
    let zones = OpenZones()
    /// Whether so far, each new record's key was the greatest key of the records table.
    var canAppend = true
    /// Whether so far, each key of `appendUniqueKey` was the greatest key of the unique table.
    var canAppendUniqueKeys = true
    /// Whether an entity of the model has derived attributes. It's stored here, because asking an entity would copy the
    /// entity for each record.
    var hasDerivations = false
    /// By entity, its references and the references that may lead to its objects; nil for an entity that has none.
    private(set) var linksByEntity: [EntityLinks?] = []
    var hasLinks = false
    /// Whether a relationship is its own inverse.
    private(set) var hasSymmetricLinks = false
    /// The links of such relationships that the transaction has made or removed, and whose turned links it must still make
    /// or remove.
    var symmetricLinks: [SymmetricLink] = []
    /// Whether required references may be null for now. Objects that refer to each other get these references after all
    /// of them are inserted.
    package var acceptsMissingReferences = false
    private let thread = currentThread()
    /// The numbers of changes, and of bytes of long records, after which the memory of the transaction is limited next.
    private var changesLeft: Int
    private var bytesLeft: Int
    /// Whether a commit was sealed that has a number of its own.
    private var hasCommits = false
    /// Whether the state must be written, because commits or other changes of it were made.
    var isStateChanged = false
    /// Whether the current commit counts even if no object changed.
    var commitsWithoutChanges = false
    /// Whether the current commit rewrites records for another model, or removes an entity: see
    /// `StoreReader.lastRewrite`.
    var rewritesRecords = false

    init(_ store: Store, author: String, _ lock: consuming FolderLock) throws {
        let transaction = try store.environment.beginWrite()
        let view = transaction.view
        self.transaction = consume transaction
        self.lock = consume lock
        self.log = LogWriter(author: author)
        // Each change alters pages of far less than 32 KiB, so fewer changes can't take the memory.
        changesLeft = store.writeMemory >> 15
        // The log takes as much as the records.
        bytesLeft = store.writeMemory / 2
        // A program with a newer format may have written since the store was opened, so the format is checked again.
        try Store.checkFormat(in: view, store.tables, path: store.path)
        try super.init(store, view)
        log.commit = state.commit + 1
        noteModel()
        store.writerBegan(on: thread)
        stage = .open
    }

    deinit { if stage != .ended { store.writerEnded(on: thread) } }

    /// Caches the properties of the model that each change of a record needs.
    func noteModel() {
        hasDerivations = model.entities.contains { $0.hasDerivations }
        linksByEntity = model.entities.map(\.links)
        hasLinks = linksByEntity.contains { $0 != nil }
        hasSymmetricLinks = linksByEntity.contains { $0?.references.contains(where: \.isSymmetric) ?? false }
    }

    /// Throws `wrongThread` unless the calling thread began the transaction.
    func checkThread() throws { if currentThread() != thread { throw StoreError.wrongThread } }

    /// Prepares changes of objects: throws `wrongThread` unless the calling thread began the transaction, and limits the
    /// memory that the pages changed so far take. The caller must not use spans of earlier reads. `byteCount` is the
    /// length of the new records.
    func beginChanges(of count: Int = 1, byteCount: Int = 0) throws {
        precondition(stage == .open, "Records must not be changed after the transaction was sealed.")
        try checkThread()
        changesLeft -= count
        // LMDB counts the pages of a long value as one page, so the bytes of long records are counted here.
        if byteCount > count << 11 { bytesLeft -= byteCount }
        guard changesLeft <= 0 || bytesLeft <= 0 else { return }
        try transaction?.limitMemory(to: bytesLeft <= 0 ? 0 : store.writeMemory)
        changesLeft = max(1, min(256, store.writeMemory >> 14))
        if bytesLeft <= 0 { bytesLeft = store.writeMemory / 2 }
    }

    /// Limits the memory that the changed pages take. Spans of earlier reads become invalid.
    func limitMemory(to byteCount: Int) throws { try transaction?.limitMemory(to: byteCount) }

    override var hasOpenZones: Bool { zones.haveChanged }

    package override func entityState(_ entity: Int) throws -> EntityState {
        if let state = entities[entity] { return state }
        return try super.entityState(entity)
    }

    // MARK: Commit

    /// Commits the transaction. Its changes become the store's newest state; the store's durability says when they are
    /// on disk. Returns the number of the newest commit, which is a new one only if objects changed or a migration
    /// needed a pass over records.
    @discardableResult
    package func commit() throws -> UInt64 {
        defer { finish() }
        try end()
        return state.commit
    }

    /// Commits, and opens a snapshot of exactly this state before another writer can begin. Throws
    /// `CommittedWithoutSnapshot` if only the snapshot fails.
    package func commitAndRead() throws -> Snapshot {
        defer { finish() }
        try end()
        do { return try store.snapshot() } catch { throw CommittedWithoutSnapshot(reason: error) }
    }

    /// Commits, and returns the writer's lock, so that this thread can begin the next writer without waiting.
    func commitAndKeepLock() throws -> FolderLock {
        guard let kept = lock.take() else { preconditionFailure("A transaction must not be committed twice.") }
        defer { finish() }
        try end()
        return kept
    }

    /// Commits, and begins the next transaction before another writer can.
    package func commitAndBeginNext(author: String) throws -> StoreWriter {
        let store = store
        return try StoreWriter(store, author: author, commitAndKeepLock())
    }

    /// Drops the transaction, also if others still hold this writer. They mustn't read it any more.
    package func drop() { finish() }

    /// Rolls back the transaction if it's still open, and then releases the writer's lock.
    private func finish() {
        transaction = nil
        lock = nil
        if stage != .ended { store.writerEnded(on: thread) }
        stage = .ended
    }

    /// Ends the commit's changes of records and writes them to the log, so that caches can catch up to the new commit
    /// in the same transaction. Returns the number of the newest commit.
    @discardableResult
    package func seal() throws -> UInt64 {
        if stage != .open { return state.commit }
        try completeSymmetricLinks()
        stage = .sealed
        guard log.hasChanges || commitsWithoutChanges else { return state.commit }
        hasCommits = true
        state.commit += 1
        state.logBytes += try log.finish(in: self)
        if rewritesRecords { try noteRewrite() }
        for (entity, entityState) in entities {
            let key = StoreLayout.entityKey(entity)
            try view.put(entityState.encoded, for: key, in: tables.meta)
        }
        try writeZones()
        isStateChanged = true
        return state.commit
    }

    /// Ends a commit and begins the next one in the same transaction (group commit). The next commit has its own number
    /// and author, but both are saved together or not at all.
    package func beginNextCommit(author: String) throws {
        try checkThread()
        precondition(stage != .ended, "A transaction has no commits after its end.")
        try seal()
        stage = .open
        log = LogWriter(author: author)
        log.commit = state.commit + 1
        firstInserted = [:]
        (commitsWithoutChanges, rewritesRecords) = (false, false)
    }

    private func end() throws {
        precondition(transaction != nil, "A transaction must not be committed twice.")
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
