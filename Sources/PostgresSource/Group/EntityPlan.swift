internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

/// The entities of tables that are to be followed, with relationships for their foreign keys. A foreign key becomes a
/// relationship if its columns are followed, and if it refers to the key of a table that is followed without a condition.
/// That table may be followed from another source, if the key alone identifies its rows.
///
/// An entity may have objects of several sources. It has the attributes of all their tables.
struct EntityPlan {
    /// The tables as the store is to remember them.
    private(set) var tables: [FollowedSource.Table]
    /// The entities that the model must have in these forms: the tables' entities, and entities of other sources' tables
    /// that get relationships.
    private(set) var entities: [Entity] = []
    /// The names of entities that may have objects of other sources.
    private(set) var shared: Set<String> = []

    private let stored: Model
    private let others: OtherSources
    /// If this isn't nil, only foreign keys to and from these entities become relationships.
    private let new: Set<String>?
    /// The names of attributes and relationships, by entity.
    private var taken: [String: Set<String>] = [:]
    /// The new relationships, by entity.
    private var relationships: [String: [RelationshipDescription]] = [:]

    /// Throws `SourceError` if a table doesn't fit the entity that other sources fill.
    init(
        _ tables: [SourceTable], relating new: Set<String>? = nil, in stored: Model, besides others: OtherSources
    ) throws {
        (self.stored, self.others, self.new) = (stored, others, new)
        self.tables = try tables.map { try $0.followed() }
        taken = Dictionary(self.tables.map { ($0.entity, Set($0.columns.map(\.name))) }) { first, _ in first }
        for entity in stored.entities {
            taken[entity.name, default: []].formUnion(entity.attributes.map(\.name) + entity.relationships.map(\.name))
        }
        for (table, followed) in zip(tables, self.tables) where new.map({ $0.contains(followed.entity) }) ?? true {
            try requireShard(table, followed)
        }
        for (index, table) in tables.enumerated() {
            var columns: Set<[String]> = []
            for reference in table.references { relate(reference, of: table, at: index, among: tables, &columns) }
        }
        for (index, table) in tables.enumerated() { try addEntity(of: table, self.tables[index]) }
        for name in relationships.keys.sorted() where !entities.contains(where: { $0.name == name }) {
            if let entity = stored.entity(named: name) { entities.append(entity.adding(relationships[name] ?? [])) }
        }
    }

    // MARK: Entities

    /// Makes tables whose rows the store may have, because it followed the source earlier, be copied over these.
    mutating func requireCopies(of source: String, in container: PersistentContainer) throws {
        for index in tables.indices where try container.hasObjects(of: tables[index], source) {
            tables[index].copy.requireCopy()
        }
    }

    /// Throws `SourceError` if other sources fill the entity in another way.
    private mutating func requireShard(_ table: SourceTable, _ followed: FollowedSource.Table) throws {
        let title = table.choice.title
        if let shard = followed.shard?.attribute, table.columns.contains(where: { $0.name == shard }) {
            throw SourceError(
                .usage, "\(title) has a column \(shard), so another attribute must contain the source's name")
        }
        if followed.wholeRow != nil, let shard = followed.shard, !shard.isInKey {
            throw SourceError(
                .usage,
                "\(title) has no key, so the attribute \(shard.attribute) for the source's name must be in the key")
        }
        if let (owner, other) = others.tables(of: followed.entity).first {
            try Self.requireSameWay(table, followed, as: other, of: owner)
            if let index = tables.firstIndex(where: { $0.entity == followed.entity }) {
                tables[index].otherKeys = other.otherKeys
            }
            shared.insert(followed.entity)
        } else if followed.shard != nil, let entity = stored.entity(named: followed.entity) {
            // Sources that the store followed earlier may have filled the entity.
            let slots = followed.keyAttributes.compactMap { entity.slot(of: $0) }
            if slots.count == followed.keyAttributes.count, entity.uniqueConstraint(ofSlots: slots) != nil {
                shared.insert(followed.entity)
            }
        }
    }

