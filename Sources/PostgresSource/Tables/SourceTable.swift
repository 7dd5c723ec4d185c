internal import FetchIndexModels
internal import FetchIndexValues

/// A table as the source's catalogue describes it.
struct SourceTable {
    struct Column {
        let name: String
        /// The column's number, which stays when the column is renamed.
        let number: Int
        /// The number (OID) of the type that the stream names; for a domain, the domain's number.
        let type: UInt32
        let modifier: Int32
        /// The number (OID) of the type; for a domain, of the type under it.
        let baseType: UInt32
        let typeName: String
        let isArray: Bool
        /// The number (OID) of the elements' type of an array; otherwise 0.
        let element: UInt32
        /// Whether the source computes the value. Such columns can't be followed.
        let isGenerated: Bool
        /// Whether the value is computed when it's read. A publication can't send it.
        let isVirtual: Bool
        /// Whether rows that are older than the column may have a value in it.
        let hasDefault: Bool
        /// Whether the type is in pg_catalog or is an enumeration. An extension may compare the values of other types.
        let hasOwnOrder: Bool
        /// A number that changes with the column's definition.
        let mark: UInt32
        /// The values of enumerations and the fields of composite types that the type consists of, with their numbers.
        let labels: [String]
    }

    let choice: TableChoice
    let number: UInt32
    /// The number of the table's file. For a partitioned table, a number that changes when a partition is attached,
    /// detached, or gets another file.
    let file: UInt32
    /// Whether the rows are in partitions. Partitions that are attached, detached, dropped or emptied change the table
    /// without sending rows.
    let isPartitioned: Bool
    let width: Int
    let columns: [Column]
    /// The columns whose values together identify rows; empty if the table has no key.
    let key: [Column]
    /// The attributes by which objects stand for rows, if the table has no key.
    let wholeRow: FollowedSource.WholeRow?
    let references: [Reference]
    let uniqueKeys: [Key]

    /// Reads a table from the catalogue, and checks its kind and its key. `followedColumns` checks its columns, and
    /// `checkCondition` its condition. Throws `SourceError`.
    init(_ choice: TableChoice, _ connection: Connection, _ way: FollowedSource.Way) throws {
        self.choice = choice
        let entry = try CatalogueEntry(of: choice, connection)
        try entry.requireFollowable(choice.title, way)
        isPartitioned = entry.isPartitioned
        (number, file, width) = (UInt32(entry.number) ?? 0, entry.file, entry.width)
        columns = try Self.columns(ofTable: entry.number, connection)
        references = try Self.references(ofTable: entry.number, connection)
        uniqueKeys = try Self.keys(ofTable: entry.number, connection)
        let sendsWholeRows = way == .stream && entry.sendsWholeRows
        key = try Self.key(choice, uniqueKeys, columns, sendsWholeRows: sendsWholeRows)
        wholeRow = key.isEmpty ? choice.wholeRow ?? FollowedSource.WholeRow(besides: columns.map(\.name)) : nil
        if way == .stream { try requireOldRows(entry, connection) }
    }

    /// Reads the chosen tables from the catalogue, and checks their kinds, keys and conditions.
    static func read(
        _ choices: [TableChoice], _ connection: Connection, _ way: FollowedSource.Way
    ) throws -> [SourceTable] {
        try choices.map { choice in
            let table = try SourceTable(choice, connection, way)
            try table.checkCondition(connection)
            return table
        }
    }

    /// The types int2vector and oidvector, which aren't written like arrays.
    private static let vectors = ["22", "30"]

    private static func columns(ofTable number: String, _ connection: Connection) throws -> [Column] {
        // One long statement, and its result.
        try connection.execute(
            """
            WITH RECURSIVE base(type, below) AS (
                SELECT DISTINCT atttypid, atttypid FROM pg_catalog.pg_attribute WHERE attrelid = $1::oid AND attnum > 0
                UNION SELECT b.type, t.typbasetype FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.below
                WHERE t.typtype = 'd'),
            part(whole, type) AS (
                SELECT DISTINCT atttypid, atttypid FROM pg_catalog.pg_attribute WHERE attrelid = $1::oid AND attnum > 0
                UNION SELECT p.whole, n.type FROM part p JOIN pg_catalog.pg_type t ON t.oid = p.type CROSS JOIN LATERAL (
                    SELECT t.typbasetype WHERE t.typtype = 'd' UNION ALL SELECT t.typelem WHERE t.typcategory = 'A'
                    UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE r.rngtypid = t.oid
                    UNION ALL SELECT f.atttypid FROM pg_catalog.pg_attribute f
                        WHERE t.typtype = 'c' AND f.attrelid = t.typrelid AND f.attnum > 0 AND NOT f.attisdropped) n(type))
            SELECT a.attname, a.attnum, a.atttypid, t.oid, pg_catalog.format_type(a.atttypid, a.atttypmod), t.typcategory,
                a.attgenerated, a.atthasdef OR a.atthasmissing OR a.attnotnull OR a.attidentity <> '' OR d.typdefault IS NOT NULL, a.atttypmod,
                tn.nspname = 'pg_catalog' OR t.typtype = 'e', a.xmin,
                (SELECT pg_catalog.string_agg(l.label, E'\\x1f' ORDER BY l.label)
                    FROM part p JOIN pg_catalog.pg_type t ON t.oid = p.type CROSS JOIN LATERAL (
                        SELECT e.oid || ' ' || e.enumlabel FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid
                        UNION ALL SELECT f.attrelid || '/' || f.attnum || '/' || f.xmin FROM pg_catalog.pg_attribute f
                            WHERE t.typtype = 'c' AND f.attrelid = t.typrelid AND f.attnum > 0
                        UNION ALL SELECT t.oid || ':' || t.typrelid || '*' || (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute f
                            WHERE f.attrelid = t.typrelid AND f.attnum > 0) WHERE t.typtype = 'c') l(label)
                    WHERE p.whole = a.atttypid), t.typelem
            FROM pg_catalog.pg_attribute a JOIN base b ON b.type = a.atttypid
                JOIN pg_catalog.pg_type t ON t.oid = b.below AND t.typtype <> 'd'
                JOIN pg_catalog.pg_type d ON d.oid = a.atttypid JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace
            WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
            """, [number], columns: 13
        ).map { row in
            Column(
                name: row[0] ?? "", number: Int(row[1] ?? "") ?? 0, type: UInt32(row[2] ?? "") ?? 0,
                modifier: Int32(row[8] ?? "") ?? -1,
                baseType: UInt32(row[3] ?? "") ?? 0, typeName: row[4] ?? "",
                isArray: row[5] == "A" && !vectors.contains(row[3] ?? ""),
                element: UInt32(row[12] ?? "") ?? 0,
                isGenerated: row[6] != "", isVirtual: row[6] == "v", hasDefault: row[7] == "t",
                hasOwnOrder: row[9] == "t", mark: UInt32(row[10] ?? "") ?? 0,
                labels: row[11]?.split(separator: "\u{1F}").map(String.init) ?? [])
        }
    }

