internal import Records
internal import Synchronization

extension PersistentContainer {
    /// How long a commit may stay unnoticed. Asking costs a look at shared memory.
    static let commitInterval = Duration.milliseconds(40)

    /// The numbers of new commits as they arrive, from this process and from others; where several arrive at once, the
    /// last. Within 40 ms of a commit, at 25 looks at shared memory a second. Ends when the task is cancelled, and when the
    /// store's files are moved or replaced.
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

    private let store: Store
    private let seen: Mutex<Seen>

    init(_ store: Store) {
        self.store = store
        seen = Mutex(
            Seen(transaction: (try? store.lastTransaction()) ?? 0, commit: (try? store.snapshot().commit) ?? 0))
    }

    /// The newest commit, if it is new.
    private func look() -> UInt64? {
        seen.withLock { seen in
            // A transaction that only writes caches is no commit.
            guard let last = try? store.lastTransaction(), last != seen.transaction,
                let newest = try? store.snapshot().commit
            else { return nil }
            seen.transaction = last
            if newest == seen.commit { return nil }
            seen.commit = newest
            return newest
        }
    }

    func next() async -> UInt64? {
        while !Task.isCancelled, (try? store.requireInPlace()) != nil {
            if let newest = look() { return newest }
            try? await Task.sleep(for: PersistentContainer.commitInterval)
        }
        return nil
    }
}
