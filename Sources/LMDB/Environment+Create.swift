internal import Files
internal import LMDBCheck
internal import CLMDB
internal import SystemC

extension Environment {
    /// How long whoever makes an environment waits for others who have its folder locked.
    private static let patience = Duration.seconds(30)

    /// Puts an empty data file into a folder that has none.
    ///
    /// LMDB makes its file in place and syncs it with the first commit: a power loss before that may leave a file that
    /// is neither empty nor an environment, and that nothing can open. So it is made in a folder of its own, and gets
    /// its name when it is whole and on disk. A lock on the folder keeps others from doing the same; what a process
    /// left that was killed before that is taken out by the next.
    static func createDataFile(inFolder folder: String, _ options: Options) throws {
        try DataFile.requirePlainFiles(["data.mdb", "lock.mdb"], inFolder: folder)
        let path = folder + "/data.mdb"
        if access(path, F_OK) == 0 { return }
        let file = try OpenFile(folder, O_RDONLY | O_DIRECTORY)
        guard try file.lock(until: .now + patience) else {
            if access(path, F_OK) == 0 { return }
            throw LMDBError.busy
        }
        defer { flock(file.descriptor, LOCK_UN) }
        if access(path, F_OK) == 0 { return }
        let workshop = folder + "/data.mdb.making"
        var status = stat()
        if lstat(workshop, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR {
            throw DataFileError.foreign("its data.mdb.making is no folder")
        }
        func clear() { for file in ["/data.mdb", "/lock.mdb", ""] { remove(workshop + file) } }
        clear()
        if access(workshop, F_OK) == 0 { throw DataFileError.foreign("its data.mdb.making has foreign files in it") }
        if mkdir(workshop, 0o700) != 0 { throw LMDBError(rawValue: errno) }
        defer { clear() }
        mdb_env_close(try openHandle(at: workshop, options: options).handle)
        if options.durability != .none { try OpenFile(workshop + "/data.mdb", O_RDWR).sync() }
        if rename(workshop + "/data.mdb", path) != 0 { throw LMDBError(rawValue: errno) }
    }

    /// Gives the lock file its room on the disk. LMDB writes to it through a map: where the disk has no room for a page
    /// then, the process would die of SIGBUS. Whoever may not write the file reads without it.
    ///
    /// The path must not be open in this process, whose locks on the file would be dropped.
    static func reserveLockFile(inFolder folder: String, _ options: Options) throws {
        #if os(Linux)
            let file: OpenFile
            do { file = try OpenFile(folder + "/lock.mdb", O_RDWR | O_CREAT) } catch {
                if LMDBError(rawValue: error.rawValue).isFailedWrite { throw error }
                return
            }
            // LMDB's own size: a cache line for each reader, and two before them.
            let length = (Int(options.maximumReaders) + 2) * 64
            var status = stat()
            if fstat(file.descriptor, &status) == 0, Int(status.st_blocks) * 512 >= length { return }
            // What a file system does not know how to do is no fault.
            let error = LMDBError(rawValue: posix_fallocate(file.descriptor, 0, off_t(length)))
            if error.isFailedWrite { throw error }
        #endif
    }

    /// Puts the names of the folder and of its data file on disk: syncing a file does not. Whoever makes an environment
    /// does it before he commits what tells others that it is made. fsync
    package func syncNames() throws {
        try withSystemErrors {
            for folder in [path, path + "/.."] { try OpenFile(folder, O_RDONLY | O_DIRECTORY).sync() }
        }
    }
}
