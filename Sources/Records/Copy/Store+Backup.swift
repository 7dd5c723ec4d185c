internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexLMDB

extension Store {
    /// A backup that was made: the commit whose state it holds, the bytes of its file, and whether it has no unused pages.
    package struct Backup {
        package let commit: UInt64
        package let byteCount: Int
        package let isCompact: Bool
    }

    /// Copies the newest state to a folder that is new or empty, while readers and writers go on. Those may read it whom the umask allows
    /// it. The copy gets an identity of its own. With `keepsDamaged`, a copy whose identity is damaged is kept as it is, for its `check` to
    /// find; else it is removed, and the damage thrown. O(bytes of the store).
    package func backup(to path: String, keepsDamaged: Bool = false) throws -> Backup {
        try Self.requireOutsideOfStores(path)
        try Self.requireWholePages(at: self.path)
        do {
            let isNew = try Self.makeFolder(path)
            do {
                let backup = try copy(toFolder: path, keepsDamaged: keepsDamaged)
                if isNew { try NewFile.synchronize(folderOf: path.last == "/" ? String(path.dropLast()) : path) }
                return backup
            } catch {
                if isNew { rmdir(path) }
                throw error
            }
        } catch let error as SystemError {
            throw StoreCopyError.failed(path: path, error == .busy ? "another backup is being made there" : "\(error)")
        } catch let error as LMDBError {
            throw StoreCopyError.failed(path: path, error.reason)
        }
    }

    /// Throws when the path is in a store's own folder, where nothing else belongs.
    package static func requireOutsideOfStores(_ path: String) throws {
        let trimmed = path.last == "/" ? String(path.dropLast()) : path
        let folder = trimmed.lastIndex(of: "/").map { String(trimmed[...$0]) } ?? "./"
        if access(folder + "data.mdb", F_OK) == 0 {
            throw StoreCopyError.failed(path: path, "it is in the folder of a store, which holds nothing else")
        }
    }

    /// Throws when pages of a store's file are damaged: LMDB would copy them, or end the process.
    static func requireWholePages(at path: String) throws {
        if let defect = try checkPages(at: path).first {
            throw StoreError.corrupted("\(defect); nothing was copied")
        }
    }

    /// Whether the folder is a new one. What a backup that was killed has left is overwritten.
    private static func makeFolder(_ path: String) throws -> Bool {
        if mkdir(path, 0o777) == 0 { return true }
        guard errno == EEXIST else { throw SystemError.last }
        guard let names = Folder.names(in: path), names.allSatisfy({ $0 == "data.mdb.partial" }) else {
            throw StoreCopyError.destinationExists(path: path)
        }
        return false
    }

    private func copy(toFolder path: String, keepsDamaged: Bool) throws -> Backup {
        let first = try snapshot().commit
        let dataFile = path + "/data.mdb"
        let file = try NewFile(at: dataFile, .byUmask)
        var isCompact = true
        do { try environment.copy(.compact, to: file.descriptor) } catch let error as LMDBError where error == .leaked {
            isCompact = false
            guard ftruncate(file.descriptor, 0) == 0, lseek(file.descriptor, 0, SEEK_SET) == 0 else {
                throw SystemError.last
            }
            try environment.copy(.plain, to: file.descriptor)
        }
        do { try CopyIdentity.make(inFile: dataFile + ".partial") } catch StoreError.corrupted where keepsDamaged {}
        try file.keep(replacing: false)
        do {
            let commit = try Self.verifyBackup(path, commits: first...snapshot().commit)
            var status = stat()
            guard stat(dataFile, &status) == 0 else { throw SystemError.last }
            return Backup(commit: commit, byteCount: Int(status.st_size), isCompact: isCompact)
        } catch {
            for name in ["data.mdb", "lock.mdb"] { unlink(path + "/" + name) }
            throw error
        }
    }

    /// Opens a backup, which must be of a commit that there was while it was made.
    private static func verifyBackup(_ path: String, commits: ClosedRange<UInt64>) throws -> UInt64 {
        var options = Options()
        options.isReadOnly = true
        let commit = try Store(at: path, options: options).snapshot().commit
        guard commits.contains(commit) else {
            throw StoreCopyError.failed(path: path, "the backup has commit \(commit), which the store never had")
        }
        return commit
    }
}
