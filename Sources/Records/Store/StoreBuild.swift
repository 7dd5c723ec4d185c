internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexLMDB
internal import Synchronization

/// The build of a cache in several transactions. Only one build runs at a time in all processes.
///
/// The store marks the number of the build's nodes, so that the nodes of a killed build are not mistaken for damage,
/// and the next build deletes them.
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

    /// Publishes the commit that the build starts from: the log is kept from there on while this object lives.
    package func begin(at commit: UInt64) { lock.write(commit) }
}

extension Store {
    /// Begins a build after the one of another thread or process has ended. Returns nil if that takes longer than the
    /// limit, or if this thread is building already and would wait for itself.
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

    /// The commit that the running build started from, in this process or another; nil if no build runs.
    package func commitBeingBuilt() -> UInt64? { FolderLock.valueOfHeld(StoreFiles.buildLock, inFolder: path) }
}

extension StoreReader {
    /// The number of the nodes of a build that is running or was killed; nil if no build is marked.
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
    /// Marks the number of a build's nodes; nil removes the mark.
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
