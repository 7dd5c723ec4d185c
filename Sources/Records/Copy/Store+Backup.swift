internal import FetchIndexModels
internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import FetchIndexLMDB

/// A finished backup.
public struct StoreBackup: Equatable, Sendable {
    /// The commit whose state the backup has.
    public let commit: UInt64
    /// The bytes of the backup's file.
    public let byteCount: Int
    /// Whether unused pages were left out. If some pages are neither used nor listed as free, LMDB can't leave out
    /// pages.
    public let isCompact: Bool
    /// The pages of the store whose checksums are wrong, one sentence each. The backup's checksums are right, and its
    /// values say themselves which of them are damaged.
    public let defects: [String]
}

extension Store {
    /// Copies the newest state to a new or empty folder, while other transactions read and write. The umask determines
    /// the file's permissions. If the store has an identifier, the copy gets its own. If damage prevents that and
    /// `keepsDamaged` is true, the copy keeps the store's identifier, so that checking the copy finds the damage; if
    /// it's false, the copy is removed, and the error is thrown. O(bytes of the store).
    package func backup(to path: String, keepsDamaged: Bool = false) throws -> StoreBackup {
        try Self.requireOutsideOfStores(path)
        let defects = try Self.requireReadablePages(at: self.path)
        do {
            let isNew = try Self.makeFolder(path)
            do {
                let backup = try copy(toFolder: path, keepsDamaged: keepsDamaged, defects)
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
        } catch let error as DataFileError {
            throw Self.explain(error, at: self.path)
        }
    }

    /// Throws if the path's parent contains a `data.mdb`, like a store's folder.
    package static func requireOutsideOfStores(_ path: String) throws {
        let trimmed = path.last == "/" ? String(path.dropLast()) : path
        let folder = trimmed.lastIndex(of: "/").map { String(trimmed[...$0]) } ?? "./"
        if access(folder + StoreFiles.data, F_OK) == 0 {
            throw StoreCopyError.failed(path: path, "it is in the folder of a store, which must not have other files")
        }
    }

    /// Throws if pages of a store's file have defects: LMDB would copy damaged pages, or end the process. Wrong checksums
    /// are allowed and returned, one sentence each.
    static func requireReadablePages(at path: String) throws -> [String] {
        let pages = try checkPages(at: path)
        if !pages.hasOnlyWrongChecksums, let defect = pages.defects.first {
            throw StoreError.corrupted("\(defect); nothing was copied")
        }
        return pages.defects
    }

    /// Creates a folder, and returns true. Returns false if the folder exists and is empty, or has only the file of an
    /// unfinished backup. Otherwise throws.
    private static func makeFolder(_ path: String) throws -> Bool {
        if mkdir(path, 0o777) == 0 { return true }
        guard errno == EEXIST else { throw SystemError.last }
        guard let names = Folder.names(in: path), names.allSatisfy({ $0 == StoreFiles.partial }) else {
            throw StoreCopyError.destinationExists(path: path)
        }
        return false
    }

    private func copy(toFolder path: String, keepsDamaged: Bool, _ defects: [String]) throws -> StoreBackup {
        let first = try snapshot().commit
        let dataFile = path + "/" + StoreFiles.data
        let file = try NewFile(at: dataFile, .byUmask)
        var isCompact = true
        do { try environment.copy(.compact, to: file.descriptor) } catch let error as LMDBError where error == .leaked {
            isCompact = false
            guard ftruncate(file.descriptor, 0) == 0, lseek(file.descriptor, 0, SEEK_SET) == 0 else {
                throw SystemError.last
            }
            try environment.copy(.plain, to: file.descriptor)
        }
        let partial = path + "/" + StoreFiles.partial
        do { try CopyIdentity.make(inFile: partial) } catch StoreError.corrupted where keepsDamaged {}
        try file.keep(replacing: false)
        do {
            let commit = try Self.verifyBackup(path, commits: first...snapshot().commit)
            var status = stat()
            guard stat(dataFile, &status) == 0 else { throw SystemError.last }
            return StoreBackup(commit: commit, byteCount: Int(status.st_size), isCompact: isCompact, defects: defects)
        } catch {
            for name in [StoreFiles.data, StoreFiles.lock] { unlink(path + "/" + name) }
            throw error
        }
    }

    /// Opens a backup, and returns the number of its commit. Throws if the number is outside of `commits`, the store's
    /// commits during the backup.
    private static func verifyBackup(_ path: String, commits: ClosedRange<UInt64>) throws -> UInt64 {
        var options = Options()
        (options.isReadOnly, options.ignoresPageChecksums) = (true, true)
        let commit = try Store(at: path, options: options).snapshot().commit
        guard commits.contains(commit) else {
            throw StoreCopyError.failed(
                path: path, "the backup has commit \(commit), which was not the store's newest commit during the backup"
            )
        }
        return commit
    }
}
