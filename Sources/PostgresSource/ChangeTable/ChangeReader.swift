internal import FetchIndexCLibrary
internal import FetchIndexValues

/// What the change table has for a follower, in one snapshot of the source.
struct ChangeReader {
    struct Noted {
        /// Whether the table was emptied.
        var isEmptied: Bool
        /// When the first of the transactions began that have noted something, in seconds since 1970.
        var time: Double
    }

    let snapshot: String
    /// The end of the source's log when it was taken, and whether all of that was on the disk.
    private let end: LogPosition
    let isDurable: Bool
    /// What changes with each change of the tables' columns.
    let shape: String
    /// By the tables' numbers.
    let noted: [UInt32: Noted]

    private let before: String
    private let connection: Connection

    /// Looks what was noted after a position. `locked` begins a transaction of the source in which rows can be read: the tables keep their
    /// columns until it ends. Throws `SourceError` where changes are gone.
    init(
        after position: String, _ tables: [FollowedSource.Table], _ connection: Connection, locked isLocked: Bool
    ) throws {
        (before, self.connection) = (position, connection)
        if isLocked {
            // Locked before the snapshot is taken, so that columns are what they are in it. A source that changes them does not wait long.
            let names = tables.map { "\($0.schema.quotedName).\($0.name.quotedName)" }.joined(separator: ", ")
            try connection.execute(
                """
                BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL lock_timeout = '300ms';
                SET LOCAL idle_in_transaction_session_timeout = '60s'; LOCK TABLE \(names) IN ACCESS SHARE MODE
                """)
        }
        let rows = try connection.execute(
            """
            SELECT pg_catalog.pg_current_snapshot(), l.trimmed >= pg_catalog.pg_snapshot_xmin($1::pg_catalog.pg_snapshot),
                pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot()) < pg_catalog.pg_snapshot_xmax($1::pg_catalog.pg_snapshot),
                pg_catalog.pg_current_wal_insert_lsn(),
                (SELECT pg_catalog.string_agg(a.attrelid || '/' || a.attnum || '/' || a.xmin, ' ' ORDER BY a.attrelid, a.attnum)
                    FROM pg_catalog.pg_attribute a WHERE a.attrelid = ANY($2::oid[]) AND a.attnum > 0),
                n.relation, n.emptied, n.time,
                pg_catalog.pg_current_wal_flush_lsn() >= pg_catalog.pg_current_wal_insert_lsn()
            FROM fetchindex.log l LEFT JOIN (
                SELECT c.relation, pg_catalog.bool_or(c.key IS NULL) AS emptied,
                    pg_catalog.date_part('epoch', pg_catalog.min(c.at)) AS time
                FROM fetchindex.changes c WHERE c.relation = ANY($2::oid[]) AND \(Self.unseen(position)) GROUP BY c.relation) n ON true
            """, [position, "{" + tables.map { "\($0.number)" }.joined(separator: ",") + "}"], columns: 9)
        guard let row = rows.first, let snapshot = row[0], let end = row[3].flatMap({ LogPosition($0) }) else {
            throw SourceError(.lost, "the change table is gone from the source; --recopy copies all tables again")
        }
        if row[1] != "f" {
            throw SourceError(
                .lost,
                "the change table was trimmed to less than this store needs (\(position)); --recopy copies all tables again"
            )
        }
        if row[2] != "f" {
            throw SourceError(
                .lost,
                "the source is at \(snapshot), before this store (\(position)): it is an older copy; --recopy copies all tables again"
            )
        }
        (self.snapshot, self.end, shape, isDurable) = (snapshot, end, row[4] ?? "", row[8] == "t")
        var noted: [UInt32: Noted] = [:]
        for row in rows {
            guard let number = row[5].flatMap({ UInt32($0) }) else { continue }
            noted[number] = Noted(isEmptied: row[6] == "t", time: row[7].flatMap { Double($0) } ?? 0)
        }
        self.noted = noted
    }

    func finish() throws { try connection.execute("COMMIT") }

    /// What transactions have noted that a position has not seen and the present snapshot has. The numbers are constants, so that the
    /// source knows how few rows they name. A position is xmin:xmax:xip,xip…; without one, all is unseen.
    private static func unseen(_ position: String) -> String {
        let parts = position.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        let (end, open) = parts.count == 3 ? (parts[1], parts[2]) : ("0", "")
        return "(c.transaction >= \(end.quotedText)::pg_catalog.xid8"
            + (open.isEmpty ? "" : " OR c.transaction = ANY(\("{\(open)}".quotedText)::pg_catalog.xid8[])")
            + ") AND pg_catalog.pg_visible_in_snapshot(c.transaction, pg_catalog.pg_current_snapshot())"
    }

    /// Waits until the log is on the source's disk up to the snapshot: with synchronous_commit off, transactions can be seen that a crash
    /// undoes, and their numbers are given again.
    func waitUntilDurable(_ requireNotInterrupted: () throws -> Void) throws {
        if isDurable { return }
        var looks = 0
        while try connection.value(
            "SELECT pg_catalog.pg_current_wal_flush_lsn() >= $1::pg_catalog.pg_lsn", [end.description]) == "f"
        {
            try requireNotInterrupted()
            looks += 1
            // What an open transaction has written may stay in memory; a mark behind it makes the server write it out.
            if looks == 5 {
                _ = try? connection.execute("SELECT pg_catalog.pg_logical_emit_message(false, 'fetchindex', '')")
            }
            usleep(2000)
        }
    }

    /// Hands out the keys of a table's rows that have changed, each followed by the row's columns, which are null where it is gone.
    /// `type` is the key's.
    func forEachRow(
        of table: FollowedSource.Table, keyType type: String, _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let columns = table.columns.map { $0.name.quotedName }
        let condition = table.condition.map { " WHERE (\($0))" } ?? ""
        try connection.copyOut(
            """
            COPY (SELECT c.key, \(columns.map { "t." + $0 }.joined(separator: ", "))
            FROM (SELECT DISTINCT c.key FROM fetchindex.changes c
                WHERE c.relation = \(table.number) AND c.key IS NOT NULL AND \(Self.unseen(before))) c
            LEFT JOIN (SELECT \(columns.joined(separator: ", ")) FROM \(table.schema.quotedName).\(table.name.quotedName)\(condition)) t
                ON t.\(table.key.quotedName) = c.key::\(type)) TO STDOUT
            """, body)
    }
}
