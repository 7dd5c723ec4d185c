import Catalogue
public import FetchIndex
public import GRDB

/// The kind of rows that a store and its peer have. Times depend on it.
public enum Shape: String, CaseIterable, Sendable {
    /// Packages: names of about 15 bytes in random order, in 260 sections.
    case packages
    /// Files: sorted paths of about 90 bytes with long common prefixes, in 15 sections.
    case files
    case shuffledFiles

    /// The suffix of a question's name, which names the kind of rows; "" for packages.
    public var suffix: String {
        switch self {
        case .packages: ""
        case .files: ", paths in order"
        case .shuffledFiles: ", paths shuffled"
        }
    }

    public var columns: [String] { self == .packages ? Catalogue.columns : FileCatalogue.columns }

    private var integers: Set<String> { self == .packages ? ["size"] : ["depth", "length"] }

    /// The attribute by which rows are sorted within sections.
    public var sortKey: String { self == .packages ? "name" : "path" }

    public func entity(isUnique: Bool = false) -> Entity {
        Entity(
            self == .packages ? "Package" : "File",
            columns.map {
                AttributeDescription(
                    $0, integers.contains($0) ? .integer : .string, isUnique: isUnique && $0 == sortKey)
            })
    }

    /// The order of the benchmarks: sections by the attribute `section`, sorted by name, and rows sorted by the sort
    /// key. The peer's index has the same order.
    public var definition: OrderDefinition {
        OrderDefinition(
            entity: entity().name, sortKeys: [SortKey(sortKey)], sectionKey: .attribute("section"),
            sectionOrder: .byName())
    }

    /// Calls the body with the values of the first `count` rows.
    public func forEachRow(_ count: Int, _ body: ([Value]) throws -> Void) rethrows {
        if self == .packages {
            var catalogue = Catalogue()
            for _ in 0..<count { try body(Stores.values(catalogue.next())) }
            return
        }
        for row in FileCatalogue.rows(count, isShuffled: self == .shuffledFiles) {
            try body([
                .string(row.path), .string(row.section), .string(row.package), .integer(Int64(row.depth)),
                .integer(Int64(row.length)),
            ])
        }
    }

    // MARK: The peer

    public var table: String { self == .packages ? "package" : "file" }

    public func createTable(isUnique: Bool = false, hasID: Bool = true) -> String {
        let types = columns.map {
            "\($0) \(integers.contains($0) ? "INTEGER" : "TEXT")\(isUnique && $0 == sortKey ? " UNIQUE" : "")"
        }
        let columns = (hasID ? ["id INTEGER PRIMARY KEY"] : []) + types
        return "CREATE TABLE \(table) (\(columns.joined(separator: ", ")))"
    }

    public var createIndex: String { "CREATE INDEX by_section ON \(table) (section, \(sortKey))" }

    /// Prepares a statement that inserts a row; its arguments are the row's values.
    public func insertion(into database: Database) throws -> Statement {
        let places = columns.map { _ in ", ?" }.joined()
        return try database.makeStatement(sql: "INSERT INTO \(table) VALUES (NULL\(places))")
    }

    public static func arguments(_ values: [Value]) -> StatementArguments {
        StatementArguments(
            values.map { value -> (any DatabaseValueConvertible)? in
                switch value {
                case .integer(let number): number
                case .string(let text): text
                default: nil
                }
            })
    }
}
