package import FetchIndex

/// The tables to follow, and the way to do it.
package struct FollowOptions: Sendable {
    /// The source's address, a URI or a list of libpq's parameters; if nil, the stored one.
    package var address: String?
    /// The tables; if empty, the stored ones.
    package var tables: [TableChoice] = []
    /// Whether changes are read from the change table.
    package var usesChangeTable = false
    /// The name of a slot in the source; if nil, one is made.
    package var slot: String?
    /// The name of a publication in the source; if nil, one is made.
    package var publication: String?
    /// The caches to catch up in each transaction.
    package var caches: [String] = []
    /// Whether following ends when the store has what the source had at the beginning.
    package var endsWhenCurrent = false
    /// Whether all tables are copied again.
    package var recopies = false
    /// Whether all tables are copied again when the source no longer has changes that the store lacks.
    package var recopiesWhenLost = false
    /// The number of threads that copy a table.
    package var threads = 2
    /// Rows per transaction of a copy, which tests make small.
    package var rangeLength = TableCopy.rangeLength
    /// The maximum number of messages in a group of transactions; a single transaction may have more.
    package var groupLength = ChangeStream.groupLength

    package init() {}
}

/// An event of a follower.
package enum FollowEvent: Sendable {
    case connected(String)
    /// A slot is being made; the source waits for its open transactions.
    case makingSlot(String)
    case copying(table: String, rows: Int)
    case copied(table: String, BatchWriter.Counts, seconds: Double)
    /// The store equals the source at a position, and from now on at each further one.
    case consistent(String)
    /// Changes up to a position are committed; `lag` is the time since the source's commit, in seconds.
    case transaction(String, BatchWriter.Counts, lag: Double)
    case warning(String)
}
