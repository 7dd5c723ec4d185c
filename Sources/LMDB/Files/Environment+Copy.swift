internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import CFetchIndexLMDB

extension Environment {
    /// The arrangement of pages in a copy.
    package enum CopyKind: Sendable {
        /// The used pages in sequence, without free pages.
        case compact
        /// All pages, also the free ones, with the same page numbers as in the original.
        case plain
    }

    /// Copies the newest state to a file, while other transactions read and write. O(pages). mdb_env_copyfd2
    package func copy(_ kind: CopyKind, to file: CInt) throws {
        guard let handle else { throw DataFileError.otherVersion(layout) }
        // The open transaction keeps this process from remapping the file during the copy. If another process has
        // written past the end of the map, beginning the transaction enlarges the map or throws.
        let transaction = try pinNewest()
        switch kind {
        case .compact: try Self.copyCompactly(handle, to: file)
        case .plain: try check(FileSizeLimit.withoutSignal { mdb_env_copyfd2(handle, file, 0) })
        }
        _ = transaction.view
    }

    private static func copyCompactly(_ handle: OpaquePointer, to file: CInt) throws {
        try check(FileSizeLimit.withoutSignal { mdb_env_copyfd2(handle, file, UInt32(MDB_CP_COMPACT)) })
        try setChecksumField(ofCopy: file, from: handle)
    }

    /// Writes to a table of a data file in one transaction. No process may have the file open. mdb_txn_commit
    package static func write(
        toFile path: String, table name: String, _ body: (TransactionView, Table) throws -> Void
    ) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { throw LMDBError(rawValue: errno) }
        let flags = UInt32(MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS)
        try withHandle(path, flags: flags, mapSize: Int(status.st_size) + roomToWrite) { handle in
            var transaction: OpaquePointer?
            try check(mdb_txn_begin(handle, nil, 0, &transaction))
            guard let begun = transaction else { throw LMDBError(rawValue: EINVAL) }
            do {
                var table: MDB_dbi = 0
                try check(mdb_dbi_open(begun, name, 0, &table))
                try body(TransactionView(handle: begun), Table(handle: table, keys: .bytes))
            } catch {
                mdb_txn_abort(begun)
                throw error
            }
            try check(FileSizeLimit.withoutSignal { mdb_txn_commit(begun) })
        }
    }

    /// The number of bytes by which a small transaction may extend a file.
    private static let roomToWrite = 1 << 20

    /// Thrown by `compact` and `convert` if a process has the environment open with a lock.
    package struct InUse: Error {
        package let process: Int
    }

    /// Replaces a folder's data file by a compact copy, and returns the sizes of both. Throws `InUse` if any process
    /// has the environment open, because that process would go on with the old file; another process that opened it
    /// without a lock isn't noticed. A process that opens the environment with a lock during the compaction waits. If
    /// this process dies, the folder has either the old file or the new one.
    package static func compact(at path: String) throws -> (bytesBefore: Int, bytesAfter: Int) {
        let path = try realPath(path)
        return try withSystemErrors {
            try EnvironmentRegistry.withClosedEnvironment(at: path) {
                let lock = try EnvironmentLock(inFolder: path)
                let dataFile = EnvironmentFiles.data(in: path)
                var before = stat()
                guard stat(dataFile, &before) == 0 else { throw LMDBError(rawValue: errno) }
                let copy = try NewFile(at: dataFile)
                try copyFile(dataFile, to: copy.descriptor)
                try inheritAccess(of: before, copy.descriptor)
                try compareTables(dataFile, dataFile + ".partial")
                try replaceFile(with: copy, path, lock)
                var after = stat()
                guard stat(dataFile, &after) == 0 else { throw LMDBError(rawValue: errno) }
                return (bytesBefore: Int(before.st_size), bytesAfter: Int(after.st_size))
            }
        }
    }

    /// Renames the copy to the data file's name. The lock file still describes transactions of the old file. So it's
    /// invalidated first, and LMDB recreates it after the renaming: even if this process dies in between, no process
    /// uses the old lock file with the new data file.
    private static func replaceFile(
        with copy: consuming NewFile, _ path: String, _ lock: borrowing EnvironmentLock
    ) throws {
        try lock.spoil()
        var failure: (any Error)?
        do { try copy.keep() } catch { failure = error }
        try withHandle(path, flags: 0) { _ in }
        if let failure { throw failure }
    }

    /// Gives a new data file the old one's permissions, and its owner and group if this process may set them. If the
    /// group can't be set, the group gets no permissions.
    static func inheritAccess(of old: stat, _ new: CInt) throws(LMDBError) {
        var mode = old.st_mode & 0o777
        if fchown(new, old.st_uid, old.st_gid) != 0, fchown(new, uid_t.max, old.st_gid) != 0 { mode &= ~0o070 }
        if fchmod(new, mode) != 0 { throw LMDBError(rawValue: errno) }
    }

    private static func copyFile(_ dataFile: String, to file: CInt) throws {
        try withHandle(dataFile, flags: alone) { try copyCompactly($0, to: file) }
    }

    /// Throws unless both files have the same tables with the same numbers of entries.
    private static func compareTables(_ old: String, _ new: String) throws {
        let sizes = try [old, new].map { file in
            try withHandle(file, flags: alone) { handle in
                var transaction: OpaquePointer?
                try check(mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction))
                defer { mdb_txn_abort(transaction) }
                return try tableSizes(transaction)
            }
        }
        guard sizes[0] == sizes[1] else { throw LMDBError.corrupted }
    }

    private static func tableSizes(_ transaction: OpaquePointer?) throws -> [[UInt8]: Int] {
        guard let transaction else { throw LMDBError(rawValue: EINVAL) }
        var main: MDB_dbi = 0
        try check(mdb_dbi_open(transaction, nil, 0, &main))
        var sizes: [[UInt8]: Int] = [:]
        var names: [String] = []
        let view = TransactionView(handle: transaction)
        try view.forEachEntry(in: Table(handle: main, keys: .bytes)) { cursor in
            names.append(cursor.key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
        }
        for name in names {
            var table: MDB_dbi = 0
            var statistics = MDB_stat()
            try check(mdb_dbi_open(transaction, name, 0, &table))
            try check(mdb_stat(transaction, table, &statistics))
            sizes[Array(name.utf8)] = statistics.ms_entries
        }
        return sizes
    }

    /// Flags that open a data file by its own path and without a lock. The caller holds the environment's lock.
    private static var alone: UInt32 { UInt32(MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS) }

    /// Opens a data file, or makes one, and closes it after `body`.
    static func withHandle<Value>(
        _ path: String, flags: UInt32, mapSize: Int? = nil, _ body: (OpaquePointer) throws -> Value
    ) throws -> Value {
        Descriptors.openMissingStandard()
        var created: OpaquePointer?
        try check(mdb_env_create(&created))
        guard let handle = created else { throw LMDBError(rawValue: ENOMEM) }
        defer { mdb_env_close(handle) }
        mdb_env_set_maxdbs(handle, Options().maximumTables)
        mdb_env_set_maxreaders(handle, Options().maximumReaders)
        if let mapSize { try check(mdb_env_set_mapsize(handle, mapSize)) }
        let isFolder = flags & UInt32(MDB_NOSUBDIR) == 0
        let hasChecksums = try DataFile.hasChecksums(at: isFolder ? EnvironmentFiles.data(in: path) : path)
        if hasChecksums ?? Options().hasPageChecksums { try setChecksums(of: handle) }
        try check(FileSizeLimit.withoutSignal { mdb_env_open(handle, path, flags, 0o600) })
        guard try closeWhenExecuting(handle) else { throw LMDBError.badDescriptor }
        return try body(handle)
    }
}

