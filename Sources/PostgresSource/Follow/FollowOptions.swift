package import FetchIndex

/// What is to be followed, and how.
package struct FollowOptions: Sendable {
    /// A URI or a list of parameters, as libpq has them. Nil: that of the last time.
    package var address: String?
    /// None: those of the last time.
    package var tables: [TableChoice] = []
    /// Whether changes are read from the change table.
    package var usesChangeTable = false
    /// A slot of the source's; nil: one is made.
    package var slot: String?
    package var publication: String?
    /// Caches that are brought up to date with each transaction.
    package var caches: [String] = []
    /// Whether to end when the store has caught up with what the source had at the beginning.
    package var endsWhenCurrent = false
    /// Whether all tables are copied again.
    package var recopies = false
    /// Whether that is done where the slot is lost.
    package var recopiesWhenLost = false
    package var threads = 2
    /// Rows of a transaction of the copy; tests make it small.
    package var rangeLength = TableCopy.rangeLength
    /// Rows of transactions that are written together, but for a longer one.
    package var groupLength = ChangeStream.groupLength

    package init() {}
}

/// What a follower has to tell.
package enum FollowEvent: Sendable {
    case connected(String)
    /// The source waits for the transactions that are open in it.
    case makingSlot(String)
    case copying(table: String, rows: Int)
    case copied(table: String, BatchWriter.Counts, seconds: Double)
    /// The store equals the source at a position.
    case consistent(String)
    case transaction(String, BatchWriter.Counts, lag: Double)
    case warning(String)
}
