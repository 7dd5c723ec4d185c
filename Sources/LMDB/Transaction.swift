internal import CFetchIndexLMDB
internal import FetchIndexPlatform
internal import Synchronization

/// A read transaction: a state of the environment.
///
/// It may be used on any thread, by one thread at a time. While it's open, LMDB doesn't reuse the pages of its state,
/// so writers may make the file grow. If the environment was opened without a lock, other processes don't know of the
/// transaction, and may reuse its pages.
package struct ReadTransaction: ~Copyable {
    private let environment: Environment
    /// The file that is read without LMDB, to which the view doesn't refer strongly.
    private let file: MappedFile?
    /// The state that is read, to which the view doesn't refer strongly; nil if LMDB reads it.
    private let state: MappedState?
    package let view: TransactionView

    /// The number of the transaction that committed the state that is read.
    package var identifier: Int { view.identifier }

    /// What a read transaction does with the pages of its state.
    enum Reading {
        case comparingChecksums
        case ignoringChecksums
        /// Only keeps them from being overwritten. No page is read, and the view reads through LMDB.
        case pinning
    }

    init(_ environment: Environment, _ reading: Reading) throws(LMDBError) {
        self.environment = environment
        file = environment.newestFile()
        if let file {
            let state = try file.state(ignoringChecksums: reading != .comparingChecksums)
            (self.state, view) = (state, TransactionView(state))
            return
        }
        var (handle, state) = try Self.begin(environment, reading)
        var tries = 1
        // A later commit may have overwritten the state's meta page. A newer state's page is intact.
        while state == nil, reading != .pinning, tries < Self.tries {
            mdb_txn_abort(handle)
            environment.end()
            (handle, state) = try Self.begin(environment, reading)
            tries += 1
        }
        self.state = state
        view = state.map { TransactionView(handle: handle, $0) } ?? TransactionView(handle: handle)
    }

    private static let tries = 10

    private static func begin(
        _ environment: Environment, _ reading: Reading
    ) throws(LMDBError) -> (OpaquePointer, MappedState?) {
        let handle = try environment.begin(flags: UInt32(MDB_RDONLY))
        if reading == .pinning || !environment.hasSystemPages { return (handle, nil) }
        do {
            return (handle, try environment.state(of: handle, ignoringChecksums: reading == .ignoringChecksums))
        } catch {
            mdb_txn_abort(handle)
            environment.end()
            throw error
        }
    }

    deinit {
        guard view.handle != nil else { return }
        mdb_txn_abort(view.handle)
        environment.end()
    }
}

/// The environment's write transaction. All processes together can have only one open at a time. It's aborted if it
/// ends without `commit()`.
package struct WriteTransaction: ~Copyable {
    let environment: Environment
    package let view: TransactionView
    private var isCommitted = false
    /// The table that `limitMemory` uses; nil until it needs one.
    var scratchTable: Table?

    init(_ environment: Environment) throws(LMDBError) {
        self.environment = environment
        self.view = TransactionView(handle: try environment.begin(flags: 0))
        environment.hasWritten.store(false, ordering: .relaxed)
        environment.hasFileSizeLimit.store(FileSizeLimit.bytes != nil, ordering: .relaxed)
    }

    /// Whether the transaction has written anything. If not, committing it writes nothing.
    package var hasWritten: Bool { environment.hasWritten.load(ordering: .relaxed) }

    deinit {
        if !isCommitted { mdb_txn_abort(view.handle) }
        environment.hasScratchTable.store(false, ordering: .relaxed)
        environment.end()
    }

    /// Commits the transaction. If this throws, the environment is unchanged. The exception is `LMDBError.panic`: only
    /// the next opening of the environment shows whether the transaction was committed. Throws `EnvironmentMoved` like
    /// `beginWrite`. mdb_txn_commit
    package consuming func commit() throws {
        try environment.requireInPlace()
        try deleteScratchTable()
        isCommitted = true  // mdb_txn_commit ends the transaction even if it fails
        let code = FileSizeLimit.withoutSignal { mdb_txn_commit(view.handle) }
        if code != MDB_SUCCESS && environment.isDead { throw LMDBError.panic }
        try environment.checkWrite(code)
    }
}

extension Environment {
    /// Begins a read transaction. `ignoringChecksums` reads pages whose checksum is wrong, whose values must then say
    /// themselves whether they are damaged.
    package func beginRead(ignoringChecksums: Bool = false) throws -> ReadTransaction {
        try ReadTransaction(self, ignoringChecksums ? .ignoringChecksums : .comparingChecksums)
    }

    /// Begins a read transaction that only keeps the pages of its state from being overwritten, and reads none of them.
    func pinNewest() throws -> ReadTransaction { try ReadTransaction(self, .pinning) }

    /// Begins the write transaction; waits until no other thread or process has one open. First tries to enlarge the
    /// map if a write found it full, or if more than three quarters of it are used, unless this process has an open
    /// transaction. Throws `EnvironmentMoved` if the environment's path no longer leads to its files.
    package func beginWrite() throws -> WriteTransaction {
        try requireInPlace()
        makeRoom()
        return try WriteTransaction(self)
    }

    /// Begins a transaction with mdb_txn_begin. First tries to enlarge a map that a write found full. Readers do this
    /// too, because the map couldn't grow for a later write of this process while the reader is open. If another
    /// process wrote past the end of the map, tries to enlarge the map and to begin again.
    func begin(flags: UInt32) throws(LMDBError) -> OpaquePointer {
        guard let handle else { throw .permissionDenied }
        if isMapFull.load(ordering: .relaxed) { makeRoom() }
        try openTransactions.withLock { (count) throws(LMDBError) in
            try checkMap()
            count += 1
        }
        var transaction: OpaquePointer?
        var code = mdb_txn_begin(handle, nil, flags, &transaction)
        if code == MDB_MAP_RESIZED && followMap() { code = mdb_txn_begin(handle, nil, flags, &transaction) }
        guard code == MDB_SUCCESS, let transaction else {
            end()
            throw LMDBError(rawValue: code)
        }
        return transaction
    }

    /// Whether LMDB has met a fatal error, as `LMDBError.panic` describes it. If so, no transaction can begin.
    var isDead: Bool {
        var transaction: OpaquePointer?
        let code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
        if code == MDB_SUCCESS { mdb_txn_abort(transaction) }
        return code == MDB_PANIC
    }

    func end() { openTransactions.withLock { $0 -= 1 } }
}
