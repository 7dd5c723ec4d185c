internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import CFetchIndexLMDB

extension Environment {
    /// The maximum time that creating an environment waits for the lock on its folder.
    private static let patience = Duration.seconds(30)

    /// Creates the data file of an empty environment, unless the folder has a data file.
    ///
    /// LMDB alone would create the file in place, and sync it with the first commit. A power loss before that commit
    /// could leave a file that is neither empty nor an environment, and that can't be opened. So this function creates
    /// the file in a temporary folder, and renames it when it's complete (and on disk, unless the durability is
    /// `none`). A lock on the folder excludes other creators. If a creator is killed before the renaming, the next one
    /// removes its temporary folder.
    static func createDataFile(inFolder folder: String, _ options: Options) throws {
        try DataFile.requirePlainFiles([EnvironmentFiles.data, EnvironmentFiles.lock], inFolder: folder)
        let path = EnvironmentFiles.data(in: folder)
        if access(path, F_OK) == 0 { return }
        let file = try OpenFile(folder, O_RDONLY | O_DIRECTORY)
        guard try file.lock(until: .now + patience) else {
            if access(path, F_OK) == 0 { return }
            throw LMDBError.busy
        }
        defer { flock(file.descriptor, LOCK_UN) }
        if access(path, F_OK) == 0 { return }
        let making = try MakingFolder(in: folder)
        mdb_env_close(try openHandle(at: making.path, options: options).handle)
        if options.durability != .none { try OpenFile(making.dataFile, O_RDWR).sync() }
        if rename(making.dataFile, path) != 0 { throw LMDBError(rawValue: errno) }
    }

    /// Reserves space on the disk for the lock file (on Linux only). LMDB writes to the lock file through a memory map:
    /// if the disk were full at that moment, SIGBUS would end the process. Throws if the system can't write the file,
    /// for example because the disk is full. Does nothing if the file can't be opened for another reason, for example
    /// because the user may not write it.
    ///
    /// The lock file must not be open in this process, since closing it would drop the process's locks on it.
    static func reserveLockFile(inFolder folder: String, _ options: Options) throws {
        #if os(Linux)
            let file: OpenFile
            do { file = try OpenFile(EnvironmentFiles.lock(in: folder), O_RDWR | O_CREAT) } catch {
                if LMDBError(rawValue: error.rawValue).isFailedWrite { throw error }
                return
            }
            // The size that LMDB gives the file: one cache line per reader, and two before them.
            let length = (Int(options.maximumReaders) + 2) * 64
            var status = stat()
            if fstat(file.descriptor, &status) == 0, Int(status.st_blocks) * 512 >= length { return }
            // A failed write throws below. After any other error, the space stays unreserved.
            let descriptor = file.descriptor
            let code = FileSizeLimit.withoutSignal { posix_fallocate(descriptor, 0, off_t(length)) }
            withExtendedLifetime(file) {}
            let error = LMDBError(rawValue: code)
            if error.isFailedWrite { throw error }
        #endif
    }

    /// Syncs the names of the folder and of its data file to the disk, which syncing the file doesn't do. The creator
    /// of an environment calls this before the commit that makes the environment a store. fsync
    package func syncNames() throws {
        try withSystemErrors {
            for folder in [path, path + "/.."] { try OpenFile(folder, O_RDONLY | O_DIRECTORY).sync() }
        }
    }
}

extension Environment {
    private static let looks = 100
    private static let pauseInMicroseconds: UInt32 = 1000

    /// Whether the lock file has the number of the newest transaction in the data file. This number determines which
    /// state LMDB reads, and on top of which state it writes.
    ///
    /// The first process that opens an environment resets the number to 0, and writes the newest number a moment later.
    /// If that process dies or fails in between, a process that waited for it reads the 0, and would overwrite the
    /// newest commits. So if this function returns false, this process must close the environment. Unless another
    /// process has it open, the next opening is then the first one again.
    ///
    /// If a writer died after it wrote its meta page and before it wrote the lock file, the number is one too small.
    /// LMDB corrects it when it recovers that writer's lock.
    static func knowsNewest(_ handle: OpaquePointer, _ options: Options) -> Bool {
        if filesAgree(handle) { return true }
        if options.isReadOnly { return false }
        // Beginning a write transaction recovers the lock of a writer that died.
        var transaction: OpaquePointer?
        if mdb_txn_begin(handle, nil, 0, &transaction) == MDB_SUCCESS { mdb_txn_abort(transaction) }
        return filesAgree(handle)
    }

    /// Compares the numbers in both files, several times, because a writer may be between writing its meta page and
    /// writing the lock file. If LMDB returns an error, this returns true.
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

    /// Sets the data file's descriptor to be closed in programs that this process starts. Returns false if it's a
    /// standard descriptor, to which the process could print. mdb_env_get_fd
    static func closeWhenExecuting(_ handle: OpaquePointer) throws(LMDBError) -> Bool {
        var file: CInt = -1
        try check(mdb_env_get_fd(handle, &file))
        guard fcntl(file, F_SETFD, FD_CLOEXEC) == 0 else { throw LMDBError(rawValue: errno) }
        return Descriptors.isSafe(file)
    }
}
