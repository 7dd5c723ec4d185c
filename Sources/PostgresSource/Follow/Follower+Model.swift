internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

// Tables that change while they are followed.
extension Follower {
    /// Whether the stream describes a table as the store has it. What it does not tell, the catalogue does: it is asked for each
    /// description, which are few.
    func isFollowed(_ streamed: StreamedTable) throws -> Bool {
        guard let index = try index(of: streamed) else { return true }
        let table = source.tables[index]
        guard streamed.columns.contains(where: { $0.isIdentity && $0.name == table.key }) else { return false }
        return try relevantChange(of: index, streamed) == nil
    }

    /// Lets the entity follow a table that is another one now: added, removed and renamed columns are free changes of the model; where
    /// the source has changed rows without sending them, or that cannot be known, the table is copied again. Throws `SourceError`
    /// for what is no free change, before anything is written.
    func followChanges(ofTable index: Int, _ streamed: StreamedTable? = nil) throws {
        guard let change = try relevantChange(of: index, streamed) else { return }
        try adopt(change, index)
        guard change.needsCopy else { return }
        source.tables[index].requireCopy()
        copyIsDue = true
        tell(
            .warning(
                "\(source.tables[index].title) was changed in a way that its rows do not tell; they are copied again"))
    }

    /// What has changed of a table that the store depends on. The rest is taken over at once.
    func relevantChange(of index: Int, _ streamed: StreamedTable? = nil) throws -> TableChange? {
        let change = try change(of: index, streamed)
        if change.isNone { return nil }
        if change.needsCopy || !change.followed.isSame(as: source.tables[index]) { return change }
        source.tables[index] = change.followed
        return nil
    }

    /// Takes over what the catalogue has now, before a table is copied.
    func adoptCatalogue(_ index: Int) throws {
        let change = try change(of: index, nil)
        if change.isNone { return }
        try adopt(change, index)
        // What was copied has other columns.
        if change.needsCopy, source.tables[index].copiedThrough != nil { source.tables[index].requireCopy() }
    }

    /// What has become of a table since the store last looked.
    struct TableChange {
        var table: SourceTable
        /// Old names by new ones.
        var renamed: [String: String] = [:]
        var followed: FollowedSource.Table
        var needsCopy = false
        var isNone = false
    }

    /// Throws where a table is not there, or cannot be followed any more.
    func requireTable(_ index: Int) throws {
        let change = try change(of: index, nil)
        if !change.isNone { _ = try entity(for: change, index) }
    }

    /// The condition of a table as the publication has it, which knows its columns by their numbers.
    func filter(of table: FollowedSource.Table) throws -> String? {
        guard source.way == .stream, source.ownsPublication, table.condition != nil else { return nil }
        return try connection.value(
            """
            SELECT pg_catalog.pg_get_expr(r.prqual, r.prrelid)
            FROM pg_catalog.pg_publication_rel r JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid
            WHERE p.pubname = $1 AND r.prrelid = $2::oid
            """, [source.publication, "\(table.number)"])
    }

    /// Whether the catalogue is what it was, marks too.
    func isUnchanged(_ index: Int) throws -> Bool { try change(of: index, nil).isNone }

