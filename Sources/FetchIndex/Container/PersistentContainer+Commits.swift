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