/// LMDB's own lock, held exclusively: an fcntl lock on the first byte of the lock file. A process that has the
/// environment open holds it shared, unless it opened the environment without a lock. So while this lock is held, no
/// other process has the environment open with a lock, and a process that opens it with one waits.
struct EnvironmentLock: ~Copyable {
    private let file: OpenFile

    init(inFolder path: String) throws {
        let opened = try OpenFile(EnvironmentFiles.lock(in: path), O_RDWR | O_CREAT)
        var range = Self.firstByte
        if fcntl(opened.descriptor, F_SETLK, &range) != 0 {
            let code = errno
            var holder = Self.firstByte
            let isKnown = fcntl(opened.descriptor, F_GETLK, &holder) == 0
            guard code == EACCES || code == EAGAIN, isKnown else { throw LMDBError(rawValue: code) }
            throw Environment.InUse(process: Int(holder.l_pid))
        }
        file = opened
    }

    /// Overwrites the magic number of the lock file, which invalidates the file. The next process that locks the file
    /// exclusively while it opens the environment recreates the file.
    func spoil() throws(LMDBError) {
        var mark: UInt32 = 0
        let descriptor = file.descriptor
        var status = stat()
        // A file that is too short for a lock file has no process's transactions, and would only become a foreign one.
        if fstat(descriptor, &status) == 0, Int(status.st_size) < DataFile.shortestLockFile { return }
        let length = FileSizeLimit.withoutSignal { pwrite(descriptor, &mark, MemoryLayout<UInt32>.size, 0) }
        guard length == MemoryLayout<UInt32>.size else { throw LMDBError(rawValue: length < 0 ? errno : EIO) }
    }

    private static var firstByte: flock {
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        range.l_whence = Int16(SEEK_SET)
        range.l_len = 1
        return range
    }
}
