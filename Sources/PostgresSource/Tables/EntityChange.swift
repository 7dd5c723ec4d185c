internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

/// The new form of an entity whose table has changed. Attributes may be added, removed and renamed: these changes of
/// the model are free, they rewrite no record. A change that needs more is refused.
struct EntityChange {
    let entity: Entity
    /// The names of the columns that the entity no longer has.
    let removed: [String]

    /// Computes the entity for a changed table, which the store remembers as `table`. Throws `SourceError` for a change
    /// that isn't free, and if a column's name is taken; `StoreError` if the entity is missing.
    init(_ change: TableChange, of table: FollowedSource.Table, in model: Model) throws {
        guard let stored = model.entity(named: table.entity) else { throw StoreError.unknownEntity(table.entity) }
        let kept = Set(change.followed.columns.map { change.renamed[$0.name] ?? $0.name })
        removed = table.columns.map(\.name).filter { !kept.contains($0) }
        var attributes = Self.remaining(of: stored, without: removed, change.presentNames)
        for column in change.followed.columns {
            try Self.requireOtherName(than: stored.relationships, column.name, table)
            guard let current = change.table.columns.first(where: { $0.number == column.number }) else { continue }
            let type = change.table.type(of: current)
            if let known = attributes.first(where: { $0.name == column.name }) {
                try Self.requireType(type, of: known, current, table, isSameTable: change.table.number == table.number)
            } else {
                try Self.requireUnused(column.name, in: stored, removed, table)
                attributes.append(AttributeDescription(column.name, type))
            }
        }
        entity = Self.entity(stored, with: attributes, without: removed, change.presentNames)
        try Self.requireKey(change.followed.key, in: entity, table)
    }

    /// The attributes that stay, under their present names.
    private static func remaining(
        of stored: Entity, without removed: [String], _ presentNames: [String: String]
    ) -> [AttributeDescription] {
        stored.attributes.filter { !removed.contains($0.name) }.map { attribute in
            guard let name = presentNames[attribute.name] else { return attribute }
            return AttributeDescription(
                name, attribute.type, isOptional: attribute.isOptional, isUnique: attribute.isUnique,
                defaultValue: attribute.defaultValue, renamedFrom: attribute.name, derivation: attribute.derivation)
        }
    }

    private static func entity(
        _ stored: Entity, with attributes: [AttributeDescription], without removed: [String],
        _ presentNames: [String: String]
    ) -> Entity {
        Entity(
            stored.name, attributes, relationships: stored.relationships,
            unique: stored.uniqueAttributes.filter { Set($0).isDisjoint(with: removed) }.map { names in
                names.map { presentNames[$0] ?? $0 }
            },
            removed: removed.filter { name in !attributes.contains { $0.name == name } },
            superentity: stored.superentity,
            isAbstract: stored.isAbstract)
    }

    // MARK: Refusals

    private static func requireOtherName(
        than relationships: [RelationshipDescription], _ name: String, _ table: FollowedSource.Table
    ) throws {
        guard relationships.contains(where: { $0.name == name }) else { return }
        throw SourceError(
            .refused,
            "\(table.title).\(name) has the name of a relationship of \(table.entity), so the column needs another name",
            remedy: .startAnew(entity: table.entity))
    }

    /// Refuses a new column with the former name of another attribute, whose values would be read as the column's.
    private static func requireUnused(
        _ name: String, in stored: Entity, _ removed: [String], _ table: FollowedSource.Table
    ) throws {
        guard stored.slot(of: name) != nil, !removed.contains(name) else { return }
        throw SourceError(
            .refused, "\(table.title).\(name) has a name that another column of \(table.entity) had",
            remedy: .startAnew(entity: table.entity))
    }

    private static func requireKey(_ key: [String], in entity: Entity, _ table: FollowedSource.Table) throws {
        let slots = key.compactMap { entity.slot(of: $0) }
        guard slots.count < key.count || entity.uniqueConstraint(ofSlots: slots) == nil else { return }
        throw SourceError(
            .refused,
            "\(table.title).\(key.joined(separator: ",")), which identifies rows, has the name of another column now",
            remedy: .startAnew(entity: table.entity))
    }

    private static func requireType(
        _ type: ValueType, of attribute: AttributeDescription, _ column: SourceTable.Column,
        _ table: FollowedSource.Table, isSameTable: Bool
    ) throws {
        guard attribute.type != type else { return }
        if isSameTable, table.columns.contains(where: { $0.name == column.name && $0.number != column.number }) {
            throw SourceError(
                .refused, "\(table.title).\(column.name) is another column now, of the type \(column.typeName)",
                remedy: .startAnew(entity: table.entity))
        }
        let name = attribute.renamedFrom ?? attribute.name
        throw SourceError(
            .refused,
            "\(table.title).\(column.name) has another type now, \(column.typeName), but \(table.entity).\(name) is stored as "
                + attribute.type.name,
            remedy: .convert(entity: table.entity, attribute: name, type: type.name))
    }
}
