internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import CFetchIndexLMDB
package import Synchronization

/// An open LMDB environment: a folder with a data file, which is mapped into memory, and a lock file.
///
/// A process opens the same files only once, because LMDB's file locks require it. While they are open, opening them
/// again returns the same object or throws. LMDB doesn't work on network file systems, because its locks are in shared
/// memory.
package final class Environment: Sendable {
    package struct Options: Sendable {
        package var durability = Durability.full
        package var isReadOnly = false
        /// Whether an environment is created if the folder's data file is missing or empty; ignored if `isReadOnly`.
        package var creates = true
        /// The size of the map in bytes; if nil, the size that `reservation` computes. If the system refuses that size,
        /// the map is smaller.
        package var mapSize: Int?
        /// A check of the newest state that runs before LMDB reads the file.
        package var witness: Witness?
        /// Whether a new file gets page checksums. Only for an LMDB that can write them.
        package var hasPageChecksums = PageFormat.canHaveChecksums
        package var maximumTables: UInt32 = 16
        package var maximumReaders: UInt32 = 510

        package init() {}
    }

    package let path: String
    package let isReadOnly: Bool
    /// The identity of the open data file.
    let dataFile: FileIdentity
    /// The identity of the open lock file; nil if the environment was opened without a lock.
    let lockFile: FileIdentity?
    /// The folder's state when the files were last found at their paths. Only a settled state is kept, so that a later
    /// change of the folder shows as another state. Nil before the first such state.
    let folderInPlace = Mutex<FolderState?>(nil)
    let format: PageFormat
    /// Whether the file's pages are as long as the system's. If so, an address in the map shows where its page begins.
    var hasSystemPages: Bool { format.pageLength == PageLoader.systemPageLength }
    /// The number of this opening, which is unique in the process.
    private let opening: UInt64
    private let gate: FolderGate
    // An MDB_env may be used on any thread. It's closed once, under the gate's lock. It's nil if the data file has the
    // layout of another LMDB, and is read without LMDB.
    nonisolated(unsafe) let handle: OpaquePointer?
    /// The state that `newestFile` returned last; nil if LMDB reads the file.
    let mappedFile: Mutex<MappedFile?>
    /// What the read transactions share.
    let sharedReading = Mutex(SharedReading())
    /// The number of this process's transactions that are open or being begun. The map is resized only while none is
    /// open.
    let openTransactions = Mutex(0)
    let openTables = Mutex<[String: Table]>([:])
    /// Whether the write transaction, of which only one exists at a time, has written anything.
    let hasWritten = Atomic(false)
    /// Whether the write transaction has a table that only it uses.
    let hasScratchTable = Atomic(false)
    /// Whether the process had a file size limit when the write transaction began.
    let hasFileSizeLimit = Atomic(false)
    /// Whether a write found the map full since the map last grew.
    let isMapFull = Atomic(false)
    /// The threads on which users of the environment have write transactions open. If such a thread began another write
    /// transaction, it would wait for itself.
    package let writerThreads = Mutex<[UInt]>([])
    /// Whether the system refused to map the file again. If so, the environment can't be read or written any more.
    let hasLostMap = Atomic(false)

    /// Opens the environment in a folder. Creates it if it's missing, unless `options` forbid it. If the file has the
    /// layout of another LMDB and is opened read-only, it's read without LMDB and without a lock. Throws `DataFileError`
    /// if the files can't be opened safely.
    package static func open(at path: String, options: Options = Options()) throws -> Environment {
        if !options.isReadOnly && options.creates && mkdir(path, 0o700) != 0 && errno != EEXIST {
            throw LMDBError(rawValue: errno)
        }
        let path = try realPath(path)
        return try withSystemErrors { try EnvironmentRegistry.open(at: path, options: options) }
    }

    /// The absolute path without symbolic links. realpath
    static func realPath(_ path: String) throws(LMDBError) -> String {
        guard let real = realpath(path, nil) else { throw LMDBError(rawValue: errno) }
        defer { free(real) }
        return String(cString: real)
    }

    init(path: String, options: Options, opening: UInt64, gate: FolderGate) throws {
        try Descriptors.requireFree(Self.reservedDescriptors, for: "opening a store")
        try LinkedLMDB.requireLayout()
        self.path = path
        self.opening = opening
        self.gate = gate
        self.isReadOnly = options.isReadOnly
        let opened: Opened
        do {
            try DataFile.checkFiles(inFolder: path, creates: options.creates && !options.isReadOnly, options.witness)
            opened = try Environment.openHandle(at: path, options: options)
        } catch DataFileError.otherVersion where options.isReadOnly {
            let file = try MappedFile(inFolder: path)
            // The file may have been converted in between.
            if file.state.meta.layout == .linked { throw EnvironmentMoved(path: path) }
            mappedFile = Mutex(file)
            (handle, dataFile, lockFile, format) = (nil, file.identity, nil, file.state.meta.format)
            return
        }
        mappedFile = Mutex(nil)
        handle = opened.handle
        dataFile = opened.dataFile
        lockFile = opened.lockFile
        format = opened.format
        mdb_env_set_userctx(handle, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { EnvironmentRegistry.close(opening: opening, gate) }

    /// The number of free descriptors that opening requires. The environment takes up to three, and writers need one or
    /// two for their locks. The Swift runtime needs a few for its first waiting task (epoll, eventfd, timerfd), and
    /// ends the process if it gets none.
    private static let reservedDescriptors = 10
    private static let staleLockFile =
        "lock.mdb and data.mdb disagree on the newest transaction, and another process has the store open; close it in all processes"
    /// The maximum number of attempts to open while other processes open or replace the files.
    private static let maximumAttempts = 12
    /// The maximum time that a repeated attempt waits for the folder's lock.
    private static let turn = Duration.milliseconds(500)

    /// Opening failed, usually because another process was opening or replacing the files, or died while doing so.
    /// `openHandle` tries again; if all attempts fail like this, it throws the last `reason`.
    private struct Unsettled: Error {
        let reason: any Error
    }

    private static let replacedAgain = Unsettled(
        reason: DataFileError.damaged("its files were replaced again and again while it was opened"))

    /// A newly opened environment, and the identities of its files. The lock file is nil if it was opened without a
    /// lock.
    struct Opened {
        let handle: OpaquePointer
        let dataFile: FileIdentity
        let lockFile: FileIdentity?
        let format: PageFormat
    }

    /// Opens the environment with mdb_env_create and mdb_env_open. Tries again if another process interferes.
    ///
    /// Before it tries again, it waits for the lock on the folder, so that usually one process at a time does.
    static func openHandle(at path: String, options: Options) throws -> Opened {
        try reserveLockFile(inFolder: path, options)
        // On a read-only file system LMDB can't write the lock file, so a read-only opening takes no lock.
        var isLocking = !(options.isReadOnly && access(path, W_OK) != 0 && errno == EROFS)
        var tries = 0
        var folder: OpenFile?
        defer { flock(folder?.descriptor ?? -1, LOCK_UN) }
        while true {
            Descriptors.openMissingStandard()
            let handle = try newHandle(options, mapSize: options.mapSize ?? reservation(forFolder: path))
            do {
                let hasChecksums =
                    try DataFile.hasChecksums(at: EnvironmentFiles.data(in: path)) ?? options.hasPageChecksums
                if hasChecksums { try setChecksums(of: handle) }
                let opened = try open(handle, path, options, isLocking: isLocking)
                if opened.format.hasChecksums != hasChecksums { throw replacedAgain }
                return opened
            } catch {
                mdb_env_close(handle)
                flock(folder?.descriptor ?? -1, LOCK_UN)
                switch error {
                // A user who may not write the lock file reads without a lock, and must not read while others write.
                case let error as LMDBError where error == .permissionDenied && options.isReadOnly && isLocking:
                    isLocking = false
                case let error as Unsettled:
                    tries += 1
                    if tries == maximumAttempts { throw error.reason }
                    usleep(.random(in: 1000...20_000))
                    try DataFile.checkFiles(inFolder: path, creates: false, options.witness)
                    if folder == nil { folder = try? OpenFile(path, O_RDONLY | O_DIRECTORY) }
                    // The wait is limited, so that a foreign lock can't block the opening. If the wait ends without the
                    // lock, the next attempt runs without it.
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
        // The lock file's identity is compared before and after opening: LMDB may wait long for the lock file, and
        // doesn't reveal which file it opened.
        func lockFile() throws -> FileIdentity? {
            isLocking ? try FileIdentity(ofPath: EnvironmentFiles.lock(in: path)) : nil
        }
        let lockFileBefore = try lockFile()
        let flags = options.flags(isLocking: isLocking)
        let code = FileSizeLimit.withoutSignal { mdb_env_open(handle, path, flags, 0o600) }
        // A compaction that was killed may have invalidated the lock file. The first process that locks it exclusively
        // recreates it. While this process waited for the lock, another may have converted the file.
        if [MDB_INVALID, MDB_VERSION_MISMATCH, LMDBError.badChecksum].contains(code) {
            throw Unsettled(reason: LMDBError(rawValue: code))
        }
        try check(code)
        let opened = Opened(
            handle: handle, dataFile: try dataFile(of: handle), lockFile: try lockFile(), format: try format(of: handle)
        )
        // A read-only opening opens the data file before it locks the lock file, so the data file may have been
        // replaced in between.
        let named = try FileIdentity(ofPath: EnvironmentFiles.data(in: path))
        if named == nil { throw LMDBError(rawValue: ENOENT) }
        if named != opened.dataFile || lockFileBefore != opened.lockFile
            || isLocking && !options.isReadOnly && opened.lockFile == nil
        {
            throw replacedAgain
        }
        // Another thread may have closed a standard descriptor, which the data file then got.
        guard try closeWhenExecuting(handle) else { throw Unsettled(reason: LMDBError.badDescriptor) }
        if isLocking {
            if !knowsNewest(handle, options) { throw Unsettled(reason: DataFileError.damaged(staleLockFile)) }
            try freeDeadReaders(of: handle)
        }
        return opened
    }

    /// Throws `EnvironmentMoved` if the path no longer leads to the open files. Other processes would then open the
    /// folder without noticing this one. Costs one stat if the folder hasn't changed since a call that remembered its
    /// state, otherwise up to three.
    package func requireInPlace() throws {
        let folder = FolderState(ofPath: path)
        if let folder, folderInPlace.withLock({ $0 == folder }) { return }
        let isInPlace = try withSystemErrors {
            try FileIdentity(ofPath: EnvironmentFiles.data(in: path)) == dataFile
                && (lockFile == nil || FileIdentity(ofPath: EnvironmentFiles.lock(in: path)) == lockFile)
        }
        if !isInPlace { throw EnvironmentMoved(path: path) }
        if let folder, folder.isSettled { folderInPlace.withLock { $0 = folder } }
    }

    /// The identity of the data file that LMDB has open.
    private static func dataFile(of handle: OpaquePointer) throws -> FileIdentity {
        try FileIdentity(ofOpen: descriptor(of: handle))
    }
}

extension Environment.Options {
    fileprivate func flags(isLocking: Bool) -> UInt32 {
        var flags = MDB_NOTLS | MDB_NORDAHEAD
        if isReadOnly { flags |= MDB_RDONLY }
        if !isLocking { flags |= MDB_NOLOCK }
        switch durability {
        case .full: break
        case .relaxed: flags |= MDB_NOMETASYNC
        case .none: flags |= MDB_NOSYNC
        }
        return UInt32(flags)
    }
}

extension Environment {
    /// Frees the slots of readers whose processes died. Throws if the lock file counts more readers than it has room
    /// for, for example because the file was truncated while a process had it open. mdb_reader_check
    private static func freeDeadReaders(of handle: OpaquePointer) throws {
        var info = MDB_envinfo()
        guard mdb_env_info(handle, &info) == MDB_SUCCESS, info.me_numreaders <= info.me_maxreaders else {
            throw DataFileError.damaged("its lock.mdb is cut off; it may be deleted when no process has it open")
        }
        mdb_reader_check(handle, nil)
    }
}
