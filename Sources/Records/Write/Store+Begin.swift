internal import Synchronization
internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels

extension Store {
    package func snapshot() throws -> Snapshot {
        do { return try Snapshot(self) } catch let error as LMDBError {
            throw StoreError(failedWrite: error) ?? error
        }
    }

    /// Begins a transaction, after waiting for the writer of another thread or process. Throws `writerBusy` if that
    /// takes longer than the limit, and `wouldWaitForItself` if this thread has a writer. If `changesRecords`, first
    /// writes the unique keys that a first import left out, in O(n log n).
    package func beginWrite(
        author: String = "", limit: Duration? = nil, changesRecords: Bool = true
    ) throws -> StoreWriter {
        // A writer of this thread can't end while the thread waits.
        if environment.writerThreads.withLock({ $0.contains(currentThread()) }) {
            throw StoreError.wouldWaitForItself
        }
        let end = limit.map { ContinuousClock.Instant.now + $0 }
        guard let writer = try beginWrite(author: author, until: end, changesRecords: changesRecords) else {
            throw StoreError.writerBusy
        }
        return writer
    }

    /// Begins a transaction for writes that can be postponed, such as updates of caches. Returns nil if another writer
    /// is busy, or if the store was moved.
    package func tryBeginWrite(author: String = "") throws -> StoreWriter? {
        do { return try beginWrite(author: author, until: .now, changesRecords: false) } catch {
            switch error {
            case StoreError.moved, StoreError.inaccessible: return nil
            default: throw error
            }
        }
    }

    private func beginWrite(
        author: String, until end: ContinuousClock.Instant?, changesRecords: Bool
    ) throws -> StoreWriter? {
        guard !isReadOnly else { throw StoreError.readOnly }
        do {
            guard let lock = try FolderLock(StoreFiles.writerLock, inFolder: path, until: end) else { return nil }
            let writer = try StoreWriter(self, author: author, lock)
            if !changesRecords || writer.state.unkeyed == nil { return writer }
            return try StoreWriter(self, author: author, completeUniqueKeys(writer.commitAndKeepLock()))
        } catch {
            do { try environment.requireInPlace() } catch let error as EnvironmentMoved {
                throw StoreError.moved(path: error.path)
            } catch {}
            throw LMDBError(error).flatMap(StoreError.init(failedWrite:)) ?? error
        }
    }
}