    private func change(of index: Int, _ streamed: StreamedTable?) throws -> TableChange {
        var stored = source.tables[index]
        stored.filter = try filter(of: stored) ?? stored.filter
        var choice = TableChoice(stored)
        let names = try connection.execute(
            """
            SELECT a.attnum, a.attname, c.oid FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped
            """, [stored.schema, stored.name], columns: 3)
        if names.isEmpty { throw SourceError(.refused, "the source has no table \(stored.title)") }
        // Columns are the same by their numbers, whatever they are called now; in another table, by their names.
        if let other = names.first?[2], UInt32(other) != stored.number {
            for column in stored.columns.indices {
                let same = names.first { $0[1] == stored.columns[column].name }
                stored.columns[column].number = same?[0].flatMap { Int($0) } ?? 0
            }
            stored.width = 0
        }
        let numbers = Dictionary(stored.columns.map { ($0.name, $0.number) }) { first, _ in first }
        func present(_ name: String) -> String? {
            names.first { $0[0].flatMap { Int($0) } == numbers[name] }.flatMap { $0[1] }
        }
        guard let key = present(stored.key) else {
            throw SourceError(.refused, "\(stored.title) has lost its column \(stored.key), which names its rows")
        }
        choice.key = key
        choice.columns = choice.columns.map { $0.compactMap { present($0) } }
        choice.asText = choice.asText.map { present($0) ?? $0 }.filter { name in names.contains { $0[1] == name } }
        let table: SourceTable
        do { table = try SourceTable(choice, connection, source.way) } catch let error as SourceError
            where error.description.hasPrefix("--where")
        {
            throw SourceError(
                .refused,
                "\(stored.title) does not fit its condition any more (\(error)); --end ends following, so that it can be followed anew"
            )
        }
        var change = TableChange(table: table, followed: try table.followed())
        change.followed.references = stored.references
        (change.followed.condition, change.followed.filter) = (stored.condition, stored.filter)
        change.followed.followsNewColumns = stored.followsNewColumns
        (change.followed.isCopied, change.followed.copiedThrough) = (stored.isCopied, stored.copiedThrough)
        (change.followed.replaces, change.followed.changedUntil) = (stored.replaces, stored.changedUntil)
        // Rows that the source has changed meanwhile, it has sent without their keys.
        let isBlind =
            streamed.map { !$0.columns.contains { $0.isIdentity && [stored.key, key].contains($0.name) } } ?? false
        change.isNone = change.followed == source.tables[index] && !isBlind
        if change.isNone { return change }
        // Emptying a table and making it smaller give it another file too, and change no row that is sent. But one that a publication
        // does not name may have been unlogged for a while.
        let isRewritten = table.file != stored.file
        change.needsCopy = isBlind || isRewritten && source.way == .stream && !source.ownsPublication
        for column in change.followed.columns {
            let old = stored.columns.first { $0.number == column.number }
            if let old, old.name != column.name { change.renamed[column.name] = old.name }
            guard let old else {
                // Added with values, or one that was there and was not followed.
                let hasDefault = table.columns.first { $0.number == column.number }?.hasDefault ?? true
                let hasValues = hasDefault || isRewritten || column.number <= stored.width
                change.needsCopy = change.needsCopy || hasValues
                continue
            }
            let isRetyped = old.type != column.type || isRewritten && old.mark != column.mark
            let isRelabelled = !Set(old.labels).isSubset(of: column.labels)
            change.needsCopy = change.needsCopy || isRetyped || isRelabelled
        }
        // A name that means another column now: all values are copied under the names that they have.
        if change.followed.columns.contains(where: { column in
            stored.columns.contains { $0.name == column.name && $0.number != column.number }
        }) {
            (change.renamed, change.needsCopy) = ([:], true)
        }
        // Where the stream is older than the catalogue, what was between is not known.
        let isOlder = streamed.map { sent in
            change.followed.columns.contains { column in
                !sent.columns.contains { $0.name == column.name && $0.type == column.type }
            }
        }
        change.needsCopy = change.needsCopy || table.number != stored.number || isOlder ?? false
        return change
    }

