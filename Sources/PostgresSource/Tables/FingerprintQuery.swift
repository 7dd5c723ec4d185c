internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

extension Follower {
    /// Returns the SQL that computes in the source, for the table that an entity follows, the number of rows and the
    /// fingerprint that `Aggregate.fingerprint` gives in the store, for each value of a column or for the whole table.
    /// For an entity that several sources fill, that is the fingerprint of the source's objects. Throws `SourceError`, and
    /// `StoreError` if the store can't be read.
    package static func fingerprintQuery(
        storeAt path: String, named name: String? = nil, entity: String, by column: String?
    ) throws -> String {
        let container = try PersistentContainer(storeAt: path, isReadOnly: true)
        let source = try FollowPreparation.source(named: name, in: container)
        guard let table = source.tables.first(where: { $0.entity == entity }) else {
            throw SourceError(
                .usage,
                "the store follows no table as the entity \"\(entity)\"; its entities are: "
                    + source.tables.map(\.entity).sorted().joined(separator: ", "))
        }
        guard let stored = try container.model().entity(named: entity) else {
            throw SourceError(.usage, "the store has no entity \(entity)")
        }
        try requireComparable(table, stored)
        let group = try column.map { name in
            guard let attribute = stored.attributes.first(where: { $0.name == name }) else {
                throw SourceError(.usage, "the entity \(entity) has no attribute \"\(name)\"")
            }
            return try Self.section(by: attribute)
        }
        return query(table, stored, group, named: source.name)
    }

    /// Throws `SourceError` if the fingerprints of a table and of its entity can't be equal.
    private static func requireComparable(_ table: FollowedSource.Table, _ entity: Entity) throws {
        if table.wholeRow != nil {
            throw SourceError(
                .usage, "\(table.title) has no key, so its fingerprint cannot be compared with the store's")
        }
        let missing = entity.attributes.filter { attribute in
            attribute.name != table.shard?.attribute && !table.columns.contains { $0.name == attribute.name }
        }
        if let attribute = missing.first {
            throw SourceError(
                .usage,
                "the attribute \(attribute.name) of \(entity.name) has no column in \(table.title), so the two cannot be equal"
            )
        }
        if let column = table.columns.first(where: { $0.element != nil }) {
            throw SourceError(
                .usage,
                "the column \(column.name) of \(table.title) has arrays, which the store has as JSON, so the two cannot be compared"
            )
        }
    }

    private static func query(
        _ table: FollowedSource.Table, _ entity: Entity, _ group: String?, named name: String
    ) -> String {
        // One long statement: texts, their digests, the digests' sums, and the sums' carries.
        let attributes = entity.attributes.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let texts = attributes.enumerated().map { number, attribute in
            (attribute.name == table.shard?.attribute ? "\(name.quotedText)::text" : text(of: attribute))
                + " AS text\(number)"
        }
        // octet_length counts in the server's encoding, convert_to in UTF-8.
        let parts = attributes.indices.map {
            "coalesce(octet_length(convert_to(text\($0), 'UTF8')) || ':' || text\($0), '-')"
        }
        let sums = (0..<4).map {
            "coalesce(sum(('x' || substr(digest, \(1 + 8 * $0), 8))::bit(32)::bigint), 0) AS part\($0)"
        }
        let hexadecimal = ["part0 + div(sum1, 4294967296)", "sum1", "sum2", "part3"].map {
            "lpad(to_hex(mod(\($0), 4294967296)::bigint), 8, '0')"
        }
        let condition = table.currentCondition.map { " WHERE (\($0))" } ?? ""
        let section = group == nil ? "" : "section, "
        return """
            SET client_encoding = 'UTF8';
            BEGIN READ ONLY;
            SET LOCAL search_path = ''; SET LOCAL row_security = off; SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO';
            SET LOCAL IntervalStyle = 'postgres'; SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex';
            SET LOCAL lc_monetary = 'C';
            WITH texts AS (
                SELECT \(group.map { "\($0) AS section,\n        " } ?? "")\(texts.joined(separator: ",\n        "))
                FROM \(table.quoted)\(condition)
            ), digests AS (
                SELECT \(section)encode(substr(sha256(convert_to(
                    \(parts.joined(separator: " ||\n        ")), 'UTF8')), 1, 16), 'hex') AS digest
                FROM texts
            ), parts AS (
                SELECT \(section)count(*) AS rows,
                    \(sums.joined(separator: ",\n        "))
                FROM digests\(group == nil ? "" : " GROUP BY section")
            ), carried AS (
                SELECT parts.*, part2 + div(part3, 4294967296) AS sum2 FROM parts
            ), further AS (
                SELECT carried.*, part1 + div(sum2, 4294967296) AS sum1 FROM carried
            )
            SELECT \(section)rows,
                \(hexadecimal.joined(separator: " ||\n    ")) AS fingerprint
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
        // Like the store, adds the whole seconds since 2001 and the fraction, each as a double. A day may be later than
        // the last time.
        case .date:
            """
            encode(float8send(CASE WHEN strpos(\(column)::text, ':') = 0
                    THEN (\(column)::date - date '2001-01-01')::float8 * 86400
                    ELSE (extract(epoch FROM date_trunc('second', \(column)::timestamptz))::numeric - 978307200)::float8
                        + (mod(extract(microseconds FROM \(column)::timestamptz)::numeric, 1000000) / 1000000)::float8
                END), 'hex')
            """
        // The output of the type. A cast to text would remove the blanks at the end of a char(n).
        case .string, .url: "CASE WHEN \(column) IS NOT NULL THEN format('%s', \(column)) END"
        }
    }

    /// The SQL for the name that the store gives to a section of rows with a value; null for null. Throws `SourceError` if
    /// the source can't make it.
    private static func section(by attribute: AttributeDescription) throws -> String {
        switch attribute.type {
        case .double, .date:
            throw SourceError(
                .usage,
                "--by \(attribute.name) groups by \(attribute.type.nameWithArticle), whose text in the source differs from the "
                    + "store's; group by another column")
        case .uuid: return "upper(\(text(of: attribute)))"
        // A column's collation may take different texts for equal ones.
        default: return "(\(text(of: attribute))) COLLATE \"C\""
        }
    }
}
