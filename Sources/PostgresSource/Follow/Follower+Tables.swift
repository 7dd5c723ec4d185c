internal import FetchIndex
internal import FetchIndexModels

// Tables that a store begins or ceases to follow, while it follows others.
//
//     drop, or add and change ──▶ noted in the store (`mark` is nil) ──▶ publication altered ──▶ `mark` set, copies due
//
// A process that is ended in between leaves the rest to the next one, which finds `mark` nil.
extension Follower {
    /// Takes the tables that the options name out of the description, also if the source no longer has them; `changeTables`
    /// stores it. Unless all tables are copied again, throws `SourceError` if changes of the other tables may be missing.
    func dropTables(copiesAgain: Bool) throws {
        let choices = try options.droppedTables.map { try TableChoice($0) }
        let dropped = source.tables.filter { table in choices.contains { $0.isName(of: table) } }
        guard position != nil, !dropped.isEmpty else { return }
        guard dropped.count < source.tables.count else {
            throw SourceError(.usage, "no table would be left", remedy: .end)
        }
        let gone = Set(dropped.map(\.entity))
        source.tables.removeAll { gone.contains($0.entity) }
        for index in source.tables.indices {
            try followRename(of: index)
            source.tables[index].references.removeAll { gone.contains($0.entity) }
        }
        source.formerTables = (source.formerTables ?? []) + dropped.map(\.number)
        if copiesAgain || source.mark == nil { return }
        // The marks of the tables that stay are among the known ones.
        let mark = try sourceMark()
        func parts(_ mark: String?) -> Set<Substring> { Set(mark?.split(separator: " ") ?? []) }
        if mark == nil || !parts(mark).isSubset(of: parts(source.mark)) { try checkMark() }
        source.mark = mark
    }

    /// Adds the tables that the options name and the store doesn't follow yet, gives followed ones other conditions,
    /// columns, keys and texts, and stores that others were dropped. New and changed tables are copied while the others are
    /// followed. Throws `SourceError` before anything is changed if a table can't be followed in that way.
    func changeTables() throws {
        // The options may name a renamed table by its new name.
        if !options.tables.isEmpty { for index in source.tables.indices { try followRename(of: index) } }
        try FollowPreparation.requireSameTables(options, of: source)
        let new = options.tables.filter { choice in !source.tables.contains { choice.isName(of: $0) } }
        let changed = options.tables.filter { choice in
            source.tables.contains { choice.isName(of: $0) && !choice.matches($0) }
        }
        let isDropping = stored.source.map { $0.tables.count > source.tables.count } ?? false
        guard position != nil, !new.isEmpty || !changed.isEmpty || isDropping else { return }
        try checkMark()
        // The publication needs the present names of columns. The source needn't send a key any more that is to change.
        for index in source.tables.indices where !changed.contains(where: { $0.isName(of: source.tables[index]) }) {
            try followChanges(ofTable: index)
        }
        try group.changingModel { try changeTables(new, changed) }
        try takeOverTables()
    }