    /// Throws `SourceError` unless a table fills its entity as the table of another source does.
    private static func requireSameWay(
        _ table: SourceTable, _ followed: FollowedSource.Table, as other: FollowedSource.Table,
        of owner: FollowedSource
    ) throws {
        guard let shard = other.shard else {
            throw SourceError(
                .usage,
                "the source \(owner.name) fills the entity \(followed.entity), which has no attribute for the sources' names",
                remedy: .chooseEntity(orDrop: nil))
        }
        guard followed.shard == shard else {
            throw SourceError(
                .usage, "the source \(owner.name) fills the entity \(followed.entity), too",
                remedy: .nameShard(attribute: shard.attribute, isInKey: shard.isInKey))
        }
        let title = table.choice.title
        guard Set(followed.key) == Set(other.key), followed.wholeRow == other.wholeRow else {
            throw SourceError(
                .usage,
                "the source \(owner.name) fills the entity \(followed.entity) by \(other.keyTitle), but the key of \(title) is \(followed.keyTitle)",
                remedy: .chooseKey)
        }
        if let names = other.otherKeys.first(where: { !table.isUnique($0) }) {
            throw SourceError(
                .refused,
                "\(title) has no unique index of \(names.joined(separator: ", ")), but the table of the source \(owner.name) has one: "
                    + "ALTER TABLE \(table.choice.quoted) ADD UNIQUE (\(names.map(\.quotedName).joined(separator: ", ")))"
            )
        }
    }

    private mutating func addEntity(of table: SourceTable, _ followed: FollowedSource.Table) throws {
        let described = try table.entity()
        let own = Entity(
            described.name, described.attributes,
            unique: described.uniqueAttributes + followed.otherKeys.map(followed.attributes(ofKey:)))
        guard shared.contains(followed.entity), let known = stored.entity(named: followed.entity) else {
            entities.append(own.adding(relationships[own.name] ?? []))
            return
        }
        for attribute in own.attributes {
            if let other = known.attributes.first(where: { $0.name == attribute.name }), other.type != attribute.type {
                throw SourceError(
                    .refused,
                    "\(table.choice.title).\(attribute.name) would be \(attribute.type.nameWithArticle), but \(known.name).\(attribute.name) is stored as \(other.type.name)",
                    remedy: .storeAsText(column: attribute.name))
            }
            if known.relationships.contains(where: { $0.name == attribute.name }) {
                throw SourceError(
                    .refused,
                    "\(table.choice.title).\(attribute.name) has the name of a relationship of \(known.name)",
                    remedy: .leaveOut)
            }
        }
        let added = own.attributes.filter { attribute in !known.attributes.contains { $0.name == attribute.name } }
        entities.append(known.adding(relationships[own.name] ?? [], attributes: added))
    }

    // MARK: Relationships

    /// The table to whose rows a foreign key refers.
    private struct Destination {
        let entity: String
        /// The columns that the foreign key names, in their order in the table's key or constraint.
        let key: [String]
        /// Whether these columns are the key of a table of the same source.
        let isOwnKey: Bool
    }

    private mutating func relate(
        _ reference: SourceTable.Reference, of table: SourceTable, at index: Int, among tables: [SourceTable],
        _ columns: inout Set<[String]>
    ) {
        let entity = tables[index].choice.entity
        guard reference.columns.allSatisfy({ name in self.tables[index].columns.contains { $0.name == name } }),
            let other = destination(reference, of: table, among: tables),
            columns.insert(reference.columns).inserted,
            new.map({ $0.contains(entity) || $0.contains(other.entity) }) ?? true
        else { return }
        let ordered = reference.columns(naming: other.key)
        let known = shared.contains(entity) ? self.known(ordered, of: entity, to: other.entity) : nil
        self.tables[index].references.append(
            FollowedSource.Reference(
                columns: ordered, relationship: known ?? makeRelationship(reference.columns, entity, to: other.entity),
                entity: other.entity, key: other.isOwnKey ? nil : other.key))
        if !other.isOwnKey { noteOtherKey(other.key, of: other.entity) }
    }

    private mutating func noteOtherKey(_ key: [String], of entity: String) {
        guard let index = tables.firstIndex(where: { $0.entity == entity }),
            !tables[index].otherKeys.contains(where: { Set($0) == Set(key) })
        else { return }
        tables[index].otherKeys.append(key)
    }

