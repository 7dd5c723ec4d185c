internal import FetchIndex
internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import Synchronization

/// What the followers of a store share. Each of them has a thread of its own.
final class FollowerGroup: Sendable {
    /// The lock that makes these the store's only followers, and keeps `end` from succeeding; nil until it is taken. It is
    /// held until the group is released.
    private let lock = Mutex<FolderLock?>(nil)
    /// Rows whose foreign keys name missing rows. The list isn't stored: after a start or an error, the rows are found
    /// again if the store says that there were any. Used by the follower that has the store's writer.
    let waiting = WaitingRows()
    /// Held from reading the model to storing a changed one.
    private let modelChange = Mutex(())
    /// Whether rows may be missing in `waiting`, because a transaction that took them out failed.
    private let isFindingDue = Atomic(false)
    /// The number of followers that wait for the store's writer.
    private let waitingWriters = Atomic(0)
    /// The number of descriptions that followers have stored.
    private let descriptions = Atomic(0)
    /// Whether there are several followers.
    let isShared: Bool

    init(isShared: Bool = false) { self.isShared = isShared }

    /// Takes the lock, unless the group has it already. Throws `SourceError` if another process has it.
    func lock(_ path: String) throws {
        try lock.withLock { lock in
            if lock != nil { return }
            guard let taken = try PersistentContainer.lockForFollowing(storeAt: path) else {
                throw SourceError(.refused, "another process follows a source for this store, or ends following")
            }
            taken.write(UInt64(getpid()))
            lock = consume taken
        }
    }

    func changingModel<Result>(_ body: () throws -> Result) throws -> Result {
        try modelChange.withLock { _ in try body() }
    }

    // MARK: Writers

    /// Begins a transaction of the store.
    func writer(
        in container: PersistentContainer, author: String, changesRecords: Bool
    ) throws -> KeyedRowWriter {
        waitingWriters.add(1, ordering: .relaxed)
        defer { waitingWriters.subtract(1, ordering: .relaxed) }
        return try KeyedRowWriter(in: container, author: author, changesRecords: changesRecords, waiting: waiting)
    }

    /// Lets other followers write, between the transactions of one that has much to write: the store's lock isn't fair.
    func yieldWriter() {
        for _ in 0..<100 where waitingWriters.load(ordering: .relaxed) > 0 { usleep(1000) }
    }

    /// Changes when a follower stores the description of its source.
    var generation: Int { descriptions.load(ordering: .acquiring) }

    /// Notes that a description is being stored. Called by the follower that has the store's writer.
    func noteDescription() { descriptions.add(1, ordering: .releasing) }

    // MARK: Waiting rows

    func noteLostWaitingRows() { isFindingDue.store(true, ordering: .relaxed) }

    /// Whether the waiting rows must be found again. Returns true once.
    func takeFinding() -> Bool { isFindingDue.exchange(false, ordering: .relaxed) }
}
