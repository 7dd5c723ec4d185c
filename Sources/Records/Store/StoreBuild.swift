internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexLMDB
internal import Synchronization

/// A cache's build that is written in several transactions: one at a time in all processes.
///
/// The number of its nodes is marked in the store, so that the leftovers of a killed build are not mistaken for damage, and
/// the next build deletes them.
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

    /// Says which commit is built from: the log is kept from there on, as long as this lives.
    package func begin(at commit: UInt64) { lock.write(commit) }
}

extension Store {
    /// Waits for the build of another thread or process. Nil when that takes longer than a limit, or when this thread is
    /// building already and would wait for itself.
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

    /// The commit that a build goes on from, in this process or another.
    package func commitBeingBuilt() -> UInt64? { FolderLock.valueOfHeld(StoreFiles.buildLock, inFolder: path) }
}

extension StoreReader {
    /// The number of the nodes of a build that goes on or was killed.
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
