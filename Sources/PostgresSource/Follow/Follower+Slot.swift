internal import FetchIndex
internal import OrderCaches
internal import Records

// The publication and the slot in the source.
extension Follower {
    /// Makes the slot where the store has no position yet, and else checks that it still holds what comes after it.
    func prepareSlot() throws {
        if options.recopies, !hasRecopied {
            hasRecopied = true
            return try prepareAgain()
        }
        guard let position, let reached = LogPosition(position.text) else { return try makeSlot() }
        let found = try connection.execute(
            "SELECT confirmed_flush_lsn, wal_status, plugin FROM pg_catalog.pg_replication_slots WHERE slot_name = $1",
            [source.slot])
        guard let slot = found.first else {
            throw SourceError(
                .lost, "the slot \(source.slot) is gone from the source; --recopy copies all tables again")
        }
        if slot[1] == "lost" {
            throw SourceError(
                .lost,
                "the source has dropped what the slot \(source.slot) was to hold (max_slot_wal_keep_size); --recopy copies all tables "
                    + "again")
        }
        if let confirmed = slot[0].flatMap({ LogPosition($0) }), confirmed > reached {
            throw SourceError(
                .lost,
                "the slot \(source.slot) is at \(confirmed), behind which this store, at \(reached), lacks changes: another store "
                    + "reads it, or this one is an old copy; --recopy copies all tables again")
        }
    }

    private func makeSlot() throws {
        // First the names: what a follower that is killed here has made, the next one finds.
        try store(position: nil)
        if options.publication == nil { try makePublication() } else { try checkPublication() }
        var start: String?
        let known = try connection.execute(
            "SELECT confirmed_flush_lsn, plugin FROM pg_catalog.pg_replication_slots WHERE slot_name = $1",
            [source.slot])
        if let slot = known.first, options.slot != nil {
            guard slot[1] == "pgoutput" else {
                throw SourceError(
                    .refused, "the slot \(source.slot) is one of \(slot[1] ?? "no plugin"), not of pgoutput")
            }
            start = slot[0]
        } else {
            if !known.isEmpty { try dropSlot() }
            do {
                start = try connection.value(
                    "SELECT lsn FROM pg_catalog.pg_create_logical_replication_slot($1, 'pgoutput')", [source.slot])
            } catch let error as SourceError where error.code == "53400" {
                throw SourceError(
                    .refused, "\(error); max_replication_slots limits their number, and unused ones can be dropped")
            }
        }
        guard let start, LogPosition(start) != nil else {
            throw SourceError(.refused, "the slot \(source.slot) has no position")
        }
        try store(position: SourcePosition(text: start, time: 0))
    }

    private func store(position: SourcePosition?) throws {
        self.position = position
        let writer = try container.store.beginWrite(author: "postgres", changesRecords: false)
        try commit(RowWriter(writer))
    }

    /// Drops the slot, so that the next preparation makes another one and copies all tables again, over the rows that are here.
    func prepareAgain() throws {
        try dropSlot()
        for index in source.tables.indices {
            source.tables[index].isCopied = false
            source.tables[index].replaces = true
        }
        source.consistentFrom = nil
        let writer = try container.store.beginWrite(author: "postgres", changesRecords: false)
        try writer.setFollowedSource(nil)
        try writer.setFollowedSource(source)
        position = nil
        try commit(RowWriter(writer))
        try makeSlot()
    }

    func dropSlot() throws {
        _ = try connection.execute(
            "SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots WHERE slot_name = $1",
            [source.slot])
    }

    private func makePublication() throws {
        let name = source.publication.quotedName
        let hasFilters = connection.serverVersion >= FollowPreparation.firstWithFilters
        let tables = source.tables.map { table in
            var text = "\(table.schema.quotedName).\(table.name.quotedName)"
            if hasFilters, !table.followsNewColumns, !isFull(table) {
                text += " (" + table.columns.map { $0.name.quotedName }.joined(separator: ", ") + ")"
            }
            return text + (table.condition.map { " WHERE (\($0))" } ?? "")
        }
        try connection.execute("BEGIN")
        do {
            try connection.execute("DROP PUBLICATION IF EXISTS \(name)")
            try connection.execute(
                "CREATE PUBLICATION \(name) FOR TABLE \(tables.joined(separator: ", ")) WITH (publish_via_partition_root = true)"
            )
            try requireIdentities()
            try connection.execute("COMMIT")
        } catch {
            _ = try? connection.execute("ROLLBACK")
            throw error
        }
    }

    private func isFull(_ table: FollowedSource.Table) -> Bool {
        (try? connection.value(
            """
            SELECT c.relreplident FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = $1 AND c.relname = $2
            """, [table.schema, table.name])) == "f"
    }

    /// The source refuses to change rows of a table whose condition reads columns that are not sent with them: its own programs would
    /// fail. Such a publication is not made.
    private func requireIdentities() throws {
        for table in source.tables where table.condition != nil && !isFull(table) {
            let read = try connection.execute(
                """
                SELECT DISTINCT a.attname
                FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid
                    JOIN pg_catalog.pg_class c ON c.oid = r.prrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_publication_rel'::pg_catalog.regclass AND d.objid = r.oid
                        AND d.refobjid = c.oid AND d.refobjsubid > 0
                    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
                WHERE p.pubname = $1 AND n.nspname = $2 AND c.relname = $3
                """, [source.publication, table.schema, table.name])
            if let column = read.compactMap({ $0[0] }).first(where: { $0 != table.key }) {
                let name = "\(table.schema.quotedName).\(table.name.quotedName)"
                throw SourceError(
                    .refused,
                    "the condition of \(table.schema).\(table.name) reads \(column), which the source does not send of old rows: "
                        + "ALTER TABLE \(name) REPLICA IDENTITY FULL")
            }
        }
    }

    private func checkPublication() throws {
        let published = try connection.execute(
            "SELECT schemaname, tablename FROM pg_catalog.pg_publication_tables WHERE pubname = $1",
            [source.publication])
        for table in source.tables where !published.contains([table.schema, table.name]) {
            throw SourceError(
                .refused, "the publication \(source.publication) does not have the table \(table.schema).\(table.name)")
        }
    }

    /// Ends following: the slot and the publication are dropped, the rows stay.
    package func end() throws {
        try dropSlot()
        if options.publication == nil {
            try connection.execute("DROP PUBLICATION IF EXISTS \(source.publication.quotedName)")
        }
        let writer = try container.store.beginWrite(author: "postgres", changesRecords: false)
        try writer.setFollowedSource(nil)
        try writer.commit()
    }
}
