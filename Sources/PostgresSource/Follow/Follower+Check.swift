internal import FetchIndex

// What the source's catalogue tells, and no row of the stream.
extension Follower {
    /// Tables that are others in the catalogue than in the store. Up to `end`, the stream may still tell of it, and its rows may be
    /// older than the change.
    struct PendingChanges {
        let end: LogPosition
        let tables: [Int: FollowedSource.Table]
    }

    /// Checks that the tables and the publication are those that are followed, and notes tables that have changed.
    func checkSource() throws {
        try checkTables()
        try checkMark()
        try source.way == .stream ? noteChanges() : adoptChanges()
        try storeDescription()
    }

    /// Without a stream, nothing older can come.
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

    private func noteChanges() throws {
        let changed = try changedTables()
        if changed.isEmpty { return pending = nil }
        // What is seen now was committed before the end of the log.
        if pending?.tables != changed { pending = PendingChanges(end: try endOfLog(), tables: changed) }
    }

    /// Takes over changes that the stream has passed without telling of them: it describes a table with its next row, which may never
    /// come. O(n) where rows are copied again.
    func adoptPending() throws {
        guard let noted = pending, let reached = position.flatMap({ LogPosition($0.text) }), reached >= noted.end,
            source.isConsistent
        else { return }
        guard try changedTables() == noted.tables else { return try noteChanges() }
        pending = nil
        for index in noted.tables.keys.sorted() { try followChanges(ofTable: index) }
        try storePosition()
        try copyWhatIsDue()
    }

    /// A standby that has taken over may lack transactions that are here; what it writes later has their positions.
    func checkTimeline(_ replication: Connection) throws {
        let timeline = try replication.timeline()
        defer { source.timeline = timeline }
        guard let known = source.timeline, known != timeline else { return }
        let end = try replication.end(ofTimeline: known, before: timeline)
        // Of which time copied rows are, the position does not tell.
        if source.isConsistent, let end, storedPosition <= end { return }
        let what = end.map { "with the log up to \($0)" } ?? "with a log that is not this one's"
        throw SourceError(
            .lost,
            "another server has taken over, \(what), and may lack what the store has (up to \(storedPosition)); --recopy copies all tables "
                + "again")
    }

    // MARK: The publication, or the triggers

    /// Rows of which a publication or a trigger did not tell for a while are missing, whatever it is now.
    func checkMark() throws {
        guard try sourceMark() == source.mark else {
            let what =
                source.way == .stream
                ? "the publication \(source.publication) was changed"
                : "triggers of the change table, or the database, were replaced"
            throw SourceError(
                .lost,
                "\(what) while the store followed, so that rows may be missing; --recopy copies all tables again"
            )
        }
    }

    func sourceMark() throws -> String? {
        if source.way == .changeTable { return try ChangeTable.mark(of: source.tables, connection) }
        return try publicationMark()
    }

    /// The numbers of the publication and its entries, and of the transactions that wrote them.
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
