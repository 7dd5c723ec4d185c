internal import FetchIndex
internal import FetchIndexModels

// Tables that a store begins or ceases to follow, while it follows others.
extension Follower {
    /// Adds the tables that the options name and the store doesn't follow yet, gives followed ones other conditions and
    /// columns, and drops those that the options say. Added and changed tables are copied while the others are followed.
    /// First stores what is to change, so that a follower that is killed meanwhile goes on with it. Throws `SourceError`
    /// if a table can't be followed, without changing it.
    func changeTables() throws {
        let new = options.tables.filter { choice in !source.tables.contains { choice.isName(of: $0) } }
        let dropped = try options.droppedTables.compactMap { try droppedTable($0) }
        let changed = options.tables.filter { choice in
            source.tables.contains { choice.isName(of: $0) && !choice.matches($0) }
        }
        guard position != nil, !new.isEmpty || !dropped.isEmpty || !changed.isEmpty else { return }
        guard dropped.count < source.tables.count + new.count else {
            throw SourceError(.usage, "no table would be left", remedy: .end)
        }
        for choice in changed { try replace(choice) }
        if !new.isEmpty { try add(new) }
        let gone = Set(dropped.map(\.entity))
        source.tables.removeAll { gone.contains($0.entity) }
        for index in source.tables.indices {
            source.tables[index].references.removeAll { gone.contains($0.entity) }
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
            for index in source.tables.indices { source.tables[index].copy.wait(after: end) }
        }
        try storePosition()
    }

    /// Gives a followed table another condition or other columns.
    private func replace(_ choice: TableChoice) throws {
        guard let index = source.tables.firstIndex(where: { choice.isName(of: $0) }) else { return }
        let stored = source.tables[index]
        let remembered = try RememberedTable(stored, filter: filter(of: stored), connection)
        var wanted = try remembered.choice()
        wanted.condition = choice.condition ?? wanted.condition
        wanted.columns = choice.columns ?? wanted.columns
        let table = try SourceTable(wanted, connection, source.way)
        try require([table])
        try table.checkCondition(connection)
        let change = try TableChange(from: remembered, to: table, streamed: nil, rewritesAreSilent: false)
        var followed = change?.followed ?? stored
        followed.condition = choice.condition ?? stored.condition
        if choice.condition != nil { followed.filter = nil }
        if choice.columns != nil { followed.followsNewColumns = false }
        followed.copy.requireCopy()
        if var change {
            change.followed = followed
            try adopt(change, index)
        } else {
            source.tables[index] = followed
        }
    }

    /// Checks that tables can be followed with their conditions, and that the role has the rights for them.
    private func require(_ tables: [SourceTable]) throws {
        if source.way == .stream {
            try FollowPreparation.requireFilters(tables, connection)
        } else {
            try FollowPreparation.requireLasting(tables, connection, tell)
        }
        let makesPublication = source.way == .stream && source.ownsPublication
        try SourceRights(connection).require(tables, makesPublication: makesPublication)
    }

    private func droppedTable(_ name: String) throws -> FollowedSource.Table? {
        let choice = try TableChoice(name)
        return source.tables.first { choice.isName(of: $0) }
    }

    /// Adds tables to the source's description and their entities to the store, with relationships for foreign keys
    /// between them and the tables that are followed already.
    private func add(_ choices: [TableChoice]) throws {
        let added = try SourceTable.read(choices, connection, source.way)
        try require(added)
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

extension Entity {
    fileprivate func adding(_ others: [RelationshipDescription]) -> Entity {
        Entity(
            name, attributes, relationships: relationships + others, unique: uniqueAttributes, indexes: indexes,
            superentity: superentity, isAbstract: isAbstract)
    }
}
