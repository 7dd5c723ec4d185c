internal import FetchIndex
internal import FetchIndexModels

// Tables that change while they are followed: the walk from a table to the model of its entity.
extension Follower {
    /// Adopts the changes of a table since the last look: added, removed and renamed columns are free changes of the model. If the source has changed rows without sending them, or may have, the table is copied again. Throws
    /// `SourceError` for other changes, before anything is written.
    func followChanges(ofTable index: Int, _ streamed: StreamedTable? = nil) throws {
        guard var change = try relevantChange(of: index, streamed) else { return }
        if change.needsCopy { change.followed.copy.requireCopy() }
        try adopt(change, index)
        if change.needsCopy {
            tell(
                .warning(
                    "\(source.tables[index].title) was changed in a way that its rows do not tell; they are copied again"
                ))
        }
    }

    /// Adopts the table in the catalogue before rows are copied.
    func adoptCatalogue(_ index: Int) throws {
        guard var change = try change(of: index) else { return }
        // Rows that were copied have other columns.
        if change.needsCopy, change.followed.copy.hasBegun { change.followed.copy.requireCopy() }
        try adopt(change, index)
    }

    /// The change of a table that the store depends on, if any. Other differences are adopted at once.
    func relevantChange(of index: Int, _ streamed: StreamedTable? = nil) throws -> TableChange? {
        guard let change = try change(of: index, streamed) else { return nil }
        if change.needsCopy || !change.followed.isEquivalent(to: source.tables[index]) { return change }
        source.tables[index] = change.followed
        return nil
    }

    /// Whether the catalogue has a table exactly as the store remembers it, including its marks.
    func isUnchanged(_ index: Int) throws -> Bool { try change(of: index) == nil }

    /// Checks that a table exists and can still be followed. Throws `SourceError`.
    func requireTable(_ index: Int) throws {
        guard let change = try change(of: index) else { return }
        _ = try EntityChange(change, of: source.tables[index], in: container.model())
    }

    // MARK: Steps

    private func change(of index: Int, _ streamed: StreamedTable? = nil) throws -> TableChange? {
        let stored = source.tables[index]
        let remembered = try RememberedTable(stored, filter: filter(of: stored), connection)
        return try TableChange(
            from: remembered, to: present(remembered), streamed: streamed,
            rewritesAreSilent: source.way == .stream && !source.ownsPublication)
    }

    /// Reads a remembered table from the catalogue, and checks that it fits its condition.
    private func present(_ remembered: RememberedTable) throws -> SourceTable {
        let table = try SourceTable(remembered.choice(), connection, source.way)
        do { try table.checkCondition(connection) } catch let error as SourceError where error.kind == .usage {
            throw SourceError(
                .refused, "\(remembered.table.title) does not fit its condition any more (\(error))", remedy: .end)
        }
        return table
    }

    /// The condition of a table as the store's own publication has it, which knows columns by number; nil if it has none.
    func filter(of table: FollowedSource.Table) throws -> String? {
        guard source.way == .stream, source.ownsPublication, table.condition != nil else { return nil }
        return try connection.value(
            """
            SELECT pg_catalog.pg_get_expr(r.prqual, r.prrelid)
            FROM pg_catalog.pg_publication_rel r JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid
            WHERE p.pubname = $1 AND r.prrelid = $2::oid
            """, [source.publication, "\(table.number)"])
    }

    /// Migrates the entity of a changed table, and remembers the table.
    private func adopt(_ change: TableChange, _ index: Int) throws {
        let model = try container.model()
        let migrated = try EntityChange(change, of: source.tables[index], in: model)
        try container.migrate(
            to: Model(entities: model.entities.map { $0.name == migrated.entity.name ? migrated.entity : $0 }))
        var followed = change.followed
        followed.references = followed.references.compactMap { reference in
            guard !migrated.removed.contains(reference.column) else { return nil }
            var reference = reference
            reference.column = change.presentNames[reference.column] ?? reference.column
            return reference
        }
        // Rows of the stream from before the change must not be written over copied ones.
        if source.way == .stream, !followed.copy.isCopied { followed.copy.wait(after: try endOfLog()) }
        source.tables[index] = followed
    }
}
