internal import FetchIndex
internal import FetchIndexCLibrary
internal import FetchIndexPlatform

/// Keeps entities of a store in step with tables of a PostgreSQL source.
///
/// First a slot is made; the source keeps its log for the store from then on. Then the tables are copied, and the log is
/// followed from the slot's beginning on. Rows that were copied after a change are written again, by their keys, so that
/// each row exists exactly once. When the log has passed the end of the copy, the store equals the source at each of its
/// positions. The position is stored in the transaction that stores the rows; the source is told only then.
///
/// A source with a change table has no slot: its positions are snapshots.
package final class Follower {
    // MARK: Configuration, which doesn't change

    /// Receives events, on the follower's thread.
    private let report: (FollowEvent) -> Void
    let isInterrupted: () -> Bool
    let options: FollowOptions
    let container: PersistentContainer
    /// The lock that makes this process the store's only follower, so that no other one changes what is stored of the
    /// source. It is held until the follower is released.
    private let lock: FolderLock

    // MARK: State
    //
    // All of it belongs to the thread that calls `run`. Only `connection` has two users: while a table is copied, a second
    // thread reads rows by it, and the follower's thread doesn't use it before the last row was read (`TableCopy.run`).
    //
    //                 ┌───────── the connection is lost, or changes are lost and copied again ─────────┐
    //                 ▼                                                                                │
    //     run ──▶ starting ── slot or snapshot made or checked, tables copied ──▶ streaming | reading ─┤
    //                                                                                                  ▼
    //                                                              interrupted, everything here, or an error

    /// What the follower does now.
    enum Phase {
        /// The slot or the snapshot is prepared, and tables are copied. The position doesn't advance.
        case starting
        /// Changes come from the source's log.
        case streaming(StreamSession)
        /// Changes come from the change table. `isPastCopies` tells that it was read since the last copy, so that the
        /// position is at least as new as the copied rows.
        case reading(isPastCopies: Bool)

        var isFollowing: Bool { if case .starting = self { false } else { true } }
    }

    /// What a commit has stored.
    struct Stored {
        var source: FollowedSource?
        var position = LogPosition(0)
    }

    var phase = Phase.starting
    /// What is followed; it may be ahead of the stored one until the next commit.
    var source: FollowedSource
    /// The position up to which the store has, or needs, no further change; it may be ahead of the stored one.
    var position: SourcePosition?
    /// What the last commit has stored: a commit stores only what differs, and this position is reported to the source.
    var stored = Stored()
    /// The connection for commands and copies. A lost one is replaced.
    var connection: Connection
    /// Rows whose foreign keys name missing rows. Each start of the follower finds them again, if there were any.
    var waiting = WaitingRows()
    /// Transactions that were received and may be invisible in the source; a copy waits for them. They outlive the
    /// connection, because a copy after a reconnection must wait, too.
    var unseen = UnseenTransactions()
    /// What `info` prints of this process.
    var status: FollowStatus

    /// Opens a store, or creates it, and connects. A store that follows already waits for its source, unless the options say
    /// that it only has to catch up. Throws `SourceError`, `StoreError`, and `Interrupted` while it waits.
    package init(
        storeAt path: String, _ options: FollowOptions, isInterrupted: @escaping () -> Bool = { false },
        report: @escaping (FollowEvent) -> Void
    ) throws {
        (self.options, self.isInterrupted, self.report) = (options, isInterrupted, report)
        // The lock comes before the preparation, which would take another process's first attempt for an abandoned one.
        var early = access(path + "/data.mdb", F_OK) == 0 ? try Self.lock(path) : nil
        let preparation = try FollowPreparation(storeAt: path, options, isInterrupted, report)
        container = preparation.container
        source = preparation.source
        connection = preparation.connection
        if let held = early.take() { lock = held } else { lock = try Self.lock(path) }
        status = FollowStatus(of: container)
        try readStored()
    }

    static func lock(_ path: String) throws -> FolderLock {
        guard let lock = try PersistentContainer.lockForFollowing(storeAt: path) else {
            throw SourceError(.refused, "another process follows a source for this store already")
        }
        lock.write(UInt64(getpid()))
        return lock
    }

    func tell(_ event: FollowEvent) { report(event) }

    func requireNotInterrupted() throws { if isInterrupted() { throw Interrupted() } }

    // MARK: Work

    /// Copies tables that aren't copied yet, and follows their changes until it is interrupted or, if the options say so,
    /// has caught up. Lost connections are made again. Throws `SourceError`, `StoreError`.
    package func run() throws {
        var recovery = Recovery(copiesAgain: options.recopies)
        var reason: String?
        defer { status.write(.stopped, self, reason: reason) }
        do {
            while true {
                do { return try follow(&recovery) } catch let error as SourceError {
                    try recover(from: error, &recovery)
                }
            }
        } catch is Interrupted {
        } catch {
            reason = "\(error)"
            throw error
        }
    }

    private func follow(_ recovery: inout Recovery) throws {
        try requireNotInterrupted()
        try readStored()
        if recovery.copiesAgain {
            try prepareAgain()
        } else {
            try source.way == .stream ? prepareSlot() : prepareChangeTable()
        }
        recovery.copiesAgain = false
        try copyTables()
        switch source.way {
        case .stream: try followStream { recovery.pause = Recovery.firstPause }
        case .changeTable: try followChangeTable { recovery.pause = Recovery.firstPause }
        }
    }

    /// Takes over what the store has: after an error, memory may be ahead of it.
    private func readStored() throws {
        stored.source = try container.followedSource(as: FollowedSource.self)
        if let known = stored.source { source = known }
        position = try container.sourcePosition()
        stored.position = reached ?? LogPosition(0)
        (phase, waiting) = (.starting, WaitingRows())
    }

    /// The position in the source's log, if any.
    var reached: LogPosition? { position.flatMap { LogPosition($0.text) } }
}
