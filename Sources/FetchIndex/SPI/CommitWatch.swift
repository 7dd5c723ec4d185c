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
        /// The store's files were moved or replaced, and weren't moved back.
        case ended
    }

    private struct Seen {
        var transaction: Int
        var commit: UInt64
    }

    /// The number of successive polls that may find the store's files moved. The next such poll ends the watch, so
    /// files that are moved back within a second don't end it.
    private static let mostMissed = 25

    private let store: Store
    private let seen: Mutex<Seen>
    private let missed = Mutex(0)

    package convenience init(_ container: PersistentContainer) { self.init(container.store) }

    init(_ store: Store) {
        self.store = store
        let newest = try? store.snapshot()
        seen = Mutex(Seen(transaction: newest?.transactionNumber ?? 0, commit: newest?.commit ?? 0))
    }

    /// Returns the number of the newest commit; nil if it was seen before, or if the store can't be read.
    private func poll() -> UInt64? {
        seen.withLock { seen in
            guard let last = try? store.lastTransaction(), last != seen.transaction, let newest = try? store.snapshot()
            else { return nil }
            // A transaction's number is in the file a moment before readers can see the transaction, so the number that
            // was seen is taken from the snapshot.
            seen.transaction = newest.transactionNumber
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

    /// Waits for a new commit. Returns its number; nil if the task is cancelled or the store's files were moved.
    func next() async -> UInt64? {
        while !Task.isCancelled {
            switch look() {
            case .found(let commit): return commit
            case .ended: return nil
            // On Linux, the runtime has the timer of this clock as soon as any task runs. The first sleep of another
            // clock would need one more descriptor, and wouldn't end if the process had none left.
            case .nothing: try? await Task.sleep(for: PersistentContainer.commitInterval, clock: .suspending)
            }
        }
        return nil
    }

    /// Waits like `next`, but on the caller's thread, so that it needs no task and no descriptor of the task runtime.
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
