internal import FetchIndexCLibrary
internal import FetchIndexValues

/// The changes that the change table has for a follower, in one snapshot of the source.
struct ChangeReader {
    struct Noted {
        /// Whether the table was emptied after the position.
        var isEmptied: Bool
        /// When the earliest of the transactions after the position that changed the table began, in seconds since
        /// 1970.
        var time: Double
    }

    let snapshot: String
    /// The end of the source's log after the snapshot was taken.
    private let end: LogPosition
    /// Whether the log was on the source's disk up to its end.
    let isDurable: Bool
    /// A text that changes with the tables' columns.
    let shape: String
    /// The tables with changes, by number.
    let noted: [UInt32: Noted]

    private let before: String
    private let connection: Connection

    /// Reads which tables changed after a position. If `isLocked`, first begins a transaction of the source for reading
    /// rows, and locks the tables, which keep their columns during it. Throws `SourceError`; its kind is `lost` if
    /// changes were trimmed that the position may lack, if the source is an older copy, or if `fetchindex.log` is
    /// empty.
    init(
        after position: String, _ tables: [FollowedSource.Table], _ connection: Connection, locked isLocked: Bool
    ) throws {
        (before, self.connection) = (position, connection)
        if isLocked { try Self.begin(tables, connection) }
        let rows = try Self.look(after: position, tables, connection)
        guard let row = rows.first, let snapshot = row[0], let end = row[3].flatMap({ LogPosition($0) }) else {
            throw SourceError(.lost, "the change table has lost its identifier (fetchindex.log)")
        }
        if row[1] != "f" {
            throw SourceError(
                .lost, "the change table was trimmed, and may lack changes that this store needs (\(position))"
            )
        }
        if row[2] != "f" {
            throw SourceError(
                .lost, "the source is at \(snapshot), before this store (\(position)): the source is an older copy")
        }
        (self.snapshot, self.end, shape, isDurable) = (snapshot, end, row[4] ?? "", row[8] == "t")
        var noted: [UInt32: Noted] = [:]
        for row in rows {
            guard let number = row[5].flatMap({ UInt32($0) }) else { continue }
            noted[number] = Noted(isEmptied: row[6] == "t", time: row[7].flatMap { Double($0) } ?? 0)
        }
        self.noted = noted
    }

    /// Begins a transaction, and locks the tables before the snapshot is taken, so that the columns are those of the
    /// snapshot. The timeouts shorten the wait of a program of the source that wants to change columns.
    private static func begin(_ tables: [FollowedSource.Table], _ connection: Connection) throws {
        let names = tables.map(\.quoted).joined(separator: ", ")
        try connection.execute(
            """
            BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL lock_timeout = '300ms';
            SET LOCAL idle_in_transaction_session_timeout = '60s'; LOCK TABLE \(names) IN ACCESS SHARE MODE
            """)
    }

    /// Returns rows with the columns: snapshot | is trimmed | is an older copy | end of the log | shape | table,
    /// emptied, time | is durable. There is a row for each table with changes, or a single row without a table; no row
    /// if `fetchindex.log` is empty.
    private static func look(
        after position: String, _ tables: [FollowedSource.Table], _ connection: Connection
    ) throws -> [[String?]] {
        try connection.execute(
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
                FROM fetchindex.changes c WHERE c.relation = ANY($2::oid[]) AND \(unseen(position)) GROUP BY c.relation) n ON true
            """, [position, "{" + tables.map { "\($0.number)" }.joined(separator: ",") + "}"], columns: 9)
    }

    /// Ends the transaction of a locked reader.
    func finish() throws { try connection.execute("COMMIT") }

    /// Returns the SQL condition for entries of transactions that the current snapshot shows and the position doesn't.
    /// The numbers are constants, so that the source's planner can estimate how few rows match. A position is
    /// xmin:xmax:xip,xip…; if it is empty, all visible entries match.
    private static func unseen(_ position: String) -> String {
        let parts = position.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        let (end, open) = parts.count == 3 ? (parts[1], parts[2]) : ("0", "")
        return "(c.transaction >= \(end.quotedText)::pg_catalog.xid8"
            + (open.isEmpty ? "" : " OR c.transaction = ANY(\("{\(open)}".quotedText)::pg_catalog.xid8[])")
            + ") AND pg_catalog.pg_visible_in_snapshot(c.transaction, pg_catalog.pg_current_snapshot())"
    }

    /// Waits until the log up to the snapshot is on the source's disk. If synchronous_commit is off, a crash may undo
    /// transactions that were visible, and later transactions may get the same numbers.
    func waitUntilDurable(_ requireNotInterrupted: () throws -> Void) throws {
        if isDurable { return }
        var looks = 0
        while try connection.value(
            "SELECT pg_catalog.pg_current_wal_flush_lsn() >= $1::pg_catalog.pg_lsn", [end.description]) == "f"
        {
            try requireNotInterrupted()
            looks += 1
            // The log of an open transaction may stay in memory. A message after it makes the server write the log out.
            if looks == 5 {
                _ = try? connection.execute("SELECT pg_catalog.pg_logical_emit_message(false, 'fetchindex', '')")
            }
            usleep(2000)
        }
    }

    /// Hands out a row for each changed key of a table: the key's values, then the columns of the table's row with this
    /// key, which are null if no row with this key meets the condition. `types` are the types of the key's columns in SQL.
    func forEachRow(
        of table: FollowedSource.Table, keyTypes types: [String], _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let columns = table.columns.map { $0.name.quotedName }
        let key = types.count == 1 ? ["c.key"] : types.indices.map { "(c.key::text[])[\($0 + 1)]" }
        let pairs = zip(zip(table.key, key), types).map { "t.\($0.0.quotedName) = \($0.1)::\($1)" }
        let condition = table.condition.map { " WHERE (\($0))" } ?? ""
        try connection.copyOut(
            """
            COPY (SELECT \(key.joined(separator: ", ")), \(columns.map { "t." + $0 }.joined(separator: ", "))
            FROM (SELECT DISTINCT c.key FROM fetchindex.changes c
                WHERE c.relation = \(table.number) AND c.key IS NOT NULL AND \(Self.unseen(before))) c
            LEFT JOIN (SELECT \(columns.joined(separator: ", ")) FROM \(table.quoted)\(condition)) t
                ON \(pairs.joined(separator: " AND "))) TO STDOUT
            """, body)
    }
}
