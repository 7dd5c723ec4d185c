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

    /// Returns the table that a foreign key refers to, if that table is followed without a condition; otherwise nil.
    func destination(_ reference: Reference, among tables: [SourceTable]) -> SourceTable? {
        tables.first {
            $0.choice.schema == reference.schema && $0.choice.name == reference.table && $0.choice.condition == nil
        }
    }

    /// The type that a column has in the store; nil if the table lacks the column.
    func type(ofColumn name: String) -> ValueType? { columns.first { $0.name == name }.map(type) }

    /// Whether the columns of a foreign key have the types in the store that the other table's key has.
    func hasTypes(of other: SourceTable, _ reference: Reference) -> Bool {
        zip(reference.columns, reference.key).allSatisfy { type(ofColumn: $0) == other.type(ofColumn: $1) }
    }
}
