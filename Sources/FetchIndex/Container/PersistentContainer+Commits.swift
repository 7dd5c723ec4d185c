internal import Models
internal import LMDB
internal import Records
internal import Synchronization

extension PersistentContainer {
    /// The pause between two polls. A poll costs a read of shared memory and two calls of stat.
    static let commitInterval = Duration.milliseconds(40)

    /// The numbers of new commits as they arrive, from this process and from others; of several at once, the last. A number
    /// arrives within 40 ms, at 25 polls per second. Ends when the task is cancelled, and a second after the store's files were
    /// moved or replaced.
    public var commits: AsyncStream<UInt64> {
        let watch = CommitWatch(store)
        return AsyncStream { await watch.next() }
    }
}

/// Looks for new commits.
private final class CommitWatch: Sendable {
    private struct Seen {
        var transaction: Int
        var commit: UInt64
    }

    /// The number of looks at a moved store before the end: it may come back.
    private static let mostMissed = 25

    private let store: Store
    private let seen: Mutex<Seen>

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
            // A writer shows its transaction in the file a moment before readers can see it.
            seen.transaction = newest.view.identifier
            // A transaction that only writes caches is no commit.
            if newest.commit == seen.commit { return nil }
            seen.commit = newest.commit
            return newest.commit
        }
    }

    /// Nil when the task is cancelled, or the store was moved.
    func next() async -> UInt64? {
        var missed = 0
        while !Task.isCancelled, missed <= Self.mostMissed {
            if let newest = poll() { return newest }
            do {
                try store.requireInPlace()
                missed = 0
            } catch {
                if case StoreError.moved = error { missed += 1 }
            }
            try? await Task.sleep(for: PersistentContainer.commitInterval)
        }
        return nil
    }
}
