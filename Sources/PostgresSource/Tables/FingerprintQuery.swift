internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

extension Follower {
    /// Returns the SQL that computes in the source, for the table that an entity follows, the number of rows and the
    /// fingerprint that `Aggregate.fingerprint` gives in the store, for each value of a column or for the whole table.
    /// Throws `SourceError`, and `StoreError` if the store can't be read.
    package static func fingerprintQuery(storeAt path: String, entity: String, by column: String?) throws -> String {
        let container = try PersistentContainer(storeAt: path, isReadOnly: true)
        guard let source = try container.followedSource(as: FollowedSource.self) else {
            throw SourceError(.usage, "the store follows nothing")
        }
        guard let table = source.tables.first(where: { $0.entity == entity }) else {
            throw SourceError(.usage, "the store follows no table as the entity \(entity)")
        }
        guard let stored = try container.model().entity(named: entity) else {
            throw SourceError(.usage, "the store has no entity \(entity)")
        }
        let missing = stored.attributes.filter { attribute in !table.columns.contains { $0.name == attribute.name } }
        if let attribute = missing.first {
            throw SourceError(
                .usage,
                "the attribute \(attribute.name) of \(entity) has no column in \(table.title), so the two cannot be equal"
            )
        }
        if let column, !table.columns.contains(where: { $0.name == column }) {
            throw SourceError(.usage, "the entity \(entity) follows no column \(column)")
        }
        return query(table, stored, by: column)
    }

    private static func query(_ table: FollowedSource.Table, _ entity: Entity, by column: String?) -> String {
        let attributes = entity.attributes.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let texts = attributes.map { attribute in
            let text = Self.text(of: attribute)
            // octet_length counts in the server's encoding, convert_to in UTF-8.
            return "coalesce(octet_length(convert_to(\(text), 'UTF8')) || ':' || \(text), '-')"
        }
        let group = column.map { "format('%s', \($0.quotedName))" }
        return """
            BEGIN READ ONLY;
            SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO'; SET LOCAL IntervalStyle = 'postgres';
            SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex'; SET LOCAL lc_monetary = 'C';
            WITH digests AS (
                SELECT \(group.map { "\($0) AS section, " } ?? "")encode(substr(sha256(convert_to(
                    \(texts.joined(separator: " ||\n        ")), 'UTF8')), 1, 16), 'hex') AS digest
                FROM \(table.quoted)\(table.currentCondition.map { " WHERE (\($0))" } ?? "")
            ), parts AS (
                SELECT \(group == nil ? "" : "section, ")count(*) AS rows,
                    \((0..<4).map { "coalesce(sum(('x' || substr(digest, \(1 + 8 * $0), 8))::bit(32)::bigint), 0) AS part\($0)" }.joined(separator: ",\n        "))
                FROM digests\(group == nil ? "" : " GROUP BY section")
            ), carried AS (
                SELECT parts.*, part3 AS sum3, part2 + div(part3, 4294967296) AS sum2 FROM parts
            ), further AS (
                SELECT carried.*, part1 + div(sum2, 4294967296) AS sum1 FROM carried
            )
            SELECT \(group == nil ? "" : "section, ")rows,
                \(["part0 + div(sum1, 4294967296)", "sum1", "sum2", "sum3"].map { "lpad(to_hex(mod(\($0), 4294967296)::bigint), 8, '0')" }.joined(separator: " ||\n    ")) AS fingerprint
            FROM further\(group == nil ? "" : " ORDER BY section");
            COMMIT;
            """
    }

    /// The SQL for the text that a fingerprint contains of a value; null for null.
    private static func text(of attribute: AttributeDescription) -> String {
        let column = attribute.name.quotedName
        return switch attribute.type {
        case .boolean, .integer, .uuid: "\(column)::text"
        case .decimal: "trim_scale(\(column))::text"
        case .data: "encode(\(column), 'hex')"
        // The store reads the shortest text of a single-precision number, too.
        case .double: "encode(float8send(\(column)::text::float8), 'hex')"
        // Like the store, adds the whole seconds since 2001 and the fraction, each as a double.
        case .date:
            "encode(float8send((extract(epoch FROM date_trunc('second', \(column)::timestamptz))::numeric - 978307200)::float8"
                + " + (mod(extract(microseconds FROM \(column)::timestamptz)::numeric, 1000000) / 1000000)::float8), 'hex')"
        // The output of the type. A cast to text would remove the blanks at the end of a char(n).
        case .string, .url: "CASE WHEN \(column) IS NOT NULL THEN format('%s', \(column)) END"
        }
    }
}
