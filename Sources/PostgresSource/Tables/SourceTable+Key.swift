internal import FetchIndexValues

// The columns whose values identify rows, and what the source must have for them.
extension SourceTable {
    /// A unique index that is checked immediately and has all rows. It identifies rows if its columns have no nulls.
    struct Key {
        let name: String
        let columns: [String]
        let nullable: [String]
        let isPrimary: Bool
        let isIdentity: Bool
    }

    static func keys(ofTable number: String, _ connection: Connection) throws -> [Key] {
        try connection.execute(
            """
            SELECT c.relname, i.indisprimary, i.indisreplident, pg_catalog.string_agg(a.attname, E'\\x1f' ORDER BY k.place),
                pg_catalog.string_agg(a.attname, E'\\x1f' ORDER BY k.place) FILTER (WHERE NOT a.attnotnull)
            FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
                CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, place)
                JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
            WHERE i.indrelid = $1::oid AND i.indisunique AND i.indimmediate AND i.indisvalid
                AND i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts
            GROUP BY c.relname, i.indisprimary, i.indisreplident, i.indexrelid ORDER BY i.indexrelid
            """, [number], columns: 5
        ).map { row in
            func names(_ text: String?) -> [String] { (text ?? "").split(separator: "\u{1F}").map(String.init) }
            return Key(
                name: row[0] ?? "", columns: names(row[3]), nullable: names(row[4]), isPrimary: row[1] == "t",
                isIdentity: row[2] == "t")
        }
    }

    /// Whether the source has an index by which columns are unique together; rows with nulls aren't compared.
    func isUnique(_ columns: [String]) -> Bool {
        uniqueKeys.contains { $0.columns.count == columns.count && Set($0.columns) == Set(columns) }
    }

    /// The type char(n), whose blanks at the end don't count in comparisons.
    private static let paddedText: UInt32 = 1042

    /// Whether foreign keys that name unique columns can be followed: equal values of the columns are equal in the store,
    /// and different ones are different.
    func isExact(_ columns: [String]) -> Bool {
        columns.allSatisfy { name in
            guard let column = self.columns.first(where: { $0.name == name }), column.hasOwnOrder,
                column.baseType != Self.paddedText, !isJSON(column)
            else {
                return false
            }
            return [.integer, .string, .uuid, .data, .boolean].contains(type(of: column))
        }
    }

    /// The key's columns; empty for a table without a key whose old rows are sent as a whole.
    static func key(
        _ choice: TableChoice, _ keys: [Key], _ columns: [Column], sendsWholeRows: Bool
    ) throws -> [Column] {
        let title = choice.title
        if choice.wholeRow != nil && (choice.key ?? []).isEmpty { return [] }
        // A table without a primary key may say by which index its old rows are sent.
        let chosen = keys.first(where: \.isPrimary) ?? keys.first(where: \.isIdentity)
        if choice.key == nil, chosen == nil, sendsWholeRows { return [] }
        guard let names = choice.key ?? chosen?.columns else {
            throw SourceError(.refused, "\(title) has no primary key", remedy: .chooseKey)
        }
        let list = names.joined(separator: ", ")
        let key = try names.map { try keyColumn($0, choice, columns) }
        guard !names.isEmpty, Set(names).count == names.count else {
            throw SourceError(.usage, "\(list.isEmpty ? "no column" : list) cannot be the key of \(title)")
        }
        let same = keys.filter { $0.columns.count == names.count && Set($0.columns) == Set(names) }
        if same.contains(where: \.nullable.isEmpty) { return key }
        let columns = names.map(\.quotedName).joined(separator: ", ")
        let missing =
            same.first.map { $0.nullable.map { "ALTER \($0.quotedName) SET NOT NULL" }.joined(separator: ", ") }
            ?? "ADD UNIQUE (\(columns))"
        throw SourceError(
            .refused,
            "\(list) cannot be the key of \(title): it needs to be NOT NULL and to have a unique index that is not deferrable: "
                + "ALTER TABLE \(choice.quoted) \(missing)")
    }

