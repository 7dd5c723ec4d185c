internal import FetchIndexModels
internal import FetchIndexValues

// Foreign keys between followed tables, which become relationships.
extension SourceTable {
    /// A foreign key, which refers to the columns `key` of a table.
    struct Reference {
        let columns: [String]
        let schema: String
        let table: String
        let key: [String]

        /// The columns in the order of the other table's key columns; `key` may have another order.
        func columns(naming key: [String]) -> [String] {
            key.compactMap { name in self.key.firstIndex(of: name).map { columns[$0] } }
        }
    }

    static func references(ofTable number: String, _ connection: Connection) throws -> [Reference] {
        // PostgreSQL takes an unnest of several arrays for its own only if the name isn't qualified.
        func names(_ text: String?) -> [String] { (text ?? "").split(separator: "\u{1F}").map(String.init) }
        return try connection.execute(
            """
            SELECT pg_catalog.string_agg(a.attname, E'\\x1f' ORDER BY p.place), n.nspname, c.relname,
                pg_catalog.string_agg(f.attname, E'\\x1f' ORDER BY p.place)
            FROM pg_catalog.pg_constraint k
                CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS p(own, other, place)
                JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = p.own
                JOIN pg_catalog.pg_class c ON c.oid = k.confrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                JOIN pg_catalog.pg_attribute f ON f.attrelid = k.confrelid AND f.attnum = p.other
            WHERE k.conrelid = $1::oid AND k.contype = 'f' AND k.convalidated AND k.conparentid = 0
            GROUP BY k.oid, k.conname, n.nspname, c.relname ORDER BY pg_catalog.min(a.attnum), k.conname
            """, [number], columns: 4
        ).map { Reference(columns: names($0[0]), schema: $0[1] ?? "", table: $0[2] ?? "", key: names($0[3])) }
    }

    /// Returns the table that a foreign key refers to, if that table is followed without a condition and the foreign
    /// key refers to its key; otherwise nil.
    private func destination(_ reference: Reference, among tables: [SourceTable]) -> SourceTable? {
        tables.first {
            $0.choice.schema == reference.schema && $0.choice.name == reference.table
                && $0.key.count == reference.key.count && Set($0.key.map(\.name)) == Set(reference.key)
                && $0.choice.condition == nil
        }
    }

    /// Whether the columns of a foreign key have the types in the store that the other table's key has.
    private func hasTypes(of other: SourceTable, _ reference: Reference) -> Bool {
        func type(_ name: String, in table: SourceTable) -> ValueType? {
            table.columns.first { $0.name == name }.map(table.type)
        }
        return zip(reference.columns, reference.key).allSatisfy { type($0, in: self) == type($1, in: other) }
    }

    /// Returns a name for the relationship of a foreign key, the first of these that isn't taken: `author` for a column
    /// author_id; the other entity's name, with a small first letter; the columns' names with `_object`. If all are taken,
    /// the columns' names with `_object_`.
    private func name(_ columns: [String], _ entity: String, besides taken: Set<String>) -> String {
        let plain = entity.prefix(1).lowercased() + entity.dropFirst()
        let column = columns.joined(separator: "_")
        let stem = columns.count == 1 && column.hasSuffix("_id") ? String(column.dropLast(3)) : plain
        return [stem, plain, column + "_object"].first { !$0.isEmpty && !taken.contains($0) } ?? column + "_object_"
    }

    /// Returns the tables as the store is to remember them, and their entities. A foreign key becomes a relationship if its
    /// columns are followed and it has a `destination`. If `new` isn't nil, only foreign keys to and from these entities
    /// become relationships; their names are ones that the stored model doesn't have yet.
    static func followed(
        _ tables: [SourceTable], relating new: Set<String>? = nil, besides stored: Model = Model(entities: [])
    ) throws -> (tables: [FollowedSource.Table], entities: [Entity]) {
        var followed = try tables.map { try $0.followed() }
        var relationships: [String: [RelationshipDescription]] = [:]
        var taken = Dictionary(followed.map { ($0.entity, Set($0.columns.map(\.name))) }) { first, _ in first }
        for entity in stored.entities {
            taken[entity.name, default: []].formUnion(entity.attributes.map(\.name) + entity.relationships.map(\.name))
        }
        for (index, table) in tables.enumerated() {
            let entity = followed[index].entity
            var columns: Set<[String]> = []
            for reference in table.references
            where reference.columns.allSatisfy({ name in followed[index].columns.contains { $0.name == name } }) {
                guard let other = table.destination(reference, among: tables), table.hasTypes(of: other, reference),
                    columns.insert(reference.columns).inserted,
                    new.map({ $0.contains(entity) || $0.contains(other.choice.entity) }) ?? true
                else { continue }
                let name = table.name(reference.columns, other.choice.entity, besides: taken[entity] ?? [])
                taken[entity, default: []].insert(name)
                let plural = entity.prefix(1).lowercased() + entity.dropFirst() + "s"
                let names = [
                    plural, "\(plural)_by_\(name)", "\(plural)_by_\(reference.columns.joined(separator: "_"))",
                ]
                let inverse = names.first { !(taken[other.choice.entity] ?? []).contains($0) } ?? names[2] + "_"
                taken[other.choice.entity, default: []].insert(inverse)
                relationships[entity, default: []].append(
                    RelationshipDescription(name, toOne: other.choice.entity, inverse: inverse))
                relationships[other.choice.entity, default: []].append(
                    RelationshipDescription(inverse, toMany: entity, inverse: name))
                followed[index].references.append(
                    FollowedSource.Reference(
                        columns: reference.columns(naming: other.key.map(\.name)), relationship: name,
                        entity: other.choice.entity))
            }
        }
        let entities = try tables.map { table in
            let entity = try table.entity()
            return Entity(
                entity.name, entity.attributes, relationships: relationships[entity.name] ?? [],
                unique: entity.uniqueAttributes)
        }
        return (followed, entities)
    }
}
