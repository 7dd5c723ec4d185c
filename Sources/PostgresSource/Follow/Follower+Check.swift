internal import FetchIndex

// Checks of the source's catalogue, for changes that the stream and the change table don't report.
extension Follower {
    /// Checks that the tables, and the publication or the triggers, are still the followed ones. Then looks for changed
    /// tables: while streaming, notes them in the session; otherwise adopts the changes.
    func checkSource() throws {
        try checkTables()
        try checkMark()
        if case .streaming(let session) = phase { try notePending(session) } else { try adoptChanges() }
        try storeDescription()
        if phase.isFollowing {
            try takeFreedRows()
            if group.takeFinding() { try findWaitingRows() }
        }
    }

    /// Adopts changed tables immediately, because a change table gives only current rows, never older ones.
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
            // The changes of tables that are visible now were committed before the current end of the log.
            session.pending = StreamSession.PendingChanges(end: try endOfLog(), tables: changed)
        }
    }

    /// Adopts noted changes of tables after the stream has passed them without describing them.
    func adoptPending(_ session: StreamSession) throws {
        guard let noted = session.pending, let reached, reached >= noted.end, source.isConsistent else { return }
        guard try changedTables() == noted.tables else { return try notePending(session) }
        session.pending = nil
        for index in noted.tables.keys.sorted() { try followChanges(ofTable: index) }
        try storePosition()
        try copyWhatIsDue()
    }

    /// Checks that the names of the tables still belong to the same tables and, unless the store reads the change
    /// table, that the publication has them.
    func checkTables() throws {
        for index in source.tables.indices {
            try followRename(of: index)
            let table = source.tables[index]
            let number = try connection.value(
                """
                SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = $1 AND c.relname = $2
                    AND ($3 = 'changeTable' OR EXISTS (SELECT FROM pg_catalog.pg_publication_tables p
                        WHERE p.pubname = $4 AND p.schemaname = n.nspname AND p.tablename = c.relname))
                """, [table.schema, table.name, source.way.rawValue, source.publication])
            guard number.flatMap({ UInt32($0) }) == table.number else {
                let what =
                    number == nil
                    ? "was dropped or renamed, or is not published any more" : "is the name of another table now"
                throw SourceError(.lost, "\(table.title) \(what)", remedy: .copyAgainOrDrop(table: table.title))
            }
        }
    }

    /// Takes over the new name of a renamed table, unless another table has its old name now.
    func followRename(of index: Int) throws {
        let table = source.tables[index]
        let row = try connection.execute(
            """
            SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE c.oid = $1::oid AND NOT EXISTS (SELECT FROM pg_catalog.pg_class o
                JOIN pg_catalog.pg_namespace s ON s.oid = o.relnamespace WHERE s.nspname = $2 AND o.relname = $3)
            """, ["\(table.number)", table.schema, table.name], columns: 2
        ).first
        guard let schema = row?[0], let name = row?[1] else { return }
        (source.tables[index].schema, source.tables[index].name) = (schema, name)
        tell(.warning("\(table.title) is called \(source.tables[index].title) now, and is followed on"))
    }

    /// Checks, if the source's log is on another timeline, that it includes everything that the store has. A standby
    /// that has taken over may lack the last transactions, and may give their positions to transactions of its own.
    func checkTimeline(_ replication: Connection) throws {
        let timeline = try replication.timeline()
        defer { source.timeline = timeline }
        guard let known = source.timeline, known != timeline else { return }
        let end = try replication.end(ofTimeline: known, before: timeline)
        // Until the store is consistent, copied rows may be newer than the position, so the position proves nothing.
        if source.isConsistent, let end, stored.position <= end { return }
        let what =
            end.map { "which continues the old one from \($0)" } ?? "which does not continue the old one"
        throw SourceError(
            .lost,
            "the source's log is on another timeline, \(what), and may lack changes that the store has (up to \(stored.position))"
        )
    }

    // MARK: The publication, or the triggers

    /// Throws `SourceError` if the publication or the triggers were replaced or altered, because changes of rows may be
    /// missing.
    func checkMark() throws {
        let mark = try sourceMark()
        guard mark == source.mark else {
            let what =
                source.way == .stream
                ? "the publication \(source.publication) was changed" : ChangeTable.change(from: source.mark, to: mark)
            throw SourceError(.lost, "\(what) while the store followed, so changes of rows may be missing")
        }
    }

    func sourceMark() throws -> String? {
        if source.way == .changeTable { return try ChangeTable.mark(of: source.tables, connection) }
        return try publicationMark()
    }

    /// Returns the numbers (OIDs) of the publication, of its catalogue entries for the followed tables and their
    /// schemas, and of the tables' parents, each with the number of the transaction that wrote the entry. Returns nil
    /// if the publication is missing.
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
            """, [source.publication, source.tableNumbers])
    }
}
