internal import FetchIndexValues

/// The state of a follower while it follows the stream of one connection. It belongs to the follower's thread, and is a
/// class so that `tables` are changed in place.
final class StreamSession {
    /// A table as the stream has described it last.
    struct Table {
        let description: StreamedTable
        /// The table's index among the source's tables.
        let index: Int
        var reader: RowReader
    }

    /// Tables that have changed in the catalogue. Up to `end`, the end of the log when the change was noticed, the
    /// stream may still describe the change and send older rows.
    struct PendingChanges {
        let end: LogPosition
        let tables: [Int: FollowedSource.Table]
    }

    let stream: ChangeStream
    /// The position at which following ends; nil if it doesn't end. Pending changes raise it.
    var goal: LogPosition?
    /// When a position was last stored.
    var lastStored = ContinuousClock.now
    /// When `followStream` last made its regular check of the catalogue.
    var lastChecked = ContinuousClock.now
    /// The tables that the stream has described, by the numbers with which rows name them.
    var tables: [UInt32: Table] = [:]
    /// The names, by number, of described tables that the store doesn't follow. A given publication may send their rows,
    /// which are ignored.
    var others: [UInt32: String] = [:]
    /// The tables and keys of rows that the current transaction sent only in part and that weren't written. These rows
    /// are read from the source.
    var incomplete: [(table: UInt32, key: [String])] = []
    /// The number of the transaction that is being applied.
    var transaction: UInt32 = 0
    /// The version of the model for which the tables' readers were made. If the model has another version, the readers
    /// are made again.
    var modelVersion: UInt32 = 0
    /// Changes of tables that the stream hasn't described yet. It describes a change only before its next message
    /// about the table, which may never come.
    var pending: PendingChanges?

    init(_ stream: ChangeStream, goal: LogPosition?) { (self.stream, self.goal) = (stream, goal) }

    /// Notes a stored position, so that the source may discard its log before it.
    func noteStored(_ position: LogPosition) {
        lastStored = .now
        stream.noteStored(position)
    }
}
