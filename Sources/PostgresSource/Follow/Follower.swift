internal import FetchIndex
internal import FetchIndexCLibrary
internal import FetchIndexPlatform
internal import FetchIndexModels

/// Keeps entities of a store in step with tables of a PostgreSQL source.
///
/// First a slot is made, from which on the source keeps its log for this store. Then the tables are copied, and the log is followed
/// from the slot's beginning on: rows that were copied later than a change are written again, by their keys, so that
/// nothing is missing and nothing is there twice. When the log has passed the end of the copy, the store equals the source at each
/// of its positions. The position is stored in the transaction that stores the rows, and the source is told of it only then.
package final class Follower {
    /// Tells of what happens. Called on the follower's thread.
    private let report: (FollowEvent) -> Void
    let isInterrupted: () -> Bool
    let options: FollowOptions
    let container: PersistentContainer
    private let lock: FolderLock
    var source: FollowedSource
    /// As the store has it. Only the process that has the lock changes it.
    private var storedSource: FollowedSource?
    /// Up to where the stream is in the store; what is not stored yet of it has nothing for the store.
    var position: SourcePosition?
    private(set) var storedPosition = LogPosition(0)
    /// For commands.
    var connection: Connection
    /// The tables of the stream by their numbers.
    var streamed: [UInt32: FollowedTable] = [:]
    /// The numbers of tables that a publication of others has too.
    var others: Set<UInt32> = []
    /// The last transactions that came, which others may not see in the source yet.
    var lastTransactions: Set<UInt32> = []
    /// Whether those are past that came to an earlier process.
    var hasWaitedForOpen = false
    /// The model that they were made for.
    var modelVersion: UInt32 = 0
    /// While the stream is followed.
    var waiting = WaitingRows()
    /// Tables that are others than those that are followed, and what the stream has not told of.
    var pending: PendingChanges?
    /// Whether a table that changed is to be copied again.
    var copyIsDue = false
    var status: FollowStatus
    var isStreaming = false
    /// Whether the change table was read since the last copy.
    var hasReadChanges = false

    private static let pollMilliseconds: Int32 = 200
    /// How often a position that no transaction stores is stored.
    private static let idleInterval = Duration.seconds(10)
    private static let longestPause = 5.0

    /// Opens a store, or makes one, and the connection. Throws `SourceError`, `StoreError`.
    package init(
        storeAt path: String, _ options: FollowOptions, isInterrupted: @escaping () -> Bool = { false },
        report: @escaping (FollowEvent) -> Void
    ) throws {
        (self.options, self.isInterrupted, self.report) = (options, isInterrupted, report)
        // Before another one's first attempt is taken for one that was given up.
        var early = access(path + "/data.mdb", F_OK) == 0 ? try Self.lock(path) : nil
        let preparation = try FollowPreparation(storeAt: path, options, report)
        container = preparation.container
        source = preparation.source
        connection = preparation.connection
        if let held = early.take() { lock = held } else { lock = try Self.lock(path) }
        status = FollowStatus(of: container)
        try readStored()
    }

    /// Takes what the store has: after an error, memory may be ahead of it.
    private func readStored() throws {
        // Only the process that has the lock changes them.
        storedSource = try container.followedSource(as: FollowedSource.self)
        if let storedSource { source = storedSource }
        position = try container.sourcePosition()
        storedPosition = position.flatMap { LogPosition($0.text) } ?? LogPosition(0)
        (streamed, others, copyIsDue, pending, waiting) = ([:], [], false, nil, WaitingRows())
    }

    static func lock(_ path: String) throws -> FolderLock {
        guard let lock = try PersistentContainer.lockForFollowing(storeAt: path) else {
            throw SourceError(.refused, "another process follows a source for this store already")
        }
        lock.write(UInt64(getpid()))
        return lock
    }

    func tell(_ event: FollowEvent) { report(event) }

    // MARK: Work

    /// Copies what is not copied yet, and follows the stream until it is interrupted, or everything is here where that is wanted.
    /// Lost connections are made again. Throws `SourceError`, `StoreError`.
    package func run() throws {
        var pause = 1.0
        var copiesAgain = options.recopies
        var wasLost = false
        var reason: String?
        defer { status.write(.stopped, self, reason: reason) }
        while true {
            do {
                try requireNotInterrupted()
                try readStored()
                try prepare(copiesAgain)
                copiesAgain = false
                try copyTables()
                let isConnected = { pause = 1.0 }
                return try source.way == .stream ? follow(isConnected) : followChangeTable(isConnected)
            } catch is Interrupted {
                return
            } catch let error as SourceError
                where error.kind == .lost && options.recopiesWhenLost && !copiesAgain
                && (!wasLost || source.isConsistent)
            {
                wasLost = true
                report(.warning(error.description))
                report(.warning("all tables are copied again, as --recopy-when-lost says"))
                copiesAgain = true
            } catch let error as SourceError where error.kind == .connection || error.code == "55006" {
                // 55006: the server has not noticed yet that the last connection is gone.
                report(.warning("\(error); trying again in \(Int(pause)) s"))
                status.write(.disconnected, self, reason: error.description)
                try reconnect(&pause, copiesAgain)
            } catch {
                reason = "\(error)"
                throw error
            }
        }
    }

    private func prepare(_ copiesAgain: Bool) throws {
        if copiesAgain { return try prepareAgain() }
        try source.way == .stream ? prepareSlot() : prepareChangeTable()
    }

    func requireNotInterrupted() throws { if isInterrupted() { throw Interrupted() } }

    private func wait(seconds: Double) throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            try requireNotInterrupted()
            usleep(50_000)
        }
    }

    private func reconnect(_ pause: inout Double, _ copiesAgain: Bool) throws {
        while true {
            do { try wait(seconds: pause) } catch is Interrupted { return }
            pause = min(2 * pause, Self.longestPause)
            do {
                connection = try Connection(source.address)
                // An address of several servers may lead to another one.
                let server = copiesAgain ? nil : source.systemIdentifier
                try FollowPreparation.checkServer(connection, source.address, source.way, is: server)
                return
            } catch let error as SourceError where error.kind == .connection {
                report(.warning("\(error); trying again in \(Int(pause)) s"))
            }
        }
    }

    private func follow(_ isConnected: () -> Void) throws {
        let replication = try Connection(source.address, isReplication: true)
        try checkTimeline(replication)
        let stream = ChangeStream(
            replication, from: storedPosition, folder: container.path, groupLength: options.groupLength)
        try stream.begin(slot: source.slot, publication: source.publication)
        var goal = options.endsWhenCurrent ? try endOfLog() : nil
        var (lastStored, lastChecked) = (ContinuousClock.now, ContinuousClock.now)
        isConnected()
        try beginStreaming()
        defer { isStreaming = false }
        func reach(_ reached: LogPosition) throws {
            try note(reached)
            // A server that ends waits for it.
            let isIdle = stream.isReplyWanted || ContinuousClock.now - lastStored > Self.idleInterval
            if reached > storedPosition, isIdle || goal.map({ reached >= $0 }) ?? false {
                try storePosition()
                lastStored = .now
                stream.noteStored(storedPosition)
            }
        }
        while true {
            try requireNotInterrupted()
            status.write(.streaming, self)
            if ContinuousClock.now - lastChecked > Self.idleInterval {
                try checkSource()
                lastChecked = .now
            }
            try adoptPending()
            let event = try stream.next(milliseconds: goal == nil ? Self.pollMilliseconds : 20)
            defer { status.sent = stream.sent }
            switch event {
            case .transaction(let transaction):
                let transactions = try stream.transactions(after: transaction)
                // None that is stored already, nor those that have nothing for this store: older servers send these.
                let new = transactions.filter { $0.next > storedPosition && $0.messages.count > 0 }
                if new.isEmpty {
                    if let last = transactions.last { try reach(last.next) }
                } else {
                    try apply(new)
                    lastStored = .now
                    stream.noteStored(storedPosition)
                }
            case .reached(let reached): try reach(reached)
            case nil: break
            }
            try copyWhatIsDue()
            if let end = goal {
                if storedPosition >= end && source.isConsistent {
                    try checkSource()
                    guard let pending else { return try stream.report() }
                    goal = max(end, pending.end)
                }
                if event == nil { try stream.report(wantsReply: true) }
            } else if event == nil, source.consistentFrom != nil {
                try stream.report(wantsReply: true)
            }
        }
    }

    func beginStreaming() throws {
        (isStreaming, hasReadChanges) = (true, false)
        // Nothing has happened in the source since the slot was made.
        if hasReachedEndOfCopy { try storePosition() } else if source.hasWaitingRows { try findWaitingRows() }
    }

    /// Takes a position up to where the source has nothing for this store.
    private func note(_ reached: LogPosition) throws {
        guard let text = position?.text, let known = LogPosition(text), reached > known else { return }
        position?.text = reached.description
        if hasReachedEndOfCopy { try storePosition() }
    }

    /// Whether the rows that were copied are of no later time than what is streamed.
    private var hasReachedEndOfCopy: Bool {
        if source.way == .changeTable { return isStreaming && hasReadChanges }
        guard let end = source.consistentFrom.flatMap({ LogPosition($0) }), let text = position?.text,
            let reached = LogPosition(text)
        else { return false }
        return isStreaming && reached >= end
    }

    /// Stores the position without a transaction of the source.
    func storePosition() throws {
        try commit(KeyedRowWriter(in: container, author: "postgres", changesRecords: false, waiting: waiting))
    }

    func storeDescription() throws { if storedSource != source { try storePosition() } }

    private func findWaitingRows() throws {
        let writer = try KeyedRowWriter(in: container, author: "postgres", waiting: waiting)
        try linkAll(writer)
        try commit(writer)
    }

    private func linkAll(_ writer: KeyedRowWriter) throws {
        for table in source.tables where !table.references.isEmpty {
            try writer.linkAll(reader(of: table, in: writer.model).table)
        }
    }

    /// The end of the source's log, with a mark behind it that makes the server write it out.
    func endOfLog() throws -> LogPosition {
        let text = try connection.value("SELECT pg_catalog.pg_current_wal_insert_lsn()")
        guard let end = text.flatMap({ LogPosition($0) }) else {
            throw SourceError(.refused, "the source does not tell the end of its log")
        }
        // Without the right to do so, the next change of anything does.
        _ = try? connection.execute("SELECT pg_catalog.pg_logical_emit_message(false, 'fetchindex', '')")
        return end
    }

    /// Commits rows with the position, and the caches that are kept with them. Tells `done` of it before all others.
    func commit(_ writer: KeyedRowWriter, then done: () -> Void = {}) throws {
        var becameConsistent = false
        if hasReachedEndOfCopy && !source.isConsistent && source.tables.allSatisfy(\.isCopied) {
            try linkAll(writer)
            source.consistentFrom = nil
            becameConsistent = true
        }
        if isStreaming { source.hasWaitingRows = !waiting.isEmpty }
        if storedSource != source { try writer.setFollowedSource(source) }
        if let position { try writer.setSourcePosition(position) }
        try writer.commit(keeping: options.caches)
        storedSource = source
        storedPosition = position.flatMap { LogPosition($0.text) } ?? LogPosition(0)
        done()
        if becameConsistent, let end = position?.text { report(.consistent(end)) }
    }
}
