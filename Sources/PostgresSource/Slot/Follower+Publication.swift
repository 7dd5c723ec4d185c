// The publication in the source: the store's own, or a given one, which the user named.
extension Follower {
    /// The first server version whose publications can send generated columns, and that has virtual ones.
    static let firstWithGenerated = 180_000

    func makePublication() throws {
        let name = source.publication.quotedName
        let tables = publishedTables
        // The source refuses updates and deletions of tables with REPLICA IDENTITY FULL whose generated columns aren't
        // published. They are sent and ignored.
        let sendsGenerated = connection.serverVersion >= Self.firstWithGenerated
        let generated = sendsGenerated ? ", publish_generated_columns = stored" : ""
        try connection.execute("BEGIN")
        do {
            try connection.execute("DROP PUBLICATION IF EXISTS \(name)")
            try connection.execute(
                "CREATE PUBLICATION \(name) FOR TABLE \(tables) WITH (publish_via_partition_root = true\(generated))")
            try requirePublished()
            try requireIdentities()
            try connection.execute("COMMIT")
        } catch {
            _ = try? connection.execute("ROLLBACK")
            throw error
        }
        try noteFilters()
    }

    /// Gives the store's own publication the tables that are followed now; in a trial, only finds out whether that is
    /// possible. Throws `SourceError`.
    func setPublication(isTrial: Bool = false) throws {
        let tables = publishedTables
        try connection.execute("BEGIN")
        do {
            try connection.execute("ALTER PUBLICATION \(source.publication.quotedName) SET TABLE \(tables)")
            try requirePublished()
            try requireIdentities()
            try connection.execute(isTrial ? "ROLLBACK" : "COMMIT")
        } catch {
            _ = try? connection.execute("ROLLBACK")
            throw error
        }
        if !isTrial { try noteFilters() }
    }

    /// Checks that the publication sends the rows of each table under the table's own name.
    private func requirePublished() throws {
        for table in source.tables {
            // PostgreSQL 13 lists partitions too, although it sends their rows under the partitioned table's name.
            let found = try connection.value(
                """
                SELECT 1 FROM pg_catalog.pg_publication_tables WHERE pubname = $1 AND schemaname = $2 AND tablename = $3
                    AND NOT EXISTS (SELECT FROM pg_catalog.pg_partition_ancestors($4::oid) a
                        WHERE a.relid <> $4::oid AND a.relid = ANY($5::oid[]))
                """, [source.publication, table.schema, table.name, "\(table.number)", source.tableNumbers])
            if found != nil { continue }
            throw SourceError(
                .refused,
                "\(table.title) is a partition of another followed table, which has its rows: follow only one of the two"
            )
        }
    }

    private func noteFilters() throws {
        for index in source.tables.indices {
            source.tables[index].filter = try publishedCondition(of: source.tables[index])
        }
    }

    /// The tables in a publication's SQL, with the columns and conditions that the server can apply.
    private var publishedTables: String {
        let hasFilters = connection.serverVersion >= FollowPreparation.firstWithFilters
        return source.tables.map { table in
            var text = table.quoted
            if hasFilters, !table.followsNewColumns, !isFull(table) {
                text += " (" + table.columns.map { $0.name.quotedName }.joined(separator: ", ") + ")"
            }
            return text + (table.currentCondition.map { " WHERE (\($0))" } ?? "")
        }.joined(separator: ", ")
    }

    /// Whether the source sends whole old rows when rows are deleted or changed (REPLICA IDENTITY FULL). False also if
    /// the catalogue can't be read.
    private func isFull(_ table: FollowedSource.Table) -> Bool {
        (try? connection.value(
            """
            SELECT c.relreplident FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = $1 AND c.relname = $2
            """, [table.schema, table.name])) == "f"
    }

    /// Checks that each condition reads only columns whose old values the source sends. If a condition read other
    /// columns, PostgreSQL would refuse updates and deletions in the table, and the source's own programs would fail.
    private func requireIdentities() throws {
        for table in source.tables where table.condition != nil && !isFull(table) {
            let read = try connection.execute(
                """
                SELECT a.attname
                FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid
                    CROSS JOIN LATERAL pg_catalog.regexp_matches(r.prqual::text, ':varattno (\\d+)', 'g') AS m(number)
                    JOIN pg_catalog.pg_attribute a ON a.attrelid = r.prrelid AND a.attnum = m.number[1]::integer
                WHERE p.pubname = $1 AND r.prrelid = $2::oid
                """, [source.publication, "\(table.number)"], columns: 1)
            if let column = read.compactMap({ $0[0] }).first(where: { !table.key.contains($0) }) {
                throw SourceError(
                    .refused,
                    "the condition of \(table.title) reads \(column), which the source does not send of old rows: "
                        + "ALTER TABLE \(table.quoted) REPLICA IDENTITY FULL")
            }
        }
    }

    /// Checks that a given publication sends all that the store follows.
    func checkPublication() throws {
        try checkPublishedChanges()
        let name = source.publication
        let hasFilters = connection.serverVersion >= FollowPreparation.firstWithFilters
        let published = try connection.execute(
            "SELECT schemaname, tablename, \(hasFilters ? "rowfilter, pg_catalog.array_to_string(attnames, E'\\x1f')" : "NULL, NULL") "
                + "FROM pg_catalog.pg_publication_tables WHERE pubname = $1", [name], columns: 4)
        for table in source.tables {
            guard let row = published.first(where: { $0[0] == table.schema && $0[1] == table.name }) else {
                throw SourceError(.refused, "the publication \(name) does not have the table \(table.title)")
            }
            guard table.condition == nil else {
                throw SourceError(
                    .refused,
                    "the condition of \(table.title) needs a publication of the store's own: \(name) would send other rows too",
                    remedy: .setCondition)
            }
            guard row[2] == nil else {
                throw SourceError(
                    .refused,
                    "the publication \(name) has a condition for \(table.title), which the copy would not apply",
                    remedy: .setCondition)
            }
            let sent = row[3].map { Set($0.split(separator: "\u{1F}").map(String.init)) }
            // A column that was renamed or dropped meanwhile isn't missing.
            if let sent,
                let missing = try table.columns.first(where: { column in
                    try !sent.contains(column.name)
                        && presentName(of: column, table).map { !sent.contains($0) } ?? false
                })
            {
                throw SourceError(
                    .refused, "the publication \(name) does not send \(table.title).\(missing.name)", remedy: .leaveOut)
            }
        }
    }

    /// The name that a column has now; nil if it was dropped.
    private func presentName(of column: FollowedSource.Column, _ table: FollowedSource.Table) throws -> String? {
        try connection.value(
            """
            SELECT attname FROM pg_catalog.pg_attribute
            WHERE attrelid = $1::oid AND attnum = $2::smallint AND NOT attisdropped
            """, ["\(table.number)", "\(column.number)"])
    }

    private func checkPublishedChanges() throws {
        let name = source.publication
        let kinds = try connection.execute(
            "SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate FROM pg_catalog.pg_publication WHERE pubname = $1",
            [name],
            columns: 1)
        guard let kind = kinds.first else { throw SourceError(.refused, "the source has no publication \(name)") }
        guard kind[0] == "t" else {
            throw SourceError(
                .refused,
                "the publication \(name) does not publish all of insert, update, delete, truncate: ALTER PUBLICATION "
                    + "\(name.quotedName) SET (publish = 'insert, update, delete, truncate')")
        }
    }
}
