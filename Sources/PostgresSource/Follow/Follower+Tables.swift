internal import FetchIndex
internal import FetchIndexModels

// Tables that a store begins or ceases to follow, while it follows others.
extension Follower {
    /// Adds the tables that the options name and the store doesn't follow yet, and drops those that they say. The added
    /// tables are copied while the others are followed. First stores what is to change, so that a follower that is killed
    /// meanwhile goes on with it. Throws `SourceError` before anything is changed if a table can't be followed.
    func changeTables() throws {
        let new = options.tables.filter { choice in !source.tables.contains { choice.isName(of: $0) } }
        let dropped = try options.droppedTables.compactMap { try droppedTable($0) }
        guard position != nil, !new.isEmpty || !dropped.isEmpty else { return }
        guard dropped.count < source.tables.count + new.count else {
            throw SourceError(.usage, "no table would be left", remedy: .end)
        }
        if !new.isEmpty { try add(new) }
        source.tables.removeAll { table in dropped.contains { $0.number == table.number } }
        for index in source.tables.indices {
            source.tables[index].references.removeAll { reference in dropped.contains { $0.entity == reference.entity }
            }
        }
        source.formerTables = (source.formerTables ?? []) + dropped.map(\.number)
        source.mark = nil
        try storePosition()
        try takeOverTables()
    }

    /// Gives the publication the followed tables, after they were changed.
    func takeOverTables() throws {
        if source.way == .stream, source.ownsPublication { try setPublication() }
        source.mark = try sourceMark()
        if source.way == .stream {
            // Changes of the new tables are sent from here on. The copies wait until the stream has come so far.
            let end = try endOfLog()
            for index in source.tables.indices where !source.tables[index].copy.hasBegun {
                source.tables[index].copy.wait(after: end)
            }
        }
        try storePosition()
    }

    private func droppedTable(_ name: String) throws -> FollowedSource.Table? {
        let choice = try TableChoice(name)
        return source.tables.first { choice.isName(of: $0) }
    }

    /// Adds tables to the source's description and their entities to the store, with relationships for foreign keys
    /// between them and the tables that are followed already.
    private func add(_ choices: [TableChoice]) throws {
        let added = try SourceTable.read(choices, connection, source.way)
        if source.way == .stream {
            try FollowPreparation.requireFilters(added, connection)
        } else {
            try FollowPreparation.requireLasting(added, connection, tell)
        }
        let makesPublication = source.way == .stream && source.ownsPublication
        try SourceRights(connection).require(added, makesPublication: makesPublication)
        let known = try source.tables.map { table in
            let remembered = try RememberedTable(table, filter: filter(of: table), connection)
            return try SourceTable(remembered.choice(), connection, source.way)
        }
        let (followed, entities) = try SourceTable.followed(known + added)
        let new = Set(choices.map(\.entity))
        guard new.count == choices.count, new.isDisjoint(with: source.tables.map(\.entity)) else {
            throw SourceError(.usage, "two tables cannot become one entity", remedy: .chooseEntity(orDrop: nil))
        }
        for name in new.sorted() { try requireEmpty(name) }
        let extended = followed.filter { new.contains($0.entity) }
        if source.way == .changeTable { _ = try ChangeTable.mark(of: source.tables + extended, connection) }
        try container.migrate(to: model(with: entities, new))
        for index in source.tables.indices {
            source.tables[index].references += followed[index].references.filter { new.contains($0.entity) }
        }
        source.tables += extended
        source.consistentFrom = nil
    }

    private func requireEmpty(_ entity: String) throws {
        guard try container.model().entity(named: entity) != nil else { return }
        let count = try container.count(ofEntity: entity)
        if count == 0 { return }
        throw SourceError(
            .refused,
            "the store has objects of \(entity) already (\(count)), but tables are followed into new or empty entities",
            remedy: .chooseEntity(orDrop: entity))
    }

    /// The store's model with new entities, and with the relationships of stored entities that lead to them.
    private func model(with entities: [Entity], _ new: Set<String>) throws -> Model {
        let stored = try container.model()
        let extended = stored.entities.map { entity -> Entity in
            guard let given = entities.first(where: { $0.name == entity.name }), !new.contains(entity.name) else {
                return entity
            }
            let relationships = given.relationships.filter { new.contains($0.destination) }
            return relationships.isEmpty ? entity : entity.adding(relationships)
        }
        return Model(
            entities: extended.filter { !new.contains($0.name) } + entities.filter { new.contains($0.name) },
            requests: stored.requests)
    }
}

extension TableChoice {
    /// Whether the choice is for a followed table.
    func isName(of table: FollowedSource.Table) -> Bool { schema == table.schema && name == table.name }
}

extension Entity {
    fileprivate func adding(_ others: [RelationshipDescription]) -> Entity {
        Entity(
            name, attributes, relationships: relationships + others, unique: uniqueAttributes, indexes: indexes,
            superentity: superentity, isAbstract: isAbstract)
    }
}
