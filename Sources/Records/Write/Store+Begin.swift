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

    /// Waits for the writer of another thread or process. Throws `writerBusy` when that takes longer than a limit.
    /// Before a writer that changes records, unique keys that a first import has left out are written, which takes O(n log n).
    package func beginWrite(
        author: String = "", limit: Duration? = nil, changesRecords: Bool = true
    ) throws -> StoreWriter {
        // Waiting for a writer of this thread would never end.
        if environment.writerThreads.withLock({ $0.contains(currentThread()) }) {
            throw StoreError.wouldWaitForItself
        }
        let end = limit.map { ContinuousClock.Instant.now + $0 }
        guard let writer = try beginWrite(author: author, until: end, changesRecords: changesRecords) else {
            throw StoreError.writerBusy
        }
        return writer
    }

    /// Nil when another writer is busy, or when the store was moved: updates of caches can be postponed.
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

extension StoreWriter {
    /// Counts the calling thread as one of the writer's while the body runs: to wait for another writer there is an error, as the
    /// writer's thread waits for the body.
    package func countingThread(_ body: () -> Void) {
        let thread = currentThread()
        store.writerBegan(on: thread)
        defer { store.writerEnded(on: thread) }
        body()
    }
}
