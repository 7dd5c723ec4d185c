extension PersistentContainer {
    /// The pause between two polls. A poll costs a read of shared memory and two calls of stat.
    static let commitInterval = Duration.milliseconds(40)

    /// The numbers of new commits as they arrive, from this process and others. If several commits arrive at once, only
    /// the last number is sent. A number arrives within 40 ms, at 25 polls per second. Ends when the task is cancelled,
    /// and a second after the store's files were moved or replaced.
    public var commits: AsyncStream<UInt64> {
        let watch = CommitWatch(store)
        return AsyncStream { await watch.next() }
    }
}
