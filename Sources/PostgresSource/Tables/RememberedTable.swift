/// A followed table as the store remembers it, with the present names of its columns in the source's catalogue.
struct RememberedTable {
    /// The table as it is stored.
    let stored: FollowedSource.Table
    /// The stored table with its present filter. If its name belongs to another table now, its columns have the numbers
    /// of that table's columns with the same names.
    let table: FollowedSource.Table
    /// The columns in the catalogue.
    private let columns: [(number: Int, name: String)]

    /// Reads the present names of a stored table's columns. Throws `SourceError` if the table is missing.
    init(_ stored: FollowedSource.Table, filter: String?, _ connection: Connection) throws {
        let rows = try connection.execute(
            """
            SELECT a.attnum, a.attname, c.oid FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped
            """, [stored.schema, stored.name], columns: 3)
        guard let number = rows.first?[2] else {
            throw SourceError(.refused, "the source has no table \(stored.title)")
        }
        let columns = rows.map { (number: Int($0[0] ?? "") ?? 0, name: $0[1] ?? "") }
        var table = stored
        table.filter = filter ?? stored.filter
        if UInt32(number) != stored.number { table.renumber(by: columns) }
        (self.stored, self.table, self.columns) = (stored, table, columns)
    }

    /// The present name of a column, which is found by the column's number; nil if the column was dropped.
    private func presentName(_ name: String) -> String? {
        guard let number = table.columns.first(where: { $0.name == name })?.number else { return nil }
        return columns.first { $0.number == number }?.name
    }

    /// Returns what the user chose for the table, such as key, columns and condition, with the present names of
    /// columns. Throws `SourceError` if the key was dropped.
    func choice() throws -> TableChoice {
        var choice = TableChoice(table)
        choice.key = try table.key.map { name in
            guard let present = presentName(name) else {
                throw SourceError(.refused, "\(table.title) has lost its column \(name), which identifies its rows")
            }
            return present
        }
        choice.columns = choice.columns.map { $0.compactMap(presentName) }
        choice.asText = choice.asText.map { presentName($0) ?? $0 }.filter { name in
            columns.contains { $0.name == name }
        }
        return choice
    }

    /// Returns the table of the catalogue as the store is to remember it, with the members that only the store knows.
    func followed(as source: SourceTable) throws -> FollowedSource.Table {
        var followed = try source.followed()
        (followed.condition, followed.filter) = (table.condition, table.filter)
        (followed.references, followed.copy, followed.unstorable) = (table.references, table.copy, table.unstorable)
        (followed.followsNewColumns, followed.leftOut) = (table.followsNewColumns, table.leftOut)
        (followed.omittedRows, followed.snapshot) = (table.omittedRows, table.snapshot)
        followed.otherKeys = table.otherKeys.compactMap { names in
            let present = names.compactMap(presentName)
            return present.count == names.count && source.isUnique(present) ? present : nil
        }
        return followed
    }
}

extension FollowedSource.Table {
    /// Takes the numbers of another table's columns, by their names. A column that the other table lacks gets 0.
    fileprivate mutating func renumber(by others: [(number: Int, name: String)]) {
        for index in columns.indices {
            columns[index].number = others.first { $0.name == columns[index].name }?.number ?? 0
        }
        width = 0
    }
}
