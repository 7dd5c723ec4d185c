internal import FetchIndex
internal import FetchIndexModels

// Tables whose columns change while they are followed, and the migrations of their entities.
extension Follower {
    /// Adopts the changes of a table since the last comparison: adds, removes and renames attributes of its entity,
    /// which rewrites no record. If the source may have changed rows without sending them, another copy of the table
    /// becomes due. Throws `SourceError` for a change that can't be adopted, before anything is written.
    func followChanges(ofTable index: Int, _ streamed: StreamedTable? = nil) throws {
        guard var change = try relevantChange(of: index, streamed) else { return }
        if change.needsCopy { change.followed.copy.requireCopy() }
        try adopt(change, index)
        if change.needsCopy {
            tell(
                .warning(
                    "\(source.tables[index].title) was changed, and the source may have changed rows without sending them; the table is copied again"
                ))
        }
    }

    /// Adopts the table's current columns from the catalogue, before rows are copied.
    func adoptCatalogue(_ index: Int) throws {
        guard var change = try change(of: index) else { return }
        // Rows that were copied earlier may have other columns, and the stream may have sent rows that are gone.
        if change.needsCopy, change.followed.copy.hasBegun || position != nil { change.followed.copy.requireCopy() }
        try adopt(change, index)
    }

    /// Returns the change of a table if the store depends on it; otherwise nil. Differences that the store doesn't
    /// depend on are taken into `source` immediately.
    func relevantChange(of index: Int, _ streamed: StreamedTable? = nil) throws -> TableChange? {
        guard let change = try change(of: index, streamed) else { return nil }
        if change.needsCopy || !change.followed.isEquivalent(to: source.tables[index]) { return change }
        source.tables[index] = change.followed
        return nil
    }

    /// Whether the catalogue has a table exactly as the store remembers it, including the marks of its columns.
    func isUnchanged(_ index: Int) throws -> Bool { try change(of: index) == nil }

    /// Checks that a table exists and can still be followed. Throws `SourceError`.
    func requireTable(_ index: Int) throws {
        guard let change = try change(of: index) else { return }
        _ = try EntityChange(change, of: source.tables[index], besides: others, in: container.model())
    }

    // MARK: Steps

    private func change(of index: Int, _ streamed: StreamedTable? = nil) throws -> TableChange? {
        try followRename(of: index)
        let stored = source.tables[index]
        let remembered = try RememberedTable(stored, filter: filter(of: stored), connection)
        return try TableChange(
            from: remembered, to: present(remembered), streamed: streamed,
            rewritesAreSilent: source.way == .stream && !source.ownsPublication,
            isShared: !others.tables(of: stored.entity).isEmpty)
    }

    /// Reads a remembered table from the catalogue, and checks that its condition is still valid.
    private func present(_ remembered: RememberedTable) throws -> SourceTable {
        let table = try SourceTable(remembered.choice(), connection, source.way)
        do { try table.checkCondition(connection) } catch let error as SourceError where error.kind == .usage {
            throw SourceError(
                .refused, "\(remembered.table.title) was changed, and its condition is not valid any more (\(error))",
                remedy: .end)
        }
        return table
    }

    /// Returns a table's condition from the store's own publication, if any. In it, columns have their current names.
    func filter(of table: FollowedSource.Table) throws -> String? {
        // Without a mark, the publication may still have an earlier condition.
        try source.mark == nil ? nil : publishedCondition(of: table)
    }

    func publishedCondition(of table: FollowedSource.Table) throws -> String? {
        guard source.way == .stream, source.ownsPublication, table.condition != nil else { return nil }
        return try connection.value(
            """
            SELECT pg_catalog.pg_get_expr(r.prqual, r.prrelid)
            FROM pg_catalog.pg_publication_rel r JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid
            WHERE p.pubname = $1 AND r.prrelid = $2::oid
            """, [source.publication, "\(table.number)"])
    }

    /// Migrates the entity of a changed table, and takes the table's new description into `source`.
    func adopt(_ change: TableChange, _ index: Int) throws {
        try group.changingModel {
            try readOthers()
            let model = try container.model()
            let migrated = try EntityChange(change, of: source.tables[index], besides: others, in: model)
            try container.migrate(to: model.replacing([migrated.entity]))
            source.tables[index] = try adopted(change, migrated, index)
            // Another follower that changes the entity next must know that this source has other columns now.
            if !others.isEmpty { try storeDescription() }
        }
    }

    /// The new description of a table whose entity was migrated, or is to be.
    func adopted(_ change: TableChange, _ migrated: EntityChange, _ index: Int) throws -> FollowedSource.Table {
        var followed = change.followed
        // A name that was taken may be free now.
        if !migrated.removed.isEmpty || !change.renamed.isEmpty { followed.leftOut = [:] }
        for (column, reason) in migrated.leftOut {
            followed.leftOut[column] = followed.columns.first { $0.name == column }?.number
            followed.columns.removeAll { $0.name == column }
            tell(.warning("\(source.tables[index].title).\(column) \(reason): it is not followed"))
        }
        if followed.otherKeys.count < source.tables[index].otherKeys.count {
            tell(
                .warning(
                    "\(source.tables[index].title) has lost a unique index that foreign keys name: relationships by it stay as they are now"
                ))
        }
        followed.references = followed.references.compactMap { reference in
            var reference = reference
            reference.columns = reference.columns.map { change.movedColumns[$0] ?? $0 }
            let names = followed.columns.map(\.name)
            return Set(reference.columns).isSubset(of: names) ? reference : nil
        }
        // The copy waits until the stream has passed the change. Otherwise older rows of the stream could be written
        // over copied ones.
        if source.way == .stream, !followed.copy.isCopied { followed.copy.wait(after: try endOfLog()) }
        return followed
    }
}

extension Model {
    /// The model with other forms of some of its entities.
    func replacing(_ changed: [Entity]) -> Model {
        Model(
            entities: entities.map { entity in changed.first { $0.name == entity.name } ?? entity }, requests: requests)
    }
}
