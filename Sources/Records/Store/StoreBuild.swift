internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexLMDB
internal import Synchronization

/// The build of a cache in several transactions. All processes together run one build at a time.
///
/// When a build writes its first nodes, it stores a mark with the cache number of its nodes. So the nodes of a killed
/// build aren't mistaken for damage, and the next build deletes them.
package final class StoreBuild {
    package let store: Store
    private let lock: FolderLock
    private let thread = currentThread()

    fileprivate init(_ store: Store, _ lock: consuming FolderLock) {
        self.store = store
        self.lock = lock
        store.openBuilds.withLock { $0.append(thread) }
    }

    deinit {
        store.openBuilds.withLock { builds in
            if let index = builds.firstIndex(of: thread) { builds.remove(at: index) }
        }
    }

    /// Publishes the commit at which the cache's records are read. While this object exists, writers that trim the log
    /// for caches keep the commits after it; the log's limit may still delete them.
    package func begin(at commit: UInt64) { lock.write(commit) }
}

extension Store {
    /// Begins a build, after waiting for the build of another thread or process. Returns nil if that takes longer than
    /// the limit, or if this thread is building already and would wait for itself.
    package func beginBuild(limit: Duration) throws -> StoreBuild? {
        guard !isReadOnly else { throw StoreError.readOnly }
        if openBuilds.withLock({ $0.contains(currentThread()) }) { return nil }
        do {
            guard let lock = try FolderLock(StoreFiles.buildLock, inFolder: path, until: .now + limit) else {
                return nil
            }
            return StoreBuild(self, lock)
        } catch {
            try requireInPlace()
            throw Self.explain(error, at: path)
        }
    }

    /// The commit at which the running build of any process reads records, or an earlier build's if it hasn't called
    /// `begin` yet. Nil if no build is running, or if the commit can't be read.
    package func commitBeingBuilt() -> UInt64? { FolderLock.valueOfHeld(StoreFiles.buildLock, inFolder: path) }
}

extension StoreReader {
    /// The mark of a build that is running, was killed or failed: the cache number with which the keys of its nodes
    /// begin. Nil if the store has no mark.
    package func markedBuild() throws -> UInt32? {
        var number: UInt32?
        _ = try view.get(StoreLayout.buildKey, in: tables.meta) { value in
            var reader = try ByteReader(checked: value, "the mark of a build")
            number = try reader.uint32()
        }
        return number
    }
}

extension StoreWriter {
    /// Stores a mark of the running build: the cache number with which the keys of its nodes begin. Nil removes the
    /// mark.
    package func markBuild(_ number: UInt32?) throws {
        let key = StoreLayout.buildKey
        guard let number else {
            try view.delete(key, in: tables.meta)
            return
        }
        var value: [UInt8] = []
        value.appendNumber(number)
        value.appendChecksum()
        try view.put(value, for: key, in: tables.meta)
    }
}
