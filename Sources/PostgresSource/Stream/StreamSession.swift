/// What a follower knows while it follows the stream of one connection. It belongs to the follower's thread, and is a
/// class so that a row changes the tables in place.
final class StreamSession {
    /// A table as the stream has described it last.
    struct Table {
        let description: StreamedTable
        /// The table's index among the source's tables.
        let index: Int
        var reader: RowReader
    }

    /// Tables that the catalogue has changed. The stream may still describe the change, and its rows may be older, up to
    /// the end of the log when the change was noticed.
    struct PendingChanges {
        let end: LogPosition
        let tables: [Int: FollowedSource.Table]
    }

    let stream: ChangeStream
    /// The position at which following ends, if it is to end when the store has caught up. Pending changes raise it.
    var goal: LogPosition?
    /// When a position was last stored, since one that no transaction stores is stored now and then.
    var lastStored = ContinuousClock.now
    /// When the catalogue was last checked, which is done now and then.
    var lastChecked = ContinuousClock.now
    /// The tables that the stream has described, by number: rows name them by it.
    var tables: [UInt32: Table] = [:]
    /// The numbers of tables that a given publication has and the store doesn't follow; their rows are left out.
    var ignored: Set<UInt32> = []
    /// The version of the model that the tables' readers were made for; another one makes them anew.
    var modelVersion: UInt32 = 0
    /// Changes of tables that the stream hasn't described yet: it does so with the table's next row, which may never come.
    var pending: PendingChanges?

    init(_ stream: ChangeStream, goal: LogPosition?) { (self.stream, self.goal) = (stream, goal) }

    /// Notes the position that was stored, so that the source may discard its log before it.
    func noteStored(_ position: LogPosition) {
        lastStored = .now
        stream.noteStored(position)
    }
}
