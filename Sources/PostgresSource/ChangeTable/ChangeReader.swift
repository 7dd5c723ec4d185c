internal import Records
internal import SystemBasics
internal import Values

/// What the change table has for a follower: a transaction of the source in which one snapshot is read.
struct ChangeReader {
    /// The snapshot that is read.
    let snapshot: String
    /// When the last of the transactions began that have noted something; nil: nothing was noted.
    let time: Double?
    /// What changes with each change of the tables' columns.
    let shape: String

    private let before: String
    private let connection: Connection

    /// Begins at a position. Throws `SourceError` where changes after it are gone.
    init(after position: String, _ tables: [FollowedSource.Table], _ connection: Connection) throws {
        (before, self.connection) = (position, connection)
        // Locked before the snapshot is taken, so that columns are what they are in it.
        let names = tables.map { "\($0.schema.quotedName).\($0.name.quotedName)" }.joined(separator: ", ")
        try connection.execute(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL lock_timeout = '5s'; LOCK TABLE \(names) IN ACCESS SHARE MODE"
        )
        let row = try connection.execute(
            """
            SELECT pg_catalog.pg_current_snapshot(), l.trimmed >= pg_catalog.pg_snapshot_xmin($1::pg_catalog.pg_snapshot),
                pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot()) < pg_catalog.pg_snapshot_xmax($1::pg_catalog.pg_snapshot),
                (SELECT pg_catalog.date_part('epoch', pg_catalog.max(c.at)) FROM fetchindex.changes c WHERE \(Self.unseen(position))),
                (SELECT pg_catalog.string_agg(a.attrelid || '/' || a.attnum || '/' || a.xmin, ' ' ORDER BY a.attrelid, a.attnum)
                    FROM pg_catalog.pg_attribute a WHERE a.attrelid = ANY($2::oid[]) AND a.attnum > 0)
            FROM fetchindex.log l
            """, [position, "{" + tables.map { "\($0.number)" }.joined(separator: ",") + "}"], columns: 5
        ).first
        guard let row, let snapshot = row[0] else {
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
        (self.snapshot, time, shape) = (snapshot, row[3].flatMap { Double($0) }, row[4] ?? "")
    }

    func end() throws { try connection.execute("COMMIT") }

    private static func unseen(_ position: String) -> String {
        let snapshot = "\(position.quotedText)::pg_catalog.pg_snapshot"
        return "c.transaction >= pg_catalog.pg_snapshot_xmin(\(snapshot)) "
            + "AND NOT pg_catalog.pg_visible_in_snapshot(c.transaction, \(snapshot))"
    }

    /// The numbers of tables that were emptied.
    func emptiedTables() throws -> Set<UInt32> {
        let rows = try connection.execute(
            "SELECT DISTINCT c.relation FROM fetchindex.changes c WHERE c.key IS NULL AND \(Self.unseen(before))",
            columns: 1)
        return Set(rows.compactMap { $0[0].flatMap { UInt32($0) } })
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
