internal import FetchIndex

// The options of a start, compared with what the store follows, and with what the source allows.
extension FollowPreparation {
    /// Whether an earlier first attempt ended before any row was copied, and the options name an address and tables,
    /// which may be other ones. If so, removes what the attempt has made: its description, entities that have no objects
    /// and, in the source, its own slot and publication.
    static func isAbandoned(
        _ source: FollowedSource, _ container: PersistentContainer, _ options: FollowOptions,
        _ report: (FollowEvent) -> Void
    ) throws -> Bool {
        guard try container.sourcePosition(named: source.name) == nil, options.address != nil, !options.tables.isEmpty,
            !source.tables.contains(where: { $0.copy.hasBegun && $0.wholeRow == nil })
        else { return false }
        let others = try OtherSources(than: source.name, in: container)
        for table in source.tables
        where try others.tables(of: table.entity).isEmpty && container.model().entity(named: table.entity) != nil {
            _ = try? container.dropEmptyEntity(named: table.entity)
        }
        do { try Follower.dropOwned(of: source) } catch let error as SourceError {
            report(.warning("\(error); the slot \(source.slot) of an earlier attempt may be left in \(source.address)"))
        }
        let writer = try KeyedRowWriter(in: container, author: "postgres", changesRecords: false)
        try writer.endFollowing(source.name)
        try writer.commit()
        return true
    }

    /// Throws an error of the kind `usage` if the options ask for something other than what the store follows.
    static func require(_ options: FollowOptions, of stored: FollowedSource) throws {
        func refuse(_ what: String) -> SourceError {
            SourceError(.usage, "the store follows \(what)", remedy: .end)
        }
        try requireSameTables(options, of: stored)
        let names = stored.tables.map { "\($0.title)=\($0.entity)" }.joined(separator: ", ")
        for name in options.droppedTables {
            let choice = try TableChoice(name)
            if stored.tables.contains(where: { choice.isName(of: $0) }) { continue }
            throw SourceError(.usage, "the store follows \(names), not \(choice.title)")
        }
        if options.usesChangeTable, stored.way == .stream { throw refuse("the source's log") }
        if let slot = options.slot, slot != stored.slot { throw refuse("the slot \(stored.slot)") }
        if let publication = options.publication, publication != stored.publication {
            throw refuse("the publication \(stored.publication)")
        }
    }

    /// Throws an error of the kind `usage` if followed tables are to get other entities, or keys that no trigger notes.
    static func requireSameTables(_ options: FollowOptions, of stored: FollowedSource) throws {
        for choice in options.tables {
            guard let table = stored.tables.first(where: { choice.isName(of: $0) }) else { continue }
            func refuse(_ what: String) -> SourceError {
                SourceError(.usage, "the store follows \(table.title)=\(table.entity), and \(what)", remedy: .end)
            }
            if choice.entity != table.entity { throw refuse("the entity of \(choice.title) cannot change") }
            if let shard = choice.shard, shard != table.shard {
                throw refuse("the attribute for the source's name cannot change")
            }
            if choice.key != nil, table.wholeRow != nil {
                throw SourceError(
                    .usage, "the store follows \(table.title)=\(table.entity) by whole rows",
                    remedy: .startAnew(entity: table.entity))
            }
            if let key = choice.key, stored.way == .changeTable, Set(key) != Set(table.key) {
                throw refuse("the triggers of \(choice.title) note its key \(table.keyTitle)")
            }
        }
    }

    static func requireEntities(
        of options: FollowOptions, named name: String, in opened: PersistentContainer?
    ) throws {
        let followed = try opened?.followedSource(named: name, as: FollowedSource.self)?.tables.map(\.entity) ?? []
        let known = Set(options.tables.map(\.entity) + followed + [""])
        if let name = options.unstorable.keys.sorted().first(where: { !known.contains($0) }) {
            throw SourceError(.usage, "no table is followed as the entity \"\(name)\"")
        }
    }

    // MARK: Conditions

    static func requireFilters(_ tables: [SourceTable], _ connection: Connection) throws {
        guard connection.serverVersion < firstWithFilters,
            let table = tables.first(where: { $0.choice.condition != nil })
        else { return }
        throw SourceError(
            .refused,
            "a condition for \(table.choice.title) needs PostgreSQL 15 or later, but the source is PostgreSQL \(connection.serverVersion / 10_000)"
        )
    }

    /// Refuses conditions whose functions aren't IMMUTABLE, such as `now()` and `random()`, because no trigger fires when
    /// their results change. PostgreSQL refuses such conditions for an index, so this creates an
    /// index with the condition on an empty temporary table, and rolls back. If the role may not create the table, or
    /// the session may only read, only warns. Publications check their conditions themselves.
    static func requireLasting(
        _ tables: [SourceTable], _ connection: Connection, _ report: (FollowEvent) -> Void
    ) throws {
        for table in tables {
            guard let condition = table.choice.condition else { continue }
            defer { _ = try? connection.execute("ROLLBACK") }
            let name = table.choice.name.quotedName
            do {
                try connection.execute("BEGIN; CREATE TEMPORARY TABLE \(name) (LIKE \(table.choice.quoted))")
                try connection.execute("CREATE INDEX ON pg_temp.\(name) ((1)) WHERE (\(condition))")
            } catch let error as SourceError where error.code == "42P17" {
                throw SourceError(
                    .usage,
                    "the outcome of the condition \(condition) may change while the row stays the same, and no trigger notes that"
                )
            } catch let error as SourceError where ["42501", "25006"].contains(error.code) {
                report(.warning("whether the condition \(condition) depends on the time cannot be checked: \(error)"))
            } catch let error as SourceError where error.kind == .refused {
                throw SourceError(
                    .usage, "the condition \(condition) must use only the table's columns: \(error)")
            }
        }
    }
}