    /// Checks that the condition is valid, contains no other command, and by its plan reads only the row that it is
    /// evaluated for: functions aren't examined. Otherwise throws a `SourceError` of the kind `usage`.
    func checkCondition(_ connection: Connection) throws {
        guard let condition = choice.condition else { return }
        do {
            try connection.executeSingle("SELECT FROM \(choice.quoted) WHERE (\(condition)) LIMIT 0")
            let plan =
                try connection.value(
                    "EXPLAIN (FORMAT JSON) SELECT FROM \(choice.quoted) WHERE (\(condition))") ?? ""
            // If a condition read other rows, a change of another row could change whether this row meets it, and the
            // source wouldn't send that.
            guard plan.split(separator: "\"Relation Name\"").count <= 2, !plan.contains("\"Subplan Name\"") else {
                throw SourceError(.refused, "it reads other rows or tables, whose changes would not be noticed")
            }
        } catch let error as SourceError where error.kind == .refused {
            throw SourceError(.usage, "the condition \(condition) of \(choice.title) is not valid: \(error)")
        }
    }

    /// Returns the columns to follow. Throws `SourceError` for a column that can't be followed.
    func followedColumns() throws -> [Column] {
        for name in (choice.columns ?? []) + choice.asText where !columns.contains(where: { $0.name == name }) {
            throw SourceError(.usage, "\(choice.title) has no column \(name)")
        }
        let chosen = columns.filter { column in
            isKey(column)
                || choice.columns.map { $0.contains(column.name) }
                    ?? (!column.isGenerated && choice.leftOut[column.name] != column.number
                        && column.name != choice.shard?.attribute && column.name != choice.wholeRow?.digest
                        && column.name != choice.wholeRow?.count)
        }
        for column in chosen {
            if column.isGenerated {
                throw SourceError(
                    .refused,
                    "\(choice.title).\(column.name) is computed by the source, so it cannot be followed",
                    remedy: .leaveOut
                )
            }
        }
        return chosen
    }

    /// Returns the type that values of a column have in the store. Arrays are stored as JSON, unless the user chose to store
    /// the column as text.
    func type(of column: Column) -> ValueType {
        isJSON(column) || choice.asText.contains(column.name) ? .string : ColumnValue.type(of: column.baseType)
    }

    func isJSON(_ column: Column) -> Bool { column.isArray && !choice.asText.contains(column.name) }

    /// Returns the table as the store is to remember it.
    func followed() throws -> FollowedSource.Table {
        var table = FollowedSource.Table(
            schema: choice.schema, name: choice.name, number: number, file: file, entity: choice.entity,
            key: key.map(\.name),
            columns: try followedColumns().map {
                FollowedSource.Column(
                    name: $0.name, number: $0.number, type: $0.type, modifier: $0.modifier, mark: $0.mark,
                    labels: $0.labels, element: isJSON($0) ? $0.element : nil)
            },
            followsNewColumns: choice.columns == nil, asText: choice.asText, condition: choice.condition)
        (table.width, table.shard, table.wholeRow) = (width, choice.shard, wholeRow)
        // A copy counts rows anew, so it can't continue after a range.
        if wholeRow != nil { table.copy.requireCopy() }
        return table
    }

    /// Returns the entity of the table's rows. Its attributes are optional, except the key, because the source may drop
    /// its own constraints.
    func entity() throws -> Entity {
        let key = try followed().keyAttributes
        let shard = choice.shard.map { [AttributeDescription($0.attribute, .string, isOptional: false)] } ?? []
        let own =
            wholeRow.map { names in
                [
                    AttributeDescription(names.digest, .uuid, isOptional: false, isUnique: key.count == 1),
                    AttributeDescription(names.count, .integer, isOptional: false),
                ]
            } ?? []
        return Entity(
            choice.entity,
            shard + own
                + (try followedColumns().map { column in
                    AttributeDescription(
                        column.name, type(of: column), isOptional: !isKey(column),
                        isUnique: isKey(column) && key.count == 1)
                }),
            unique: key.count == 1 ? [] : [key])
    }

    private func isKey(_ column: Column) -> Bool { key.contains { $0.name == column.name } }
}
