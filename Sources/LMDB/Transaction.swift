internal import CFetchIndexLMDB
internal import FetchIndexPlatform
internal import Synchronization

/// A read transaction: one unchanging view of the environment.
///
/// It may be used from any thread, by one at a time. While it lives, LMDB reuses none of the pages it can
/// see, so a reader that stays open makes the file grow under writers.
package struct ReadTransaction: ~Copyable {
    private let environment: Environment
    package let view: TransactionView

    /// The environment's transaction that this one sees.
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

/// The write transaction, of which one exists at a time in all processes. Without `commit()` it has no effect.
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

    /// Whether the transaction has written anything; otherwise committing it does nothing.
    package var hasWritten: Bool { environment.hasWritten.load(ordering: .relaxed) }

    deinit {
        if !isCommitted { mdb_txn_abort(view.handle) }
        environment.end()
    }

    /// mdb_txn_commit. An error leaves the environment as it was before the transaction, except for `LMDBError.panic`:
    /// then the next opening of the environment shows whether it's committed. Throws `EnvironmentMoved` as `beginWrite`
    /// does.
    package consuming func commit() throws {
        try environment.requireInPlace()
        isCommitted = true  // mdb_txn_commit ends the transaction, also when it fails
        let code = FileSizeLimit.withoutSignal { mdb_txn_commit(view.handle) }
        if code != MDB_SUCCESS && environment.isDead { throw LMDBError.panic }
        try environment.checkWrite(code)
    }
}

extension Environment {
    package func beginRead() throws -> ReadTransaction { try ReadTransaction(self) }

    /// Waits for the write transaction of another thread or process. First enlarges the map if more than three quarters
    /// of it are used, unless a transaction of this process is open. Throws `EnvironmentMoved` if the environment's
    /// path no longer leads to its files.
    package func beginWrite() throws -> WriteTransaction {
        try requireInPlace()
        makeRoom()
        return try WriteTransaction(self)
    }

    /// mdb_txn_begin. Enlarges a map that a write found full, also before reading: whoever reads first and then writes
    /// couldn't do it then. Follows another process that wrote past the end of the map.
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

    /// Whether a meta page couldn't be written: then no transaction can begin.
    var isDead: Bool {
        var transaction: OpaquePointer?
        let code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
        if code == MDB_SUCCESS { mdb_txn_abort(transaction) }
        return code == MDB_PANIC
    }

    func end() { openTransactions.withLock { $0 -= 1 } }
}