    /// The entity as a changed table wants it, and its attributes that go. Throws for what is no free change.
    private func entity(for change: TableChange, _ index: Int) throws -> (entity: Entity, removed: [String]) {
        let (table, followed) = (source.tables[index], change.followed)
        let model = try container.model()
        guard let stored = model.entity(named: table.entity) else { throw StoreError.unknownEntity(table.entity) }
        let kept = Set(followed.columns.map { change.renamed[$0.name] ?? $0.name })
        let removed = table.columns.map(\.name).filter { !kept.contains($0) }
        let newNames = Dictionary(change.renamed.map { ($1, $0) }) { first, _ in first }
        var attributes = stored.attributes.filter { !removed.contains($0.name) }.map { attribute in
            guard let name = newNames[attribute.name] else { return attribute }
            return AttributeDescription(
                name, attribute.type, isOptional: attribute.isOptional, isUnique: attribute.isUnique,
                defaultValue: attribute.defaultValue, renamedFrom: attribute.name, derivation: attribute.derivation)
        }
        for column in followed.columns {
            if stored.relationships.contains(where: { $0.name == column.name }) {
                throw SourceError(
                    .refused,
                    "\(table.title).\(column.name) has the name of a relationship of \(table.entity): give the column another name, or "
                        + startsAnew(table))
            }
            guard let current = change.table.columns.first(where: { $0.number == column.number }) else { continue }
            let type = try change.table.type(of: current)
            if let known = attributes.first(where: { $0.name == column.name }) {
                let isSame = change.table.number == table.number
                try require(known, type, current, table, isSame)
            } else {
                if stored.slot(of: column.name) != nil, !removed.contains(column.name) {
                    throw SourceError(
                        .refused,
                        "\(table.title).\(column.name) has a name that another column of \(table.entity) had: \(startsAnew(table))"
                    )
                }
                attributes.append(AttributeDescription(column.name, type))
            }
        }
        guard attributes.contains(where: { $0.name == followed.key && $0.isUnique }) else {
            throw SourceError(
                .refused,
                "\(table.title).\(followed.key), which names rows, has the name of another column now: \(startsAnew(table))"
            )
        }
        let entity = Entity(
            stored.name, attributes, relationships: stored.relationships,
            unique: stored.uniqueAttributes.filter { Set($0).isDisjoint(with: removed) },
            removed: removed.filter { name in !attributes.contains { $0.name == name } },
            superentity: stored.superentity,
            isAbstract: stored.isAbstract)
        return (entity, removed)
    }

    private func startsAnew(_ table: FollowedSource.Table) -> String {
        "--end ends following, and `fetchindex model drop-entity STORE --entity \(table.entity)` drops the entity, so that it can be followed "
            + "anew"
    }

    private func adopt(_ change: TableChange, _ index: Int) throws {
        let (entity, removed) = try entity(for: change, index)
        let table = source.tables[index]
        var followed = change.followed
        let newNames = Dictionary(change.renamed.map { ($1, $0) }) { first, _ in first }
        try container.migrate(
            to: Model(entities: container.model().entities.map { $0.name == entity.name ? entity : $0 }))
        followed.references = table.references.compactMap { reference in
            guard !removed.contains(reference.column) else { return nil }
            var reference = reference
            reference.column = newNames[reference.column] ?? reference.column
            return reference
        }
        // Where rows are copied after it, none of the stream may be older than it.
        if source.way == .stream, change.needsCopy || !followed.isCopied {
            followed.changedUntil = try endOfLog().description
        }
        source.tables[index] = followed
    }

    private func require(
        _ known: AttributeDescription, _ type: ValueType, _ column: SourceTable.Column,
        _ table: FollowedSource.Table, _ isSameTable: Bool
    ) throws {
        guard known.type != type else { return }
        let name = known.renamedFrom ?? known.name
        if isSameTable, table.columns.contains(where: { $0.name == column.name && $0.number != column.number }) {
            throw SourceError(
                .refused,
                "\(table.title).\(column.name) is another column now, of the type \(column.typeName): \(startsAnew(table))"
            )
        }
        throw SourceError(
            .refused,
            "\(table.title).\(column.name) is of another type now, \(column.typeName), and \(table.entity).\(name) is stored as "
                + "\(known.type.name): `fetchindex model migrate STORE --entity \(table.entity) --change \(name):\(type.name)` converts "
                + "it, then follow again")
    }
}

extension FollowedSource.Table {
    /// Whether nothing is different but what the store does not depend on.
    fileprivate func isSame(as other: FollowedSource.Table) -> Bool {
        var (own, other) = (self, other)
        (own.file, other.file, own.width, other.width) = (0, 0, 0, 0)
        (own.filter, other.filter) = (nil, nil)
        func plain(_ column: FollowedSource.Column) -> FollowedSource.Column {
            FollowedSource.Column(name: column.name, number: column.number, type: column.type)
        }
        (own.columns, other.columns) = (own.columns.map(plain), other.columns.map(plain))
        return own == other
    }
}
