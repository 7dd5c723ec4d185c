internal import FetchIndexPlatform
internal import Synchronization

// An environment whose data file has the layout of another LMDB than the linked one. It's only read, without LMDB and
// without its locks.
extension Environment {
    /// The newest state of a file that is read without LMDB; nil if LMDB reads the file. If the newest state can't be
    /// mapped, for example because the path no longer leads to the file, this is the newest one that could be. O(1)
    func newestFile() -> MappedFile? {
        if handle != nil { return nil }
        return mappedFile.withLock { file in
            guard let current = file else { return nil }
            let transaction = Int(current.state.meta.transaction)
            if let isNewest = try? DataFile.isNewest(transaction, at: path), !isNewest,
                let newer = try? MappedFile(inFolder: path), newer.identity == dataFile,
                // The handles of tables are places in this list.
                newer.tables.map(\.name) == current.tables.map(\.name)
            {
                file = newer
            }
            return file
        }
    }

    /// The layout of the data file.
    package var layout: PageLayout { format.layout }

    /// Whether the data file's pages have checksums.
    package var hasPageChecksums: Bool { format.hasChecksums }
}