    private func changeTables(_ new: [TableChoice], _ changed: [TableChoice]) throws {
        try readOthers()
        let model = try container.model()
        let replacements = try changed.compactMap { try replacement(for: $0, in: model) }
        let replaced = model.replacing(replacements.compactMap(\.migrated?.entity))
        let addition = try new.isEmpty ? nil : addition(of: new, to: replaced)
        var planned = source.tables
        for replacement in replacements { planned[replacement.index] = replacement.table }
        try requirePublication(of: planned + (addition?.tables ?? []))
        // The model and the description change in one transaction: rows must fit both.
        let writer = try beginWriting()
        let cleared = replacements.compactMap(\.migrated).map { ($0.entity.name, $0.cleared) }
        try writer.migrate(
            to: addition?.model ?? replaced, clearing: Dictionary(cleared) { first, _ in first }, author: "postgres")
        for replacement in replacements {
            if var change = replacement.change, let migrated = replacement.migrated {
                change.followed = replacement.table
                source.tables[replacement.index] = try adopted(change, migrated, replacement.index)
            } else {
                source.tables[replacement.index] = replacement.table
            }
        }
        if let addition {
            for (index, references) in zip(source.tables.indices, addition.references) {
                source.tables[index].references += references
            }
            source.tables += addition.tables
        }
        source.mark = nil
        try commit(writer)
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

    /// Throws `SourceError` if the source refuses a publication of these tables, or if a given one doesn't have them.
    private func requirePublication(of tables: [FollowedSource.Table]) throws {
        guard source.way == .stream else { return }
        let known = source.tables
        source.tables = tables
        defer { source.tables = known }
        try source.ownsPublication ? setPublication(isTrial: true) : checkPublication()
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

    // MARK: Another condition or key, other columns or texts

    private struct Replacement {
        let index: Int
        let table: FollowedSource.Table
        /// The change of the columns, if any.
        let change: TableChange?
        let migrated: EntityChange?
    }

    private func replacement(for choice: TableChoice, in model: Model) throws -> Replacement? {
        guard let index = source.tables.firstIndex(where: { choice.isName(of: $0) }) else { return nil }
        let stored = source.tables[index]
        let remembered = try RememberedTable(stored, filter: filter(of: stored), connection)
        var wanted = try remembered.choice()
        wanted.condition = choice.condition ?? wanted.condition
        wanted.columns = choice.columns ?? wanted.columns
        wanted.key = choice.key ?? wanted.key
        if !choice.asText.isEmpty { wanted.asText = choice.asText }
        try requireUnreferenced(stored, choice)
        let table = try SourceTable(wanted, connection, source.way)
        try require([table])
        try table.checkCondition(connection)
        let change = try TableChange(from: remembered, to: table, streamed: nil, rewritesAreSilent: false)
        var followed = change?.followed ?? stored
        followed.condition = choice.condition ?? stored.condition
        if choice.condition != nil { followed.filter = nil }
        if choice.columns != nil { followed.followsNewColumns = false }
        followed.copy.requireCopy()
        let migrated = try change.map { try EntityChange($0, of: stored, besides: others, in: model, isChosen: true) }
        return Replacement(index: index, table: followed, change: change, migrated: migrated)
    }

    /// Throws `SourceError` if the choice changes what relationships depend on: a key that foreign keys of other tables
    /// name, or the type of such a key's column or of a foreign key's.
    private func requireUnreferenced(_ table: FollowedSource.Table, _ choice: TableChoice) throws {
        let changed = choice.asText.isEmpty ? [] : Set(choice.asText).symmetricDifference(table.asText)
        func refuse(_ what: String, _ other: FollowedSource.Table) -> SourceError {
            SourceError(
                .refused, "\(what) cannot change, because foreign keys of \(other.title) name it",
                remedy: .startAnew(entity: table.entity))
        }
        if let other = source.tables.first(where: { $0.references.contains { $0.entity == table.entity } }) {
            if let key = choice.key, Set(key) != Set(table.key) { throw refuse("the key of \(table.title)", other) }
            if let column = (table.key + table.otherKeys.flatMap(\.self)).first(where: changed.contains) {
                throw refuse("the type of \(table.title).\(column)", other)
            }
        }
        if let column = table.references.flatMap(\.columns).first(where: changed.contains) {
            throw refuse("the type of \(table.title).\(column)", table)
        }
    }

    // MARK: New tables

    private struct Addition {
        let tables: [FollowedSource.Table]
        let model: Model
        /// For each table that is followed already, its foreign keys to the new tables.
        let references: [[FollowedSource.Reference]]
    }

    /// The tables with their entities, and the relationships for foreign keys between them and the followed tables.
    private func addition(of choices: [TableChoice], to stored: Model) throws -> Addition {
        let new = Set(choices.map(\.entity))
        guard new.count == choices.count, new.isDisjoint(with: source.tables.map(\.entity)) else {
            throw SourceError(.usage, "two tables cannot become one entity", remedy: .chooseEntity(orDrop: nil))
        }
        let added = try SourceTable.read(choices, connection, source.way)
        try require(added)
        let known = try source.tables.map { table in
            let remembered = try RememberedTable(table, filter: filter(of: table), connection)
            return try SourceTable(remembered.choice(), connection, source.way)
        }
        let plan = try EntityPlan(known + added, relating: new, in: stored, besides: others)
        for name in new.sorted() where !plan.shared.contains(name) { try requireUnused(name, in: stored) }
        var tables = Array(plan.tables[known.count...])
        for index in tables.indices {
            let table = tables[index]
            tables[index].unstorable = options.unstorable[table.entity] ?? options.unstorable[""] ?? .error
            // The log may have rows of a table that was followed before, whose deletion wasn't sent.
            let isKnown =
                try source.formerTables?.contains(table.number) == true || container.hasObjects(of: table, name)
            if isKnown { tables[index].copy.requireCopy() }
        }
        if source.way == .changeTable { _ = try ChangeTable.mark(of: source.tables + tables, connection) }
        return Addition(
            tables: tables, model: stored.adding(plan.entities, new),
            references: plan.tables[..<known.count].map { $0.references.filter { new.contains($0.entity) } })
    }

    private func requireUnused(_ name: String, in model: Model) throws {
        guard let entity = model.entity(named: name) else { return }
        try FollowPreparation.requireEmpty(name, in: container)
        if entity.relationships.isEmpty { return }
        throw SourceError(
            .refused,
            "the store has an entity \(name) with relationships already, but tables are followed into new entities",
            remedy: .chooseEntity(orDrop: name))
    }
}

extension Model {
    /// The model with new entities, and with the relationships of stored entities that lead to them.
    fileprivate func adding(_ given: [Entity], _ new: Set<String>) -> Model {
        let kept = entities.filter { !new.contains($0.name) }.map { entity in
            let others = given.first { $0.name == entity.name }?.relationships.filter { new.contains($0.destination) }
            return others.map { $0.isEmpty ? entity : entity.adding($0) } ?? entity
        }
        return Model(entities: kept + given.filter { new.contains($0.name) }, requests: requests)
    }
}
