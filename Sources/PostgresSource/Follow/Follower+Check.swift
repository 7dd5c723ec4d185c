internal import FetchIndex

// Checks of the source's catalogue, for what no row of the stream or the change table tells.
extension Follower {
    /// Checks that the tables and the publication are those that are followed, and notes tables that have changed.
    func checkSource() throws {
        try checkTables()
        try checkMark()
        if case .streaming(let session) = phase { try notePending(session) } else { try adoptChanges() }
        try storeDescription()
    }

    /// Adopts changed tables at once, because without a stream no older row can come.
    private func adoptChanges() throws {
        for index in try changedTables().keys.sorted() { try followChanges(ofTable: index) }
        try copyWhatIsDue()
    }

    private func changedTables() throws -> [Int: FollowedSource.Table] {
        var changed: [Int: FollowedSource.Table] = [:]
        for index in source.tables.indices {
            changed[index] = try relevantChange(of: index)?.followed
        }
        return changed
    }

    private func notePending(_ session: StreamSession) throws {
        let changed = try changedTables()
        if changed.isEmpty {
            session.pending = nil
        } else if session.pending?.tables != changed {
            // The changes that are visible now were committed before the end of the log.
            session.pending = StreamSession.PendingChanges(end: try endOfLog(), tables: changed)
        }
    }

    /// Adopts changes that the stream has passed without describing them. O(n) if rows are copied again.
    func adoptPending(_ session: StreamSession) throws {
        guard let noted = session.pending, let reached, reached >= noted.end, source.isConsistent else { return }
        guard try changedTables() == noted.tables else { return try notePending(session) }
        session.pending = nil
        for index in noted.tables.keys.sorted() { try followChanges(ofTable: index) }
        try storePosition()
        try copyWhatIsDue()
    }

    /// Checks that the names of tables still mean the same tables, and that the publication has them.
    func checkTables() throws {
        for table in source.tables {
            let number = try connection.value(
                """
                SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = $1 AND c.relname = $2
                    AND ($3 = 'changeTable' OR EXISTS (SELECT FROM pg_catalog.pg_publication_tables p
                        WHERE p.pubname = $4 AND p.schemaname = n.nspname AND p.tablename = c.relname))
                """, [table.schema, table.name, source.way.rawValue, source.publication])
            guard number.flatMap({ UInt32($0) }) == table.number else {
                let what =
                    number == nil ? "was dropped or renamed, or its publication is gone" : "is another table now"
                throw SourceError(.lost, "\(table.title) \(what)", remedy: .copyAgainOrEnd)
            }
        }
    }

    /// Checks that a server that has taken over has all that the store has. A standby may lack transactions, and its own
    /// later ones have the same positions.
    func checkTimeline(_ replication: Connection) throws {
        let timeline = try replication.timeline()
        defer { source.timeline = timeline }
        guard let known = source.timeline, known != timeline else { return }
        let end = try replication.end(ofTimeline: known, before: timeline)
        // Until the store is consistent, copied rows may be newer than the position.
        if source.isConsistent, let end, stored.position <= end { return }
        let what = end.map { "with the log up to \($0)" } ?? "with a log that is not this one's"
        throw SourceError(
            .lost,
            "another server has taken over, \(what), and may lack what the store has (up to \(stored.position))")
    }

    // MARK: The publication, or the triggers

    /// Checks that the publication or the triggers have told all changes: they were neither replaced nor changed meanwhile.
    func checkMark() throws {
        guard try sourceMark() == source.mark else {
            let what =
                source.way == .stream
                ? "the publication \(source.publication) was changed"
                : "triggers of the change table, or the database, were replaced"
            throw SourceError(.lost, "\(what) while the store followed, so that rows may be missing")
        }
    }

    func sourceMark() throws -> String? {
        if source.way == .changeTable { return try ChangeTable.mark(of: source.tables, connection) }
        return try publicationMark()
    }

    /// The numbers of the publication and its entries for followed tables, and of the transactions that wrote them.
    private func publicationMark() throws -> String? {
        let schemas =
            connection.serverVersion < FollowPreparation.firstWithFilters
            ? ""
            : """
             || coalesce((SELECT pg_catalog.string_agg(' ' || s.oid || '/' || s.xmin, '' ORDER BY s.oid)
                FROM pg_catalog.pg_publication_namespace s WHERE s.pnpubid = p.oid
                    AND s.pnnspid IN (SELECT c.relnamespace FROM pg_catalog.pg_class c WHERE c.oid = ANY($2::oid[]))), '')
            """
        return try connection.value(
            """
            SELECT p.oid || '/' || p.xmin
                || coalesce((SELECT pg_catalog.string_agg(' ' || r.oid || '/' || r.xmin, '' ORDER BY r.oid)
                    FROM pg_catalog.pg_publication_rel r WHERE r.prpubid = p.oid AND r.prrelid = ANY($2::oid[])), '')
                \(schemas)
                || coalesce((SELECT pg_catalog.string_agg(' ' || i.inhparent || '/' || i.xmin, '' ORDER BY i.inhrelid)
                    FROM pg_catalog.pg_inherits i WHERE i.inhrelid = ANY($2::oid[])), '')
            FROM pg_catalog.pg_publication p WHERE p.pubname = $1
            """, [source.publication, "{" + source.tables.map { "\($0.number)" }.joined(separator: ",") + "}"])
    }
}
