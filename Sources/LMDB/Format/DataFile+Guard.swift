internal import FetchIndexCLibrary
internal import FetchIndexPlatform

extension DataFile {
    /// The maximum number of attempts to read a file while other processes write it. If all attempts fail, the file is
    /// reported as damaged.
    private static let tries = 50
    private static let pauseInMicroseconds: UInt32 = 2000

    /// Throws `DataFileError` unless the linked LMDB can safely open the files of a folder. LMDB trusts the meta pages:
    /// if they named a page after the end of the file, reading it would kill the process. `otherVersion` is thrown for a
    /// file without defects only.
    ///
    /// The lock file is examined without opening it, since closing it would drop this process's locks on it.
    package static func checkFiles(inFolder path: String, creates: Bool, _ witness: Witness?) throws {
        let lengths = try requirePlainFiles([EnvironmentFiles.data, EnvironmentFiles.lock], inFolder: path)
        if let length = lengths[EnvironmentFiles.lock], (1..<shortestLockFile).contains(length) {
            throw DataFileError.foreign("its lock.mdb is not LMDB's; it may be deleted when no process has it open")
        }
        var last: (metas: [MetaPage], length: Int, error: any Error)?
        for _ in 1...tries {
            guard let file = try DataFile(inFolder: path) else { return }  // LMDB creates a missing file, or reports it
            if creates, try file.length() == 0 { return }
            if let metas = try MetaPage.both(of: file) {
                let length = try file.length()
                guard let error = try defect(of: file, metas, length, witness) else {
                    if metas[0].layout != .linked { throw DataFileError.otherVersion(metas[0].layout) }
                    return
                }
                // The meta pages and the length are those of the last attempt, so the defect doesn't come from a commit
                // during the reading.
                if let last, last.metas == metas, last.length == length { throw error }
                last = (metas, length, error)
            }
            usleep(pauseInMicroseconds)
        }
        throw last?.error ?? DataFileError.damaged("its data.mdb is cut off: it is shorter than two pages")
    }

    /// The minimum length of LMDB's lock file in bytes: two cache lines, and a slot for one reader.
    static let shortestLockFile = 192

    /// Throws if a file with one of the names exists, but isn't a regular file. Returns the lengths of the existing
    /// files.
    @discardableResult
    package static func requirePlainFiles(_ names: [String], inFolder path: String) throws -> [String: Int] {
        var lengths: [String: Int] = [:]
        for name in names {
            switch try Folder.kind(at: path + "/" + name) {
            case nil: continue
            case .file(let length): lengths[name] = length
            case .link: throw DataFileError.foreign("its \(name) is a symbolic link")
            case .folder: throw DataFileError.foreign("its \(name) is a folder")
            case .other: throw DataFileError.foreign("its \(name) is a pipe, a socket or a device")
            }
        }
        return lengths
    }

    private static func defect(
        of file: consuming DataFile, _ metas: [MetaPage], _ length: Int, _ witness: Witness?
    ) throws -> DataFileError? {
        let meta = MetaPage.newest(of: metas)
        if let defect = try MetaPage.defect(of: metas) ?? meta.defect ?? file.checksumDefect(of: meta) {
            return .damaged(defect)
        }
        if let witness, let defect = try file.defect(of: meta, by: witness) { return .damaged(defect) }
        if UInt64(length / meta.pageSize) >= meta.pageCount { return nil }
        // The last pages of a state may be free and never written, so the file may be shorter than the state.
        do {
            let walk = try PageWalk(file, meta, fileLength: length)
            try walk.walkFreeList()
            let missing = walk.filePages..<meta.pageCount
            return walk.report.isReadable && missing.allSatisfy { walk.free.contains($0) }
                ? nil : PageWalk.cutOff(fileLength: length, meta)
        } catch let error as DataFileError {
            return error
        }
    }

    /// The defect that page 0 doesn't say that pages have checksums, although they have; nil if it isn't found. LMDB would
    /// then write pages without.
    private func checksumDefect(of meta: MetaPage) throws -> String? {
        guard meta.layout == .version3, !meta.format.hasChecksums, meta.main.root != TreeRecord.noRoot else {
            return nil
        }
        let root = try bytes(at: Int(meta.main.root) * meta.pageSize, count: meta.pageSize)
        let checking = PageFormat(layout: meta.layout, pageLength: meta.pageSize, hasChecksums: true)
        return root.count == meta.pageSize && checking.hasRightChecksum(root.span.bytes)
            ? "the pages of its data.mdb have checksums, but the first page does not say so" : nil
    }
}
