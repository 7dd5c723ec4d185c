internal import CFetchIndexLMDB
internal import FetchIndexPlatform
internal import Synchronization

/// A read transaction: a snapshot of the environment.
///
/// It may be used on any thread, by one thread at a time. While it's open, LMDB doesn't reuse the pages of its state,
/// so writers make the file grow. If the environment was opened without a lock, LMDB doesn't know of the transaction.
package struct ReadTransaction: ~Copyable {
    private let environment: Environment
    package let view: TransactionView

    /// The number of the transaction that committed the state which this one reads.
    package var identifier: Int { view.identifier }

    init(_ environment: Environment) throws(LMDBError) {
        self.environment = environment
        self.view = TransactionView(
            handle: try environment.begin(flags: UInt32(MDB_RDONLY)), isInMap: environment.hasSystemPages)
    }

    deinit {
        mdb_txn_abort(view.handle)
        environment.end()
    }
}

/// The environment's write transaction, of which all processes together have one at a time. It's aborted if it ends
/// without `commit()`.
package struct WriteTransaction: ~Copyable {
    private let environment: Environment
    package let view: TransactionView
    private var isCommitted = false

    init(_ environment: Environment) throws(LMDBError) {
        self.environment = environment
        self.view = TransactionView(handle: try environment.begin(flags: 0), isInMap: false)
        environment.hasWritten.store(false, ordering: .relaxed)
        environment.hasFileSizeLimit.store(FileSizeLimit.bytes != nil, ordering: .relaxed)
    }

    /// Whether the transaction has written anything. If not, committing it does nothing.
    package var hasWritten: Bool { environment.hasWritten.load(ordering: .relaxed) }

    deinit {
        if !isCommitted { mdb_txn_abort(view.handle) }
        environment.end()
    }

    /// Commits the transaction. If it throws, the environment is unchanged, except for `LMDBError.panic`: then the next
    /// opening of the environment shows whether the transaction was committed. Throws `EnvironmentMoved` like
    /// `beginWrite`. mdb_txn_commit
    package consuming func commit() throws {
        try environment.requireInPlace()
        isCommitted = true  // mdb_txn_commit ends the transaction even if it fails
        let code = FileSizeLimit.withoutSignal { mdb_txn_commit(view.handle) }
        if code != MDB_SUCCESS && environment.isDead { throw LMDBError.panic }
        try environment.checkWrite(code)
    }
}

extension Environment {
    package func beginRead() throws -> ReadTransaction { try ReadTransaction(self) }

    /// Begins the write transaction, after waiting for that of another thread or process. Before, enlarges the map if
    /// it's full or more than three quarters of it are used, unless this process has an open transaction. Throws
    /// `EnvironmentMoved` if the environment's path no longer leads to its files.
    package func beginWrite() throws -> WriteTransaction {
        try requireInPlace()
        makeRoom()
        return try WriteTransaction(self)
    }

    /// Begins a transaction with mdb_txn_begin. Before, enlarges a map that a write found full: for a reader too,
    /// because the map can't grow while the reader is open, even if this process then writes. If another process wrote
    /// past the end of the map, adopts the greater size.
    func begin(flags: UInt32) throws(LMDBError) -> OpaquePointer {
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

    /// Whether a meta page couldn't be written. Then no transaction can begin.
    var isDead: Bool {
        var transaction: OpaquePointer?
        let code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
        if code == MDB_SUCCESS { mdb_txn_abort(transaction) }
        return code == MDB_PANIC
    }

    func end() { openTransactions.withLock { $0 -= 1 } }
}
