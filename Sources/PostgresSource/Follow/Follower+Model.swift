internal import FetchIndex
internal import Models
internal import OrderCaches
internal import Records
internal import Values

// Tables that change while they are followed.
extension Follower {
    /// Lets the entity follow a table whose columns are others now: added, removed and renamed columns are free changes of the model. Throws
    /// `SourceError` for what is none, before anything of the table's new rows is written.
    func follow(changesOf streamed: StreamedTable) throws {
        if try isFollowed(streamed) { return }
        let index = try index(of: streamed)
        let table = source.tables[index]
        let sent = Set(streamed.columns.map(\.name))
        let choice = choice(of: table)
        // As it is now, which may be newer than what the stream describes.
        let now = try SourceTable(choice, connection)
        var columns: [FollowedSource.Column] = []
        var renamed: [String: String] = [:]
        var needsCopy = false
        for column in streamed.columns {
            let current = now.columns.first { $0.name == column.name }
            var known = table.columns.first { $0.name == column.name }
            if known == nil, let number = current?.number,
                let old = table.columns.first(where: { $0.number == number && !sent.contains($0.name) })
            {
                renamed[column.name] = old.name
                known = old
            }
            guard known != nil || table.followsNewColumns else { continue }
            if let known, known.type != column.type { try requireSameType(known, column, current, table) }
            if known == nil {
                if let current { _ = try now.type(of: current) }
                // Rows that are there have it without having been changed.
                needsCopy = needsCopy || (current?.hasDefault ?? false)
            }
            columns.append(
                FollowedSource.Column(
                    name: column.name, number: current?.number ?? known?.number ?? 0, type: column.type))
        }
        try adopt(columns, renamed, now, index)
        if needsCopy {
            source.tables[index].isCopied = false
            tell(.warning("\(choice.title) has a new column with a default value: its rows are copied again"))
            copyIsDue = true
        }
    }

    /// Whether a table has the columns that are followed, and no others that should be.
    func isFollowed(_ streamed: StreamedTable) throws -> Bool {
        let table = source.tables[try index(of: streamed)]
        let sent = Dictionary(streamed.columns.map { ($0.name, $0.type) }) { first, _ in first }
        return table.columns.allSatisfy { sent[$0.name] == $0.type }
            && (!table.followsNewColumns || table.columns.count == streamed.columns.count)
    }

    private func choice(of table: FollowedSource.Table) -> TableChoice {
        TableChoice(
            schema: table.schema, name: table.name, entity: table.entity, key: table.key, condition: table.condition,
            columns: table.followsNewColumns ? nil : table.columns.map(\.name), asText: table.asText)
    }

    private func requireSameType(
        _ known: FollowedSource.Column, _ column: StreamedTable.Column, _ current: SourceTable.Column?,
        _ table: FollowedSource.Table
    ) throws {
        let snapshot = try container.store.snapshot()
        let entity = snapshot.model.entities[try snapshot.model.number(of: table.entity)]
        let stored = entity.type(at: try entity.requireSlot(of: known.name))
        let isText = table.asText.contains(known.name)
        let new = isText ? .string : ColumnValue.type(of: current?.baseType ?? column.type)
        guard new == stored, isText || !(current?.isArray ?? false) else {
            throw SourceError(
                .refused,
                "\(table.schema).\(table.name).\(column.name) is of another type now, \(current?.typeName ?? new.name), and "
                    + "\(table.entity).\(known.name) is stored as \(stored.name): `fetchindex model migrate STORE --entity \(table.entity) "
                    + "--change \(known.name):\(new.name)` converts it, then follow again")
        }
    }

    private func adopt(
        _ columns: [FollowedSource.Column], _ renamed: [String: String], _ now: SourceTable, _ index: Int
    ) throws {
        let table = source.tables[index]
        guard columns.contains(where: { $0.name == table.key || renamed[$0.name] == table.key }) else {
            throw SourceError(
                .refused, "\(table.schema).\(table.name) has lost its column \(table.key), which names its rows")
        }
        let model = try container.model()
        guard let stored = model.entity(named: table.entity) else { throw StoreError.unknownEntity(table.entity) }
        let kept = Set(columns.map { renamed[$0.name] ?? $0.name })
        let removed = table.columns.map(\.name).filter { !kept.contains($0) }
        let newNames = Dictionary(uniqueKeysWithValues: renamed.map { ($1, $0) })
        var attributes = stored.attributes.filter { !removed.contains($0.name) }.map { attribute in
            guard let name = newNames[attribute.name] else { return attribute }
            return AttributeDescription(
                name, attribute.type, isOptional: attribute.isOptional, isUnique: attribute.isUnique,
                defaultValue: attribute.defaultValue, renamedFrom: attribute.name, derivation: attribute.derivation)
        }
        for column in columns where !attributes.contains(where: { $0.name == column.name }) {
            let current = now.columns.first { $0.name == column.name }
            let type = try current.map { try now.type(of: $0) } ?? ColumnValue.type(of: column.type)
            attributes.append(AttributeDescription(column.name, type))
        }
        let entity = Entity(
            stored.name, attributes, relationships: stored.relationships,
            unique: stored.uniqueAttributes.filter { Set($0).isDisjoint(with: removed) }, removed: removed,
            superentity: stored.superentity, isAbstract: stored.isAbstract)
        try container.migrate(
            to: Model(entities: model.entities.map { $0.name == entity.name ? entity : $0 }))
        source.tables[index].columns = columns
        if let key = newNames[table.key] { source.tables[index].key = key }
        source.tables[index].references = table.references.compactMap { reference in
            guard !removed.contains(reference.column) else { return nil }
            var reference = reference
            reference.column = newNames[reference.column] ?? reference.column
            return reference
        }
    }
}
