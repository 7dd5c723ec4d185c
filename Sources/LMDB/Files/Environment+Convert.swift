internal import CFetchIndexLMDB
internal import FetchIndexCLibrary
internal import FetchIndexPlatform

extension Environment {
    /// The number of bytes after which the new file's entries are committed.
    private static let committedBytes = 1 << 26

    /// A finished conversion.
    package struct Conversion {
        package let from: PageLayout
        package let bytesBefore: Int
        package let bytesAfter: Int
    }

    /// Thrown if the old file of an earlier conversion exists.
    package struct OldFileExists: Error {}

    /// Converts a folder's data file from the layout of another LMDB to that of the linked one: writes the tables with
    /// their entries to a new file, in a folder within the folder, calls `finish` with that inner folder, and then
    /// swaps the files. The old file is kept under the name `EnvironmentFiles.old`. Returns nil if the file has the
    /// linked layout.
    ///
    /// If `finish` throws, or this process dies, the data file is the old one or the new one, and whole. The pages must
    /// have been checked: a damaged page stops the conversion, but not each is noticed. Throws `InUse` if a process has
    /// the environment open with a lock, and `OldFileExists`. O(pages)
    package static func convert(
        at path: String, _ witness: Witness?, finish: (_ folder: String) throws -> Void
    ) throws -> Conversion? {
        let path = try realPath(path)
        return try withSystemErrors {
            try EnvironmentRegistry.withClosedEnvironment(at: path) {
                try DataFile.requirePlainFiles(
                    [EnvironmentFiles.data, EnvironmentFiles.lock, EnvironmentFiles.old], inFolder: path)
                try LinkedLMDB.requireLayout()
                // The file is made before it's locked: closing it would drop the lock.
                try reserveLockFile(inFolder: path, Options())
                let lock = try EnvironmentLock(inFolder: path)
                guard let found = try DataFile.otherLayout(inFolder: path, witness) else { return nil }
                let (before, after) = try swapFile(path, lock, finish)
                return Conversion(from: found, bytesBefore: before, bytesAfter: after)
            }
        }
    }

    /// Writes the new file, and swaps it with the data file. Returns the lengths of both.
    private static func swapFile(
        _ path: String, _ lock: borrowing EnvironmentLock, _ finish: (_ folder: String) throws -> Void
    ) throws -> (before: Int, after: Int) {
        let dataFile = EnvironmentFiles.data(in: path)
        try keepOldFile(path)
        var isSwapped = false
        defer { if !isSwapped { unlink(EnvironmentFiles.old(in: path)) } }
        var before = stat()
        guard stat(dataFile, &before) == 0 else { throw LMDBError(rawValue: errno) }
        let making = try MakingFolder(in: path)
        let file = try MappedFile(inFolder: path)
        _ = try file.state(ignoringChecksums: false)
        try FileSizeLimit.withoutSignal {
            try copyTables(of: file, to: making.dataFile, fileBytes: Int(before.st_size))
        }
        let new = try OpenFile(making.dataFile, O_RDWR)
        try inheritAccess(of: before, new.descriptor)
        try finish(making.path)
        try new.sync()
        // Like a compaction, this invalidates the lock file before the renaming: it describes the old file.
        try lock.spoil()
        guard rename(making.dataFile, dataFile) == 0 else { throw LMDBError(rawValue: errno) }
        isSwapped = true
        // The conversion has succeeded. If the folder can't be synced, a power loss may bring back the old file; if the
        // lock file can't be recreated here, the next process that opens the environment does it.
        try? NewFile.synchronize(folderOf: dataFile)
        try? withHandle(path, flags: 0) { _ in }
        _ = chown(EnvironmentFiles.lock(in: path), before.st_uid, before.st_gid)
        var after = stat()
        guard stat(dataFile, &after) == 0 else { throw LMDBError(rawValue: errno) }
        return (Int(before.st_size), Int(after.st_size))
    }

    /// Gives the data file its second name, under which it stays after the swap. A conversion that died may have done
    /// that already. Throws if an earlier conversion's file has the name.
    private static func keepOldFile(_ path: String) throws {
        let (dataFile, old) = (EnvironmentFiles.data(in: path), EnvironmentFiles.old(in: path))
        if link(dataFile, old) == 0 { return }
        guard errno == EEXIST else { throw LMDBError(rawValue: errno) }
        guard try FileIdentity(ofPath: dataFile) == FileIdentity(ofPath: old) else { throw OldFileExists() }
    }

