internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

/// The new form of an entity whose table has changed. Attributes may be added, removed and renamed: these changes of
/// the model are free, they rewrite no record. A change that needs more is refused, unless the user asked for it.
struct EntityChange {
    let entity: Entity
    /// The names of the columns that the entity no longer has.
    let removed: [String]
    /// The attributes that get another type than text, and are null until all rows are copied again.
    let cleared: [String]
    /// New columns that are left out, because no attribute can have their names, and the reasons.
    let leftOut: [(column: String, reason: String)]

    /// Computes the entity for a changed table, which the store remembers as `table`. `isChosen` says that the user chose
    /// another key, or other columns that are stored as text. Attributes of columns that other sources have stay. Throws
    /// `SourceError` for a change that isn't free, and if a column's name is taken; `StoreError` if the entity is missing.
    init(
        _ change: TableChange, of table: FollowedSource.Table, besides others: OtherSources, in model: Model,
        isChosen: Bool = false
    ) throws {
        guard let stored = model.entity(named: table.entity) else { throw StoreError.unknownEntity(table.entity) }
        let isShared = !others.tables(of: table.entity).isEmpty
        if isShared { try Self.requireSharedKey(change, table) }
        let kept = Set(change.followed.columns.map { change.renamed[$0.name] ?? $0.name })
            .union(others.columns(of: table.entity))
        removed = table.columns.map(\.name).filter { !kept.contains($0) }
        var attributes = ChangedAttributes(
            change, table, stored, without: removed, isShared: isShared, isChosen: isChosen)
        for column in change.followed.columns { try attributes.take(column) }
        (cleared, leftOut) = (attributes.cleared, attributes.leftOut)
        let lost = change.lostKeys(of: table)
        attributes.dropUniqueness(of: lost)
        let entity = Self.entity(stored, with: attributes.all, without: removed, lost, change.presentNames)
        self.entity =
            isChosen
            ? entity.replacingKey(
                table.keyAttributes, by: change.followed.keyAttributes,
                known: Set(table.columns.map { change.presentNames[$0.name] ?? $0.name }))
            : entity
        try Self.requireKey(change.followed.keyAttributes, in: self.entity, table)
    }

    private static func entity(
        _ stored: Entity, with attributes: [AttributeDescription], without removed: [String], _ lost: Set<Set<String>>,
        _ presentNames: [String: String]
    ) -> Entity {
        Entity(
            stored.name, attributes, relationships: stored.relationships,
            unique: stored.uniqueAttributes.filter { names in
                Set(names).isDisjoint(with: removed) && !lost.contains(Set(names))
            }.map { names in
                names.map { presentNames[$0] ?? $0 }
            },
            removed: removed.filter { name in !attributes.contains { $0.name == name } },
            superentity: stored.superentity,
            isAbstract: stored.isAbstract)
    }

    // MARK: Refusals

    private static func requireSharedKey(_ change: TableChange, _ table: FollowedSource.Table) throws {
        if Set(change.followed.key) == Set(table.key) { return }
        throw SourceError(
            .refused,
            "the key of \(table.title) is \(change.followed.keyTitle) now, but other sources fill \(table.entity) by \(table.keyTitle)",
            remedy: .end)
    }

    private static func requireKey(_ key: [String], in entity: Entity, _ table: FollowedSource.Table) throws {
        let slots = key.compactMap { entity.slot(of: $0) }
        guard slots.count < key.count || entity.uniqueConstraint(ofSlots: slots) == nil else { return }
        throw SourceError(
            .refused,
            "\(table.title).\(key.joined(separator: ",")), which identifies rows, has the name of another column now",
            remedy: .startAnew(entity: table.entity))
    }
}

/// The attributes of an entity whose table has changed, column by column.
private struct ChangedAttributes {
    private(set) var all: [AttributeDescription]
    private(set) var cleared: [String] = []
    private(set) var leftOut: [(column: String, reason: String)] = []
    private let change: TableChange
    private let table: FollowedSource.Table
    private let stored: Entity
    private let removed: [String]
    private let isShared: Bool
    /// Whether attributes get other types, because the user chose other columns that are stored as text.
    private let isConverted: Bool

