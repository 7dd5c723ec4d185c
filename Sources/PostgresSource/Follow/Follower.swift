internal import FetchIndex
internal import FetchIndexPlatform

/// Keeps entities of a store in step with tables of one PostgreSQL source. `Followers` follows all sources of a store.
///
/// The follower creates a slot, or uses a given one, for which the source retains its log (WAL). Then it copies the
/// tables, and applies the log's changes, starting at the slot's position. A change that a copied row already includes
/// is applied again, by the row's key, which adds no second row. After the stream has passed the end of the
/// copy, the store equals the source at the end of each further transaction, until rows must be read from the tables
/// again. The position is stored in the transaction that stores the rows, and reported to the source only afterwards.
///
/// A follower that reads the change table has no slot: its positions are snapshots of the source.
package final class Follower {
    // MARK: Configuration, which doesn't change

    /// Receives events, on the follower's thread.
    private let report: (FollowEvent) -> Void
    let isInterrupted: () -> Bool
    let options: FollowOptions
    let container: PersistentContainer
    /// The source's name.
    let name: String
    /// What the store's followers share.
    let group: FollowerGroup

    // MARK: State
    //
    // The state belongs to the thread that calls `run`. Only `connection` may have two users: while a table is copied,
    // a second thread may read the rows with it, and the follower's thread uses it again only after the last row was
    // read (`TableCopy.run`).
    //
    //                 ┌───────── the connection is lost, or changes are lost and copied again ─────────┐
    //                 ▼                                                                                │
    //     run ──▶ starting ── slot or snapshot made or checked, tables copied ──▶ streaming | reading ─┤
    //                                                                                                  ▼
    //                                                              interrupted, caught up, or an error

    /// The current phase of the work.
    enum Phase {
        /// The slot or the snapshot is prepared, and tables are copied. The position doesn't advance.
        case starting
        /// Changes come from the source's log.
        case streaming(StreamSession)
        /// Changes come from the change table. `isPastCopies` tells whether the change table was read after the last
        /// copy, so that the store has every change that the copied rows include.
        case reading(isPastCopies: Bool)

        var isFollowing: Bool { if case .starting = self { false } else { true } }
    }

    /// The description of the source and the position as the store has them.
    struct Stored {
        var source: FollowedSource?
        var position = LogPosition(0)
    }

    var phase = Phase.starting
    /// The description of the source and its tables. It may be newer than the stored description until the next commit.
    var source: FollowedSource
    /// After the next commit, the store has all changes before this position, except in tables that are still to be
    /// copied. This position may be newer than the stored one. Nil until the slot or the snapshot is prepared.
    var position: SourcePosition?
    /// The description and the position that are in the store. A commit writes the description only if it has changed
    /// since. Only this position is reported to the source.
    var stored = Stored()
    /// The connection for commands and copies. A lost connection is replaced.
    var connection: Connection { didSet { connection.isInterrupted = isInterrupted } }
    /// The store's other sources, as of the newest model that this follower has seen.
    var others = OtherSources()
    /// Whether rows were copied whose relationships aren't set yet.
    var hasUnlinkedCopies = false
    /// Whether the tables that the options add, change and drop were added, changed and dropped.
    private var hasChangedTables = false
    /// Whether the copy of all tables that the options ask for has begun.
    private(set) var hasCopiedAgain = false
    /// Values that were stored as others, and aren't told yet.
    let replaced = ReplacedValues()
    /// Received transactions that may not be visible in the source yet; a copy waits for them. The list outlives the
    /// connection, because a copy after a reconnection must wait, too.
    var unseen = UnseenTransactions()
    /// The progress that `info` prints for this process.
    var status: FollowStatus

    /// Opens the store, or creates it, and connects to the source. If the store already follows a source that can't be
    /// reached, waits for the source, unless `endsWhenCurrent` is set. Throws `SourceError`, `StoreError`, and
    /// `Interrupted` if it is interrupted while it waits.
    package convenience init(
        storeAt path: String, _ options: FollowOptions, isInterrupted: @escaping () -> Bool = { false },
        report: @escaping (FollowEvent) -> Void
    ) throws {
        try self.init(storeAt: path, options, in: FollowerGroup(), isInterrupted: isInterrupted, report: report)
    }

    init(
        storeAt path: String, _ options: FollowOptions, in group: FollowerGroup, isInterrupted: @escaping () -> Bool,
        report: @escaping (FollowEvent) -> Void
    ) throws {
        (self.options, self.group, self.isInterrupted, self.report) = (options, group, isInterrupted, report)
        // An existing store is locked before the preparation. Otherwise the preparation could take another process's
        // first attempt for an abandoned one, and drop its entities.
        if PersistentContainer.hasStore(at: path) { try group.lock(path) }
        let preparation = try FollowPreparation(storeAt: path, options, isInterrupted, report)
        container = preparation.container
        source = preparation.source
        name = preparation.source.name
        connection = preparation.connection
        connection.isInterrupted = isInterrupted
        try group.lock(path)
        status = FollowStatus(of: container, options)
        try readStored()
    }

    func tell(_ event: FollowEvent) { report(event) }

    func requireNotInterrupted() throws { if isInterrupted() { throw Interrupted() } }

    // MARK: Work

    /// Copies the tables that aren't copied yet, and follows their changes until it is interrupted or, if
    /// `endsWhenCurrent` is set, until the store has caught up. Connects again after a lost connection.
    package func run() throws {
        var recovery = Recovery(copiesAgain: options.recopies)
        var reason: String?
        defer { status.write(.stopped, self, reason: reason) }
        do {
            while true {
                do {
                    try follow(&recovery)
                    return try requireAllRows()
                } catch let error as SourceError {
                    noteFailedTransaction()
                    try recover(from: error, &recovery)
                }
            }
        } catch is Interrupted {
        } catch {
            noteFailedTransaction()
            reason = "\(error)"
            throw error
        }
    }

    private func follow(_ recovery: inout Recovery) throws {
        try requireNotInterrupted()
        try readStored()
        if !hasChangedTables { try dropTables(copiesAgain: recovery.copiesAgain) }
        if recovery.copiesAgain {
            try prepareAgain()
            hasCopiedAgain = true
        } else {
            try source.way == .stream ? prepareSlot() : prepareChangeTable()
        }
        // Once: later, the tables and their columns may have other names.
        if !hasChangedTables { try changeTables() }
        hasChangedTables = true
        recovery.copiesAgain = false
        try copyTables()
        switch source.way {
        case .stream: try followStream { recovery.pause = Recovery.firstPause }
        case .changeTable: try followChangeTable { recovery.pause = Recovery.firstPause }
        }
    }

    /// Reads the description and the position from the store: after an error, those in memory may be newer.
    private func readStored() throws {
        try readOthers()
        if !group.isShared { group.waiting.removeAll() }
        stored.source = try container.followedSource(named: name, as: FollowedSource.self)
        if let known = stored.source { source = known }
        if options.moves, let address = options.address { source.address = address }
        for index in source.tables.indices {
            let table = source.tables[index]
            guard let rule = options.unstorable[table.entity] ?? options.unstorable[""], rule != table.unstorable else {
                continue
            }
            source.tables[index].unstorable = rule
            // Other rows and values are stored by another rule.
            if table.unstorable != .error || !table.omittedRows.isEmpty { source.tables[index].copy.requireCopy() }
        }
        position = try container.sourcePosition(named: name)
        stored.position = reached ?? LogPosition(0)
        phase = .starting
    }

    /// The position in the source's log; nil if the store has no position yet, or reads the change table.
    var reached: LogPosition? { position.flatMap { LogPosition($0.text) } }
}