    private static func keyColumn(_ name: String, _ choice: TableChoice, _ columns: [Column]) throws -> Column {
        let title = choice.title
        guard let column = columns.first(where: { $0.name == name }) else {
            throw SourceError(.usage, "\(title) has no column \(name)")
        }
        guard column.hasOwnOrder else {
            throw SourceError(
                .refused,
                "\(name) cannot be in the key of \(title): values of the type \(column.typeName) may be compared by an "
                    + "extension's rules")
        }
        if column.isArray, !choice.asText.contains(name) {
            throw SourceError(
                .refused, "\(name) cannot be in the key of \(title), because it has arrays",
                remedy: .storeAsText(column: name))
        }
        return column
    }

    /// Checks that the source's log has what identifies the rows that are deleted or whose key changes.
    func requireOldRows(_ entry: CatalogueEntry, _ connection: Connection) throws {
        if entry.sendsWholeRows, let virtual = columns.first(where: \.isVirtual) {
            throw SourceError(
                .refused,
                "\(choice.title).\(virtual.name) is a virtual column, so the source would refuse updates and deletions if it published "
                    + "the table with REPLICA IDENTITY FULL")
        }
        if key.isEmpty { try requireWholeRows(entry.identity) } else { try requireIdentity(entry.identity) }
        if isPartitioned { try requireIdentitiesOfPartitions(connection) }
    }

    /// Checks that the source sends the old key of rows that are deleted or whose key changes.
    private func requireIdentity(_ kind: String?) throws {
        let key = self.key.map(\.name)
        func includesKey(_ index: Key) -> Bool { Set(key).isSubset(of: index.columns) }
        switch kind {
        case "f": return
        case "d" where uniqueKeys.contains { $0.isPrimary && includesKey($0) }: return
        case "i" where uniqueKeys.contains { $0.isIdentity && includesKey($0) }: return
        default: break
        }
        let index = uniqueKeys.first { Set($0.columns) == Set(key) }?.name
        let command = index.map { "USING INDEX \($0.quotedName)" } ?? "FULL"
        throw SourceError(
            .refused,
            "the source does not send the \(key.joined(separator: ", ")) of deleted rows of \(choice.title): "
                + "ALTER TABLE \(choice.quoted) REPLICA IDENTITY \(command)")
    }

    /// Checks that a table without a key can be followed: the source sends whole old rows, and also new ones.
    private func requireWholeRows(_ kind: String?) throws {
        guard kind == "f" else {
            throw SourceError(
                .refused,
                "\(choice.title) has no key, and the source does not send whole old rows: ALTER TABLE \(choice.quoted) REPLICA IDENTITY FULL"
            )
        }
        if choice.condition == nil { return }
        throw SourceError(
            .refused,
            "a condition for \(choice.title) needs a key, because the source does not send all values of rows that begin to meet it",
            remedy: .chooseKey)
    }

    /// Checks that no partition has a replica identity of its own: the source sends a partition's old rows by it.
    private func requireIdentitiesOfPartitions(_ connection: Connection) throws {
        let name = try connection.value(
            """
            SELECT p.relid::regclass FROM pg_catalog.pg_partition_tree($1::oid) p JOIN pg_catalog.pg_class c ON c.oid = p.relid
            WHERE p.isleaf AND c.relreplident <> ALL ($2::"char"[]) ORDER BY p.relid::oid LIMIT 1
            """, ["\(number)", key.isEmpty ? "{f}" : "{d,f}"])
        guard let name else { return }
        throw SourceError(
            .refused,
            "the partition \(name) of \(choice.title) has another replica identity: ALTER TABLE \(name) REPLICA IDENTITY "
                + (key.isEmpty ? "FULL" : "DEFAULT"))
    }
}
