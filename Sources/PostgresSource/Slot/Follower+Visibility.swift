internal import FetchIndexCLibrary

// Waiting for transactions of the source that its snapshots don't show yet.
extension Follower {
    /// Waits until snapshots of the source show all received transactions. Throws a connection error after `longest`, a
    /// limit for callers that hold the store's write lock.
    func waitUntilVisible(atMost longest: Duration? = nil) throws {
        let end = longest.map { ContinuousClock.now + $0 }
        while true {
            try forgetVisible()
            if unseen.numbers.isEmpty { return }
            try requireNotInterrupted()
            if let end, ContinuousClock.now >= end {
                throw SourceError(
                    .connection, "a transaction of the source may still wait for a standby; its rows cannot be read yet"
                )
            }
            usleep(20_000)
        }
    }

    func forgetVisible() throws {
        if unseen.numbers.isEmpty { return }
        let snapshot = try connection.execute(
            """
            SELECT pg_catalog.pg_snapshot_xmax(s), (SELECT pg_catalog.string_agg(x::text, ' ') FROM pg_catalog.pg_snapshot_xip(s) x)
            FROM pg_catalog.pg_current_snapshot() s
            """, columns: 2
        ).first
        func number(_ text: some StringProtocol) -> UInt32? { UInt64(text).map { UInt32(truncatingIfNeeded: $0) } }
        guard let end = snapshot?[0].flatMap({ number($0) }) else { return }
        let open = Set((snapshot?[1] ?? "").split(separator: " ").compactMap { number($0) })
        unseen.removeVisible(before: end, open: open)
    }

    /// Before the follower's first copy, waits until the transactions that an earlier process may have received are
    /// visible.
    func waitForEarlierTransactions() throws {
        guard unseen.includesEarlier else { return }
        try waitForOpenTransactions()
        unseen.includesEarlier = false
    }

    /// Waits until all writing transactions that are open now have ended. A transaction that waits for a standby may be
    /// in the log before a slot's position: the stream doesn't send its rows, and a copy doesn't see them until the
    /// wait ends.
    func waitForOpenTransactions() throws {
        let end = try connection.value("SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())")
        while try connection.value(
            "SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot()) >= $1::pg_catalog.xid8", [end]) == "f"
        {
            try requireNotInterrupted()
            usleep(50_000)
        }
    }

    /// Returns the current end of the source's log. Emits a message after it, so that the server soon flushes and sends
    /// the log up to this end.
    func endOfLog() throws -> LogPosition {
        let text = try connection.value("SELECT pg_catalog.pg_current_wal_insert_lsn()")
        guard let end = text.flatMap({ LogPosition($0) }) else {
            throw SourceError(.refused, "the source does not tell the end of its log")
        }
        // If the role may not emit messages, that may take until the next change in the source.
        _ = try? connection.execute("SELECT pg_catalog.pg_logical_emit_message(false, 'fetchindex', '')")
        return end
    }
}
