internal import FetchIndexModels

// Foreign keys between followed tables, which become relationships.
extension SourceTable {
    /// A foreign key of one column, which refers to the column `key` of a table.
    struct Reference {
        let column: String
        let schema: String
        let table: String
        let key: String
    }

    static func references(ofTable number: String, _ connection: Connection) throws -> [Reference] {
        try connection.execute(
            """
            SELECT a.attname, n.nspname, c.relname, f.attname
            FROM pg_catalog.pg_constraint k
                JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
                JOIN pg_catalog.pg_class c ON c.oid = k.confrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                JOIN pg_catalog.pg_attribute f ON f.attrelid = k.confrelid AND f.attnum = k.confkey[1]
            WHERE k.conrelid = $1::oid AND k.contype = 'f' AND k.convalidated AND pg_catalog.cardinality(k.conkey) = 1
            ORDER BY a.attnum, k.conname
            """, [number], columns: 4
        ).map { Reference(column: $0[0] ?? "", schema: $0[1] ?? "", table: $0[2] ?? "", key: $0[3] ?? "") }
    }

    /// Returns the table that a foreign key refers to, if that table is followed without a condition and its key is the
    /// column that the foreign key refers to; otherwise nil.
    private func destination(_ reference: Reference, among tables: [SourceTable]) -> SourceTable? {
        tables.first {
            $0.choice.schema == reference.schema && $0.choice.name == reference.table && $0.key.name == reference.key
                && $0.choice.condition == nil
        }
    }

    /// Returns a name for the relationship of a foreign key, the first of these that isn't taken: `author` for a column
    /// author_id; the other entity's name, with a small first letter; the column's name with `_object`. If all are
    /// taken, the column's name with `_object_`.
    private func name(_ column: String, _ entity: String, besides taken: Set<String>) -> String {
        let plain = entity.prefix(1).lowercased() + entity.dropFirst()
        let stem = column.hasSuffix("_id") ? String(column.dropLast(3)) : plain
        return [stem, plain, column + "_object"].first { !$0.isEmpty && !taken.contains($0) } ?? column + "_object_"
    }

    /// Returns the tables as the store is to remember them, and their entities, with relationships for the foreign keys
    /// of followed columns that have a `destination`.
    static func followed(_ tables: [SourceTable]) throws -> (tables: [FollowedSource.Table], entities: [Entity]) {
        var followed = try tables.map { try $0.followed() }
        var relationships: [String: [RelationshipDescription]] = [:]
        var taken = Dictionary(followed.map { ($0.entity, Set($0.columns.map(\.name))) }) { first, _ in first }
        for (index, table) in tables.enumerated() {
            let entity = followed[index].entity
            var columns: Set<String> = []
            for reference in table.references
            where followed[index].columns.contains(where: { $0.name == reference.column }) {
                guard let other = table.destination(reference, among: tables), columns.insert(reference.column).inserted
                else { continue }
                let name = table.name(reference.column, other.choice.entity, besides: taken[entity] ?? [])
                taken[entity, default: []].insert(name)
                let plural = entity.prefix(1).lowercased() + entity.dropFirst() + "s"
                let names = [plural, "\(plural)_by_\(name)", "\(plural)_by_\(reference.column)"]
                let inverse = names.first { !(taken[other.choice.entity] ?? []).contains($0) } ?? names[2] + "_"
                taken[other.choice.entity, default: []].insert(inverse)
                relationships[entity, default: []].append(
                    RelationshipDescription(name, toOne: other.choice.entity, inverse: inverse))
                relationships[other.choice.entity, default: []].append(
                    RelationshipDescription(inverse, toMany: entity, inverse: name))
                followed[index].references.append(
                    FollowedSource.Reference(column: reference.column, relationship: name, entity: other.choice.entity))
            }
        }
        let entities = try tables.map { table in
            let entity = try table.entity()
            return Entity(entity.name, entity.attributes, relationships: relationships[entity.name] ?? [])
        }
        return (followed, entities)
    }
}
