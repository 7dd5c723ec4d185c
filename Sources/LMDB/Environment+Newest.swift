internal import Files
internal import CLMDB
internal import SystemC

extension Environment {
    private static let looks = 100
    private static let pauseInMicroseconds: UInt32 = 1000

    /// Whether the lock file tells of the newest transaction in the data file, by which LMDB chooses the state that it
    /// reads and writes on.
    ///
    /// The first process that opens an environment makes the lock file anew, at transaction 0, and writes the number a
    /// moment later. If it dies or gives up between, who waited for it takes 0 for true, and would write over the newest
    /// commits. He must let go, so that somebody is the first again. A writer that died behind its last step leaves the
    /// number one too small, which LMDB mends when it finds that writer's lock.
    static func knowsNewest(_ handle: OpaquePointer, _ options: Options) -> Bool {
        if filesAgree(handle) { return true }
        if options.isReadOnly { return false }
        // Beginning to write mends what a dead writer left.
        var transaction: OpaquePointer?
        if mdb_txn_begin(handle, nil, 0, &transaction) == MDB_SUCCESS { mdb_txn_abort(transaction) }
        return filesAgree(handle)
    }

    /// Looked at for a while, since a writer may be just between writing its state and telling of it. An error is left to
    /// those who read or write.
    private static func filesAgree(_ handle: OpaquePointer) -> Bool {
        for _ in 0..<looks {
            var transaction: OpaquePointer?
            let begun = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
            guard begun == MDB_SUCCESS else { return true }
            let told = mdb_txn_id(transaction)
            mdb_txn_abort(transaction)
            var info = MDB_envinfo()
            guard mdb_env_info(handle, &info) == MDB_SUCCESS else { return true }
            if told == info.me_last_txnid { return true }
            usleep(pauseInMicroseconds)
        }
        return false
    }

    /// Programs that this process starts do not get the data file. False when the file has a standard descriptor, into
    /// which the process could print. mdb_env_get_fd
    static func closeWhenExecuting(_ handle: OpaquePointer) throws(LMDBError) -> Bool {
        var file: CInt = -1
        try check(mdb_env_get_fd(handle, &file))
        guard fcntl(file, F_SETFD, FD_CLOEXEC) == 0 else { throw LMDBError(rawValue: errno) }
        return Descriptors.isSafe(file)
    }
}
