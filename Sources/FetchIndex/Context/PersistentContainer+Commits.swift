internal import Records

extension PersistentContainer {
    /// How long a commit may stay unnoticed. Asking costs a look at shared memory.
    static let commitInterval = Duration.milliseconds(40)

    /// The numbers of new commits as they arrive, from this process and from others; where several arrive at once, the
    /// last. Within 40 ms of a commit, at 25 looks at shared memory a second. Ends when the task is cancelled.
    public var commits: AsyncStream<UInt64> {
        let watch = CommitWatch(store)
        return AsyncStream { await watch.next() }
    }
}

/// Looks for new commits. One task uses it.
private final class CommitWatch: @unchecked Sendable {
    private let store: Store
    private var transaction: Int
    private var commit: UInt64

    init(_ store: Store) {
        self.store = store
        transaction = (try? store.lastTransaction()) ?? 0
        commit = (try? store.snapshot().commit) ?? 0
    }

    func next() async -> UInt64? {
        while !Task.isCancelled {
            // A transaction that only writes caches is no commit.
            if let last = try? store.lastTransaction(), last != transaction {
                transaction = last
                if let newest = try? store.snapshot().commit, newest != commit {
                    commit = newest
                    return newest
                }
            }
            try? await Task.sleep(for: PersistentContainer.commitInterval)
        }
        return nil
    }
}