    /// Writes the tables of a mapped file to a new data file. The entries are appended in order, so that pages are
    /// filled.
    private static func copyTables(of file: MappedFile, to path: String, fileBytes: Int) throws {
        let flags = UInt32(MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS | MDB_NOSYNC)
        // A page of the new layout may have room for fewer entries, and a long value may need more pages.
        let mapSize = available(reservation(fileBytes: 4 * fileBytes, beside: 0))
        try withHandle(path, flags: flags, mapSize: mapSize) { handle in
            var copy = TableCopy(handle)
            do {
                for (name, tree) in file.tables { try copy.append(PageCursor(file.pages, tree), to: name, tree) }
                try copy.commit()
            } catch {
                copy.abort()
                throw error
            }
        }
    }

    /// Appends entries to tables of a new environment, and commits them in portions, so that their pages don't gather in
    /// memory.
    private struct TableCopy {
        private let environment: OpaquePointer
        private var transaction: OpaquePointer?
        private var byteCount = 0

        init(_ environment: OpaquePointer) { self.environment = environment }

        mutating func append(_ entries: consuming PageCursor, to name: String, _ tree: TreeRecord) throws {
            var count: UInt64 = 0
            let keyFlags = tree.keys == .integers ? UInt32(MDB_INTEGERKEY) : 0
            var table = try open(name, keyFlags | UInt32(MDB_CREATE))
            var isAtEntry = try entries.seekToFirst()
            while isAtEntry {
                let (key, value) = try entries.entry()
                if byteCount >= committedBytes {
                    try commit()
                    table = try open(name, keyFlags)
                }
                byteCount += key.count + value.count
                count += 1
                var (mdbKey, mdbValue) = (MDB_val(key), MDB_val(value))
                // A key that isn't greater than the last one is damage.
                let code = mdb_put(transaction, table, &mdbKey, &mdbValue, UInt32(MDB_APPEND))
                if code == MDB_KEYEXIST { throw LMDBError.corrupted }
                try FetchIndexLMDB.check(code)
                isAtEntry = try entries.seekToNext()
            }
            if count != tree.entries { throw LMDBError.corrupted }
        }

        private mutating func open(_ name: String, _ flags: UInt32) throws(LMDBError) -> MDB_dbi {
            if transaction == nil { try FetchIndexLMDB.check(mdb_txn_begin(environment, nil, 0, &transaction)) }
            var table: MDB_dbi = 0
            try FetchIndexLMDB.check(mdb_dbi_open(transaction, name, flags, &table))
            return table
        }

        mutating func commit() throws(LMDBError) {
            guard let begun = transaction else { return }
            (transaction, byteCount) = (nil, 0)
            try FetchIndexLMDB.check(mdb_txn_commit(begun))
        }

        mutating func abort() {
            mdb_txn_abort(transaction)
            transaction = nil
        }
    }

    /// Deletes the old file of a conversion. Returns its length; nil if it's missing. The current data file must be
    /// known to be sound.
    package static func deleteOldFile(at path: String) throws -> Int? {
        try withSystemErrors {
            let old = EnvironmentFiles.old(in: path)
            var status = stat()
            guard lstat(old, &status) == 0 else {
                if errno == ENOENT { return nil }
                throw LMDBError(rawValue: errno)
            }
            guard unlink(old) == 0 else { throw LMDBError(rawValue: errno) }
            try NewFile.synchronize(folderOf: old)
            return Int(status.st_size)
        }
    }
}

/// The folder within an environment's folder in which a new data file is made. Destroying the value removes the folder.
struct MakingFolder: ~Copyable {
    let path: String
    var dataFile: String { EnvironmentFiles.data(in: path) }

    /// Creates the folder. Removes the one that a process that died has left. The caller holds a lock that excludes
    /// others.
    init(in folder: String) throws {
        path = folder + "/" + EnvironmentFiles.making
        var status = stat()
        if lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR {
            throw DataFileError.foreign("its data.mdb.making is not a folder")
        }
        Self.clear(path)
        if access(path, F_OK) == 0 { throw DataFileError.foreign("its data.mdb.making has foreign files in it") }
        if mkdir(path, 0o700) != 0 { throw LMDBError(rawValue: errno) }
    }

    deinit { Self.clear(path) }

    private static func clear(_ path: String) {
        for file in [EnvironmentFiles.data(in: path), EnvironmentFiles.lock(in: path), path] { remove(file) }
    }
}

extension DataFile {
    /// The layout of a folder's data file; nil if it's the linked one. Throws `DataFileError` if the file is missing or
    /// has a defect that `checkFiles` finds.
    package static func otherLayout(inFolder path: String, _ witness: Witness?) throws -> PageLayout? {
        do {
            try checkFiles(inFolder: path, creates: false, witness)
        } catch DataFileError.otherVersion(let layout) {
            return layout
        }
        return nil
    }
}