    /// Begins with the attributes that stay, under their present names.
    init(
        _ change: TableChange, _ table: FollowedSource.Table, _ stored: Entity, without removed: [String],
        isShared: Bool, isChosen: Bool
    ) {
        (self.change, self.table, self.stored) = (change, table, stored)
        (self.removed, self.isShared) = (removed, isShared)
        isConverted = isChosen && Set(change.followed.asText) != Set(table.asText)
        all = stored.attributes.filter { !removed.contains($0.name) }.map { attribute in
            guard let name = change.presentNames[attribute.name] else { return attribute }
            return AttributeDescription(
                name, attribute.type, isOptional: attribute.isOptional, isUnique: attribute.isUnique,
                defaultValue: attribute.defaultValue, renamedFrom: attribute.name, derivation: attribute.derivation)
        }
    }

    /// Gives a followed column an attribute, leaves it out, or checks the attribute that it has.
    mutating func take(_ column: FollowedSource.Column) throws {
        guard let current = change.table.columns.first(where: { $0.number == column.number }) else { return }
        let type = change.table.type(of: current)
        let place = all.firstIndex { $0.name == column.name }
        if let reason = conflict(column.name, isNew: place == nil) {
            guard place == nil, change.followed.followsNewColumns else {
                throw SourceError(
                    .refused, "\(table.title).\(column.name) \(reason)", remedy: .startAnew(entity: table.entity))
            }
            leftOut.append((column.name, reason))
        } else if let place {
            try keep(place, as: type, current)
        } else {
            all.append(AttributeDescription(column.name, type))
        }
    }

    private mutating func keep(_ place: Int, as type: ValueType, _ column: SourceTable.Column) throws {
        if isConverted, all[place].type != type {
            all[place] = all[place].with(type)
            if type != .string, all[place].isOptional { cleared.append(all[place].name) }
        } else if !isShared || all[place].type != .string {
            // The columns of several sources get another type one after the other, so text may be any of them.
            try requireType(type, of: all[place], column)
        }
    }

    mutating func dropUniqueness(of lost: Set<Set<String>>) {
        for index in all.indices where lost.contains([change.renamed[all[index].name] ?? all[index].name]) {
            all[index] = all[index].notUnique
        }
    }

    /// Why no attribute can have a column's name; nil if one can. A new column can't have the former name of another
    /// attribute, whose values would be read as the column's.
    private func conflict(_ name: String, isNew: Bool) -> String? {
        if stored.relationships.contains(where: { $0.name == name }) {
            return "has the name of a relationship of \(stored.name), so the column needs another name"
        }
        guard isNew, stored.slot(of: name) != nil, !removed.contains(name) else { return nil }
        return "has a name that another column of \(stored.name) had"
    }

    private func requireType(
        _ type: ValueType, of attribute: AttributeDescription, _ column: SourceTable.Column
    ) throws {
        guard attribute.type != type else { return }
        let isSameTable = change.table.number == table.number
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

extension TableChange {
    /// The attributes that aren't unique any more, because the table has lost the index by which foreign keys named its rows.
    fileprivate func lostKeys(of table: FollowedSource.Table) -> Set<Set<String>> {
        let present = followed.otherKeys.map(Set.init)
        return Set(
            table.otherKeys.filter { names in !present.contains(Set(names.map { presentNames[$0] ?? $0 })) }
                .map { Set(table.attributes(ofKey: $0)) })
    }
}

extension AttributeDescription {
    fileprivate var notUnique: AttributeDescription {
        AttributeDescription(
            name, type, isOptional: isOptional, defaultValue: defaultValue, renamedFrom: renamedFrom,
            derivation: derivation)
    }

    fileprivate func with(_ type: ValueType) -> AttributeDescription {
        AttributeDescription(name, type, isOptional: isOptional, isUnique: isUnique, renamedFrom: renamedFrom)
    }
}

extension Entity {
    /// The entity with another key, whose attributes are required if they are `known`. The former key's attributes are
    /// optional, unless they are in the new one.
    fileprivate func replacingKey(_ old: [String], by new: [String], known: Set<String>) -> Entity {
        if Set(old) == Set(new) { return self }
        func isOptional(_ attribute: AttributeDescription) -> Bool {
            // The objects lack the values of a new column until all rows are copied.
            if new.contains(attribute.name) { return !known.contains(attribute.name) }
            return old.contains(attribute.name) || attribute.isOptional
        }
        let changed = attributes.map { attribute in
            AttributeDescription(
                attribute.name, attribute.type, isOptional: isOptional(attribute),
                defaultValue: attribute.defaultValue, renamedFrom: attribute.renamedFrom,
                derivation: attribute.derivation)
        }
        let others = uniqueAttributes.filter { Set($0) != Set(old) && Set($0) != Set(new) }
        return Entity(
            name, changed, relationships: relationships, unique: [new] + others, removed: removedAttributes,
            superentity: superentity, isAbstract: isAbstract)
    }
}
