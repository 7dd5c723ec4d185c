internal import FetchIndexModels
internal import FetchIndexLMDB

/// The result of a compaction.
public struct StoreCompaction: Equatable, Sendable {
    /// The bytes of the store's file before the compaction.
    public let bytesBefore: Int
    public let bytesAfter: Int
    /// The pages of the old file whose checksums were wrong, one sentence each. The new file has right ones.
    public let defects: [String]
}

extension Store {
    /// Rewrites a store's file without its unused pages. No process may have the store open, including this one. A
    /// process that opens the store with a lock in the meantime waits. If this process dies, the file is either the old
    /// one or the compact one. O(bytes of the store).
    package static func compact(at path: String) throws -> StoreCompaction {
        // The store is opened only to check it: that throws unless the path has a store in a format that this version
        // reads.
        var options = Options()
        (options.creates, options.ignoresPageChecksums) = (false, true)
        _ = try Store(at: path, options: options)
        let defects = try requireReadablePages(at: path)
        do {
            let bytes = try Environment.compact(at: path)
            return StoreCompaction(bytesBefore: bytes.bytesBefore, bytesAfter: bytes.bytesAfter, defects: defects)
        } catch let error as Environment.InUse {
            throw StoreCopyError.inUse(process: error.process, program: programName(ofProcess: error.process))
        } catch let error as LMDBError where error == .leaked {
            throw StoreCopyError.failed(
                path: path, "some of its pages are neither used nor free; a backup has them too")
        } catch let error as LMDBError {
            throw StoreCopyError.failed(path: path, error == .busy ? "another process is compacting it" : error.reason)
        }
    }
}
