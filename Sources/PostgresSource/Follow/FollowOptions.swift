package import FetchIndex

/// The tables to follow, and the way to do it.
package struct FollowOptions: Sendable {
    /// The name of the source that the options are for; if nil, the store's only source.
    package var name: String?
    /// The source's address, a URI or a list of libpq's parameters; if nil, the stored one.
    package var address: String?
    /// Whether the store's source has moved to the given address. Otherwise, another address than the stored one is refused.
    package var moves = false
    /// The tables; if empty, the stored ones. Those that a store doesn't follow yet are added; of the others, the condition
    /// and the columns may change.
    package var tables: [TableChoice] = []
    /// The names of tables that the store ceases to follow.
    package var droppedTables: [String] = []
    /// The rules for values that the store's types don't have, by entity; of the entity "", for all tables. Tables that are
    /// left out keep their rule.
    package var unstorable: [String: UnstorableRule] = [:]
    /// Whether changes must be read from the change table. If this is false, the stored way is used, or a slot.
    package var usesChangeTable = false
    /// The name of the slot, which is created if missing. If nil, the follower creates a slot of its own, or uses the
    /// stored one.
    package var slot: String?
    /// The name of an existing publication. If nil, the follower creates its own, or uses the stored one.
    package var publication: String?
    /// The caches to catch up in each transaction.
    package var caches: [String] = []
    /// Whether following ends when the store has everything that the source had when the follower connected.
    package var endsWhenCurrent = false
    /// Whether all tables are copied again.
    package var recopies = false
    /// Whether all tables are copied again if changes may be lost.
    package var recopiesWhenLost = false
    /// If this is 1, a single thread copies a table; otherwise a second thread may read the rows.
    package var threads = 2
    /// The maximum number of rows in a range of a copy. Tests set a small number.
    package var rangeLength = TableCopy.rangeLength
    /// After this many seconds in which the source has sent nothing of its log, although there is more, that is told.
    package var stallSeconds = 30.0
    /// After this many seconds, a source that can't be followed is tried again, while the store follows others.
    package var retrySeconds = 60.0
    /// A group of transactions takes no further one once it has this many messages.
    package var groupLength = ChangeStream.groupLength

    package init() {}
}

/// An event of a follower.
package enum FollowEvent: Sendable {
    case connected(String)
    /// A slot is being created: the source waits until its open writing transactions have ended.
    case makingSlot(String)
    case copying(table: String, rows: Int)
    case copied(table: String, BatchWriter.Counts, seconds: Double)
    /// The store equals the source at a position, and after each further transaction until rows must be read from the
    /// tables again.
    case consistent(String)
    /// Changes up to a position are committed. `lag` is the number of seconds since the source committed them; for a
    /// change table, since the first of their transactions began.
    case transaction(String, BatchWriter.Counts, lag: Double)
    case warning(String)
    /// The source can't be followed now. The store's other sources are followed on.
    case failed(any Error)
}
