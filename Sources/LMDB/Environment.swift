internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import CFetchIndexLMDB
package import Synchronization

/// An LMDB environment: one folder with its data file and lock file, mapped into memory.
///
/// A process has at most one open environment per file (LMDB's file locks demand it): opening it again returns the same
/// object. LMDB does not work on network file systems: its locks live in shared memory.
package final class Environment: Sendable {
    package struct Options: Sendable {
        package var durability = Durability.full
        package var isReadOnly = false
        /// Whether a missing folder or file, or an empty file, becomes an environment; ignored if `isReadOnly`.
        package var creates = true
        /// The size of the map, in bytes; by default `reservation`. If the system refuses, the map is smaller.
        package var mapSize: Int?
        /// Checks the newest state before LMDB reads the file.
        package var witness: Witness?
        package var maximumTables: UInt32 = 16
        package var maximumReaders: UInt32 = 510

        package init() {}
    }

    package let path: String
    package let isReadOnly: Bool
    /// The open data file.
    let dataFile: FileIdentity
    /// The open lock file; nil if the environment was opened without a lock.
    let lockFile: FileIdentity?
    /// The folder's state when the files were last seen in place, if every later change shows in it.
    let folderInPlace = Mutex<FolderState?>(nil)
    /// Whether the file's pages are as long as the system's, so that addresses in the map tell where pages begin.
    let hasSystemPages: Bool
    /// The number of this opening in the process.
    private let opening: UInt64
    private let gate: FolderGate
    // An MDB_env may be used from any thread; it is closed once, under the gate's lock.
    nonisolated(unsafe) let handle: OpaquePointer
    /// The number of open transactions in this process: the map may only be resized if no other one is open.
    let openTransactions = Mutex(0)
    let openTables = Mutex<[String: Table]>([:])
    /// Whether the write transaction has written anything; only one exists at a time.
    let hasWritten = Atomic(false)
    /// Whether the process has a file size limit, as found at the beginning of the write transaction.
    let hasFileSizeLimit = Atomic(false)
    /// Whether a write found the map full since it last grew.
    let isMapFull = Atomic(false)
    /// The threads on which a user of the environment has begun to write: another writer on one of them would wait for
    /// itself.
    package let writerThreads = Mutex<[UInt]>([])
    /// Whether the system refused to map the file again: then nothing can be read or written.
    let hasLostMap = Atomic(false)

    /// Opens the environment in a folder, and creates it if it's missing, unless `options` say otherwise. Throws
    /// `DataFileError` if LMDB can't open the files safely.
    package static func open(at path: String, options: Options = Options()) throws -> Environment {
        if !options.isReadOnly && options.creates && mkdir(path, 0o700) != 0 && errno != EEXIST {
            throw LMDBError(rawValue: errno)
        }
        guard let real = realpath(path, nil) else { throw LMDBError(rawValue: errno) }
        defer { free(real) }
        return try withSystemErrors { try EnvironmentRegistry.open(at: String(cString: real), options: options) }
    }

    init(path: String, options: Options, opening: UInt64, gate: FolderGate) throws {
        try Descriptors.requireFree(Self.reservedDescriptors, for: "opening a store")
        try DataFile.checkFiles(inFolder: path, creates: options.creates && !options.isReadOnly, options.witness)
        self.path = path
        self.opening = opening
        self.gate = gate
        self.isReadOnly = options.isReadOnly
        let opened = try Environment.openHandle(at: path, options: options)
        handle = opened.handle
        dataFile = opened.dataFile
        lockFile = opened.lockFile
        var stat = MDB_stat()
        hasSystemPages =
            mdb_env_stat(opened.handle, &stat) == MDB_SUCCESS && Int(stat.ms_psize) == PageBounds.systemPageLength
        mdb_env_set_userctx(handle, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { EnvironmentRegistry.close(opening: opening, gate) }

    /// The free descriptors that an opening demands. It takes three; writers need one or two for their locks; and the
    /// Swift runtime ends the process if it gets none of its own when a task first waits (epoll, eventfd, timerfd).
    private static let reservedDescriptors = 10
    private static let staleLockFile =
        "lock.mdb and data.mdb disagree on the newest transaction, and another process has the store open; close it in all processes"
    /// The maximum number of attempts to open while another process opens or replaces the files, and how long each
    /// attempt waits for its lock.
    private static let maximumAttempts = 12
    private static let turn = Duration.milliseconds(500)

    /// Another process was opening or replacing the files, or died while it did. `reason` is thrown if all attempts
    /// fail.
    private struct Unsettled: Error {
        let reason: any Error
    }

    /// An open environment and its files; the lock file is nil if it was opened without a lock.
    struct Opened {
        let handle: OpaquePointer
        let dataFile: FileIdentity
        let lockFile: FileIdentity?
    }

    /// mdb_env_create, mdb_env_open, mdb_reader_check
    ///
    /// Retries are serialized, so that one of them can lock the lock file exclusively.
    static func openHandle(at path: String, options: Options) throws -> Opened {
        try reserveLockFile(inFolder: path, options)
        // On a read-only file system LMDB can't write the lock file, and goes without it.
        var isLocking = !(options.isReadOnly && access(path, W_OK) != 0 && errno == EROFS)
        var tries = 0
        var folder: OpenFile?
        defer { flock(folder?.descriptor ?? -1, LOCK_UN) }
        while true {
            Descriptors.openMissingStandard()
            let handle = try newHandle(options, mapSize: options.mapSize ?? reservation(forFolder: path))
            do {
                return try open(handle, path, options, isLocking: isLocking)
            } catch {
                mdb_env_close(handle)
                flock(folder?.descriptor ?? -1, LOCK_UN)
                switch error {
                // A user who may not write the lock file reads without it, and must not read while others write.
                case let error as LMDBError where error == .permissionDenied && options.isReadOnly && isLocking:
                    isLocking = false
                case let error as Unsettled:
                    tries += 1
                    if tries == maximumAttempts { throw error.reason }
                    usleep(.random(in: 1000...20_000))
                    try DataFile.checkFiles(inFolder: path, creates: false, options.witness)
                    if folder == nil { folder = try? OpenFile(path, O_RDONLY | O_DIRECTORY) }
                    // A foreign lock must not block the opening: after the wait it's tried without the lock.
                    _ = try folder?.lock(until: .now + turn)
                default: throw error
                }
            }
        }
    }

    private static func newHandle(_ options: Options, mapSize: Int) throws(LMDBError) -> OpaquePointer {
        var created: OpaquePointer?
        try check(mdb_env_create(&created))
        guard let handle = created else { throw LMDBError(rawValue: ENOMEM) }
        mdb_env_set_maxdbs(handle, options.maximumTables)
        mdb_env_set_maxreaders(handle, options.maximumReaders)
        mdb_env_set_mapsize(handle, available(mapSize))
        return handle
    }

    private static func open(
        _ handle: OpaquePointer, _ path: String, _ options: Options, isLocking: Bool
    ) throws -> Opened {
        var flags = UInt32(MDB_NOTLS | MDB_NORDAHEAD)
        if options.isReadOnly { flags |= UInt32(MDB_RDONLY) }
        if !isLocking { flags |= UInt32(MDB_NOLOCK) }
        switch options.durability {
        case .full: break
        case .relaxed: flags |= UInt32(MDB_NOMETASYNC)
        case .none: flags |= UInt32(MDB_NOSYNC)
        }
        // LMDB doesn't tell which lock file it has open, and may have waited long for it.
        func lockFile() throws -> FileIdentity? {
            isLocking ? try FileIdentity(ofPath: path + "/lock.mdb") : nil
        }
        let lockFileBefore = try lockFile()
        let code = FileSizeLimit.withoutSignal { mdb_env_open(handle, path, flags, 0o600) }
        // The lock file may have been invalidated by a compaction that died: the first process to lock it exclusively
        // resets it.
        if code == MDB_INVALID { throw Unsettled(reason: LMDBError.invalidFile) }
        try check(code)
        let opened = Opened(handle: handle, dataFile: try dataFile(of: handle), lockFile: try lockFile())
        // A read-only opening opens the data file before it locks: the file may have been replaced in between.
        let named = try FileIdentity(ofPath: path + "/data.mdb")
        if named == nil { throw LMDBError(rawValue: ENOENT) }
        if named != opened.dataFile || lockFileBefore != opened.lockFile
            || isLocking && !options.isReadOnly && opened.lockFile == nil
        {
            throw Unsettled(
                reason: DataFileError.damaged("its files were replaced again and again while it was opened"))
        }
        // Another thread may have closed a standard descriptor in between.
        guard try closeWhenExecuting(handle) else { throw Unsettled(reason: LMDBError.badDescriptor) }
        if isLocking {
            if !knowsNewest(handle, options) { throw Unsettled(reason: DataFileError.damaged(staleLockFile)) }
            try freeDeadReaders(of: handle)
        }
        return opened
    }

    /// Throws `EnvironmentMoved` if the path no longer leads to the open files: others would open the folder without
    /// knowing of this process. Costs one stat if the folder hasn't changed for some seconds, otherwise three.
    package func requireInPlace() throws {
        let folder = FolderState(ofPath: path)
        if let folder, folderInPlace.withLock({ $0 == folder }) { return }
        let isInPlace = try withSystemErrors {
            try FileIdentity(ofPath: path + "/data.mdb") == dataFile
                && (lockFile == nil || FileIdentity(ofPath: path + "/lock.mdb") == lockFile)
        }
        if !isInPlace { throw EnvironmentMoved(path: path) }
        if let folder, folder.isSettled { folderInPlace.withLock { $0 = folder } }
    }

    /// mdb_env_get_fd
    private static func dataFile(of handle: OpaquePointer) throws -> FileIdentity {
        var descriptor: CInt = -1
        try check(mdb_env_get_fd(handle, &descriptor))
        return try FileIdentity(ofOpen: descriptor)
    }
}

extension Environment {
    /// Frees the slots of dead readers. A lock file that was truncated while others held it counts more readers than it
    /// has room for. mdb_reader_check
    private static func freeDeadReaders(of handle: OpaquePointer) throws {
        var info = MDB_envinfo()
        guard mdb_env_info(handle, &info) == MDB_SUCCESS, info.me_numreaders <= info.me_maxreaders else {
            throw DataFileError.damaged("its lock.mdb is cut off; it may be deleted when no process has it open")
        }
        mdb_reader_check(handle, nil)
    }

    /// mdb_env_info and mdb_stat: sizes of the map and the file in bytes, readers, and the last transaction.
    package struct Information: Sendable {
        package let mapSize: Int
        package let pageSize: Int
        /// The number of pages up to the end of the used part of the file.
        package let usedPages: Int
        package let lastTransaction: Int
        package let readers: Int
        package let maximumReaders: Int
    }

    package func information() throws -> Information {
        // LMDB looks into the map, which must not be remapped during the call.
        try openTransactions.withLock { _ in
            try checkMap()
            var info = MDB_envinfo()
            try check(mdb_env_info(handle, &info))
            var stat = MDB_stat()
            try check(mdb_env_stat(handle, &stat))
            return Information(
                mapSize: info.me_mapsize, pageSize: Int(stat.ms_psize), usedPages: info.me_last_pgno + 1,
                lastTransaction: info.me_last_txnid, readers: Int(info.me_numreaders),
                maximumReaders: Int(info.me_maxreaders))
        }
    }

    /// A reader of the environment in any process: mdb_reader_list.
    package struct Reader: Sendable {
        package let process: Int
        /// The transaction that the reader pins; nil if it's parked without one.
        package let transaction: Int?
    }

    package func readers() throws -> [Reader] {
        let lines = ReaderLines()
        let context = Unmanaged.passUnretained(lines).toOpaque()
        let code = mdb_reader_list(
            handle,
            { line, context in
                guard let line, let context else { return 0 }
                Unmanaged<ReaderLines>.fromOpaque(context).takeUnretainedValue().text += String(cString: line)
                return 0
            }, context)
        if code < 0 { throw LMDBError(rawValue: code) }
        return lines.text.split(separator: "\n").compactMap { line in
            let columns = line.split(separator: " ")
            guard columns.count == 3, let process = Int(columns[0]) else { return nil }
            return Reader(process: process, transaction: Int(columns[2]))
        }
    }
}

private final class ReaderLines { var text = "" }
