/// The tables of a database and their columns. Names are compared without regard to case, as SQLite does.
struct StoreTables {
    /// By the table's name in capitals, its name, and its columns' names by their names in capitals.
    private let tables: [String: (name: String, columns: [String: String])]
    /// The names of entities by their numbers in the store.
    let entities: [Int64: String]
    /// The greatest key that was given to an object, by the number of the topmost entity.
    let greatestKeys: [Int64: Int64]

    /// The number of the first table that isn't an entity of the model, such as a table of the history.
    private static let firstOfSystem: Int64 = 16_000

    /// Reads the schema of a store. Throws `CoreDataFileError` if the database isn't a store of Core Data.
    init(_ store: StoreCopy) throws {
        var tables: [String: (name: String, columns: [String: String])] = [:]
        // Virtual tables would run code of extensions.
        try store.reading { database in
            try database.forEachRow(
                """
                SELECT s.name, c.name FROM sqlite_master AS s, pragma_table_info(s.name) AS c
                WHERE s.type = 'table' AND s.sql NOT LIKE 'CREATE VIRTUAL%'
                """
            ) { row in
                let (table, column) = (row.text(0) ?? "", row.text(1) ?? "")
                tables[table.uppercased(), default: (table, [:])].columns[column.uppercased()] = column
            }
        }
        self.tables = tables
        guard tables["Z_PRIMARYKEY"] != nil else { throw store.notCoreData }
        var entities: [Int64: String] = [:]
        var greatestKeys: [Int64: Int64] = [:]
        do {
            try store.reading { database in
                try database.forEachRow("SELECT Z_ENT, Z_NAME, Z_MAX FROM Z_PRIMARYKEY") { row in
                    guard let number = row.integer(0), number < Self.firstOfSystem else { return }
                    entities[number] = row.text(1)
                    greatestKeys[number] = row.integer(2)
                }
            }
        } catch  where store.database.isDamaged {}
        (self.entities, self.greatestKeys) = (entities, greatestKeys)
    }

    func name(of table: String) -> String? { tables[table.uppercased()]?.name }

    /// The tables that have objects of entities.
    var objectTables: [String] {
        tables.filter { key, table in
            key.hasPrefix("Z") && !key.hasPrefix("Z_") && table.columns["Z_PK"] != nil && table.columns["Z_ENT"] != nil
        }.map(\.value.name).sorted()
    }

    /// The columns of a table that have values of properties.
    func propertyColumns(of table: String) -> [String] {
        guard let columns = tables[table.uppercased()]?.columns else { return [] }
        return columns.filter { $0.key.hasPrefix("Z") && !$0.key.hasPrefix("Z_") }.map(\.value).sorted()
    }

    /// The name of a column; nil if it's missing.
    func column(_ name: String?, of table: String) -> String? {
        name.flatMap { tables[table.uppercased()]?.columns[$0.uppercased()] }
    }

    /// The name of a column, or of one that has digits after that name. `other` is another column.
    func column(_ name: String, of table: String, orNumbered: Bool, not other: String? = nil) -> String? {
        if let exact = column(name, of: table), exact != other { return exact }
        guard let columns = tables[table.uppercased()]?.columns else { return nil }
        let wanted = name.uppercased()
        return columns.keys.sorted().first { key in
            key.hasPrefix(wanted) && key.dropFirst(wanted.count).allSatisfy(\.isNumber) && columns[key] != other
        }.flatMap { columns[$0] }
    }

    /// The tables of joins, first those with one of these names. Their names begin with Z_ and a number.
    func joins(named names: [String]) -> [(name: String, isNamed: Bool)] {
        let named = names.compactMap { tables[$0.uppercased()]?.name }
        let others = tables.keys.sorted().filter { key in
            key.hasPrefix("Z_") && key.dropFirst(2).first?.isNumber ?? false
        }.compactMap { tables[$0]?.name }
        return named.map { ($0, true) } + others.filter { !named.contains($0) }.map { ($0, false) }
    }

    /// The numbers of entities in the store, by their names in a model. `ordered` are the entities in the order in which
    /// Core Data numbers them. After a migration, the store may have an entity's former name; if the model is the store's
    /// `own`, an entity without a name in the store has the number that its place gives it.
    func numbers(of ordered: [SourceModel.Entity], isOwn: Bool) -> [String: Int64] {
        let stored = Dictionary(entities.map { ($0.value, $0.key) }) { first, _ in first }
        var numbers: [String: Int64] = [:]
        for entity in ordered {
            if let number = stored[entity.name] ?? entity.formerName.flatMap({ stored[$0] }) {
                numbers[entity.name] = number
            }
        }
        let used = Set(numbers.values)
        for (place, entity) in ordered.enumerated() where numbers[entity.name] == nil {
            let predicted = Int64(place + 1)
            // A damaged table of entities may be empty.
            if entities.isEmpty || isOwn && entities[predicted] != nil && !used.contains(predicted) {
                numbers[entity.name] = predicted
            }
        }
        return numbers
    }
}
