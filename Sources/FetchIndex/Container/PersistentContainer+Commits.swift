internal import FetchIndexModels
internal import FetchIndexLMDB
internal import FetchIndexRecords
internal import FetchIndexCLibrary
internal import Synchronization

extension PersistentContainer {
    /// The interval between two polls. A poll reads shared memory and calls stat twice.
    static let commitInterval = Duration.milliseconds(40)

    /// The numbers of new commits, from this process and others, as they are made. If several commits are made between
    /// two polls, only the last number is returned. The store is polled every 40 ms. The sequence ends when the task is
    /// cancelled, and a second after the store's files were moved or replaced.
    public var commits: AsyncStream<UInt64> {
        let watch = CommitWatch(store)
        return AsyncStream { await watch.next() }
    }
}

/// Finds new commits by polling a store.
package final class CommitWatch: Sendable {
    private enum Look {
        case found(UInt64)
        case nothing
        /// The store's files were moved, and haven't returned.
        case ended
    }

    private struct Seen {
        var transaction: Int
        var commit: UInt64
    }

    /// The number of consecutive polls that may find the store's files moved before the watch ends, because the files
    /// may return.
    private static let mostMissed = 25

    private let store: Store
    private let seen: Mutex<Seen>
    private let missed = Mutex(0)

    package convenience init(_ container: PersistentContainer) { self.init(container.store) }

    init(_ store: Store) {
        self.store = store
        let newest = try? store.snapshot()
        seen = Mutex(Seen(transaction: newest?.view.identifier ?? 0, commit: newest?.commit ?? 0))
    }

    /// The number of the newest commit, if it wasn't returned before.
    private func poll() -> UInt64? {
        seen.withLock { seen in
            guard let last = try? store.lastTransaction(), last != seen.transaction, let newest = try? store.snapshot()
            else { return nil }
            // The file shows a transaction a moment before readers can see it, so the snapshot's transaction is
            // remembered, not the file's.
            seen.transaction = newest.view.identifier
            // A transaction that only writes caches doesn't make a commit.
            if newest.commit == seen.commit { return nil }
            seen.commit = newest.commit
            return newest.commit
        }
    }

    private func look() -> Look {
        if let newest = poll() { return .found(newest) }
        let missed = missed.withLock { missed in
            do {
                try store.requireInPlace()
                missed = 0
            } catch {
                if case StoreError.moved = error { missed += 1 }
            }
            return missed
        }
        return missed > Self.mostMissed ? .ended : .nothing
    }

    /// Waits for the next commit. Returns nil if the task is cancelled, or if the store's files were moved.
    func next() async -> UInt64? {
        while !Task.isCancelled {
            switch look() {
            case .found(let commit): return commit
            case .ended: return nil
            // The suspending clock's timer exists as soon as any task runs. Another clock needs a file descriptor for
            // its first sleep, and without a free descriptor that sleep doesn't end.
            case .nothing: try? await Task.sleep(for: PersistentContainer.commitInterval, clock: .suspending)
            }
        }
        return nil
    }

    /// Waits for the next commit on the caller's thread. Unlike `next`, it needs neither a task nor file descriptors.
    /// Returns nil if the store's files were moved.
    package func wait() -> UInt64? {
        while true {
            switch look() {
            case .found(let commit): return commit
            case .ended: return nil
            case .nothing: usleep(UInt32(PersistentContainer.commitInterval / .microseconds(1)))
            }
        }
    }
}
