internal import FetchIndexLMDB
internal import FetchIndexRecords
internal import FetchIndexCLibrary
internal import Synchronization

/// Polls a store for new commits.
///
/// For `watch`, which waits on its own thread. Users have ``PersistentContainer/commits``.
package final class CommitWatch: Sendable {
    private enum Look {
        case found(UInt64)
        case nothing
        /// The store was moved, and hasn't come back.
        case ended
    }

    private struct Seen {
        var transaction: Int
        var commit: UInt64
    }

    /// The number of polls that may find the store moved before the watch ends: the store may come back.
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

    /// The newest commit, if it is new.
    private func poll() -> UInt64? {
        seen.withLock { seen in
            guard let last = try? store.lastTransaction(), last != seen.transaction, let newest = try? store.snapshot()
            else { return nil }
            // A writer shows its transaction in the file a moment before readers can see it, so the number is taken
            // from the snapshot.
            seen.transaction = newest.view.identifier
            // A transaction that only writes caches isn't a commit.
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

    /// Returns nil if the task is cancelled or the store was moved.
    func next() async -> UInt64? {
        while !Task.isCancelled {
            switch look() {
            case .found(let commit): return commit
            case .ended: return nil
            // This clock's timer exists in the runtime as soon as any task runs. Another clock needs one more
            // descriptor at its first sleep, which never ends if the process has none left.
            case .nothing: try? await Task.sleep(for: PersistentContainer.commitInterval, clock: .suspending)
            }
        }
        return nil
    }

    /// Waits like `next`, but on the caller's thread, without the runtime of tasks and its descriptors.
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