    private func destination(
        _ reference: SourceTable.Reference, of table: SourceTable, among tables: [SourceTable]
    ) -> Destination? {
        if let other = table.destination(reference, among: tables) {
            // Rows of one source refer to each other by the source's name, too.
            let isNamed = other.choice.shard?.isInKey ?? false
            guard table.hasTypes(of: other, reference), !isNamed || table.choice.shard != nil else { return nil }
            let key = other.key.map(\.name)
            if Set(key) == Set(reference.key) {
                return Destination(entity: other.choice.entity, key: key, isOwnKey: true)
            }
            guard mayName(reference.key, of: other) else { return nil }
            return Destination(entity: other.choice.entity, key: reference.key, isOwnKey: false)
        }
        let found = others.tables.first { _, other in
            other.schema == reference.schema && other.name == reference.table && other.condition == nil
                && !(other.shard?.isInKey ?? false) && Set(other.key) == Set(reference.key)
        }
        guard let other = found?.table, let entity = stored.entity(named: other.entity) else { return nil }
        let hasTypes = zip(reference.columns, reference.key).allSatisfy { column, key in
            table.type(ofColumn: column) == entity.attributes.first { $0.name == key }?.type
        }
        return hasTypes ? Destination(entity: other.entity, key: other.key, isOwnKey: false) : nil
    }

    /// Whether foreign keys may name rows by unique columns that aren't the key. A stored entity that gets such a
    /// constraint may have rows of different times, so only a new one can.
    private func mayName(_ columns: [String], of other: SourceTable) -> Bool {
        let entity = other.choice.entity
        let known = tables.first { $0.entity == entity }
        if known?.otherKeys.contains(where: { Set($0) == Set(columns) }) ?? false { return true }
        return other.wholeRow == nil && !shared.contains(entity) && new.map { $0.contains(entity) } ?? true
            && other.choice.shard?.isInKey ?? true && other.isUnique(columns) && other.isExact(columns)
            && columns.allSatisfy { name in known?.columns.contains { $0.name == name } ?? false }
            && !Set(columns).isSubset(of: other.key.map(\.name))
    }

    /// The relationship of a shared entity that foreign keys of other sources set already.
    private func known(_ columns: [String], of entity: String, to destination: String) -> String? {
        let references = others.tables(of: entity).flatMap(\.table.references)
        if let same = references.first(where: { $0.columns == columns && $0.entity == destination }) {
            return same.relationship
        }
        let taken = Set(references.map(\.relationship))
        let stored = stored.entity(named: entity)?.relationships ?? []
        return names(columns, destination).first { name in
            stored.contains { $0.name == name && !$0.isToMany && $0.destination == destination }
                && !taken.contains(name)
        }
    }

    /// Makes the relationship of a foreign key and its inverse, and returns its name: the first of the usual names that
    /// isn't taken.
    private mutating func makeRelationship(_ columns: [String], _ entity: String, to destination: String) -> String {
        let names = names(columns, destination)
        let name = names.first { !(taken[entity] ?? []).contains($0) } ?? names[names.count - 1] + "_"
        taken[entity, default: []].insert(name)
        let plural = entity.prefix(1).lowercased() + entity.dropFirst() + "s"
        let inverses = [plural, "\(plural)_by_\(name)", "\(plural)_by_\(columns.joined(separator: "_"))"]
        let inverse = inverses.first { !(taken[destination] ?? []).contains($0) } ?? inverses[2] + "_"
        taken[destination, default: []].insert(inverse)
        relationships[entity, default: []].append(
            RelationshipDescription(name, toOne: destination, inverse: inverse))
        relationships[destination, default: []].append(
            RelationshipDescription(inverse, toMany: entity, inverse: name))
        return name
    }

    /// The usual names for the relationship of a foreign key: `author` for a column author_id; the other entity's name,
    /// with a small first letter; the columns' names with `_object`.
    private func names(_ columns: [String], _ entity: String) -> [String] {
        let plain = entity.prefix(1).lowercased() + entity.dropFirst()
        let column = columns.joined(separator: "_")
        let stem = columns.count == 1 && column.hasSuffix("_id") ? String(column.dropLast(3)) : plain
        return [stem, plain, column + "_object"].filter { !$0.isEmpty }
    }
}

extension Entity {
    /// The entity with further relationships and attributes.
    func adding(_ others: [RelationshipDescription], attributes added: [AttributeDescription] = []) -> Entity {
        Entity(
            name, attributes + added, relationships: relationships + others, unique: uniqueAttributes, indexes: indexes,
            superentity: superentity, isAbstract: isAbstract)
    }
}

extension PersistentContainer {
    /// Whether an entity that several sources fill has objects of one of them. O(n).
    func hasObjects(of table: FollowedSource.Table, _ source: String) throws -> Bool {
        guard let shard = table.shard, try model().entity(named: table.entity) != nil else { return false }
        let request = FetchRequest<ManagedObject>(
            entityName: table.entity, predicate: try FetchPredicate("%K == %@", shard.attribute, source))
        return try newContext().count(for: request) > 0
    }
}
