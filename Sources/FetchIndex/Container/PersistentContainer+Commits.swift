extension PersistentContainer {
    /// The interval between two polls. A poll that finds no transaction reads shared memory and calls stat a few times.
    static let commitInterval = Duration.milliseconds(40)

    /// The numbers of new commits, of this process and other processes. The store is polled every 40 ms. If several
    /// commits are made between two polls, only the last number is returned. The sequence ends when the task is
    /// cancelled, or about a second after the store's files were moved or replaced.
    public var commits: AsyncStream<UInt64> {
        let watch = CommitWatch(store)
        return AsyncStream { await watch.next() }
    }
}
