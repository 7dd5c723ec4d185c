import Catalogue
public import FetchIndex
import Foundation
public import GRDB

/// The same rows in a FetchIndex store and in an SQLite database, kept in a folder between runs.
public struct Stores: Sendable {
    public let rows: Int
    private let folder: URL

    /// The folder is named by FETCHINDEX_BENCHMARK_DATA.
    public init(rows: Int) {
        self.rows = rows
        let path = ProcessInfo.processInfo.environment["FETCHINDEX_BENCHMARK_DATA"] ?? ".build-data"
        folder = URL(fileURLWithPath: path).appendingPathComponent("\(rows)")
    }

    private var storeURL: URL { folder.appendingPathComponent("store") }
    private var databasePath: String { folder.appendingPathComponent("peer.sqlite").path }
    private var donePath: String { folder.appendingPathComponent("done").path }

    public static let cacheName = "by section"

    /// Packages by section, by name within it, the sections by name: what the peer's index orders too.
    public static var definition: OrderDefinition {
        OrderDefinition(
            entity: "Package", sortKeys: [SortKey("name")], sectionKey: .attribute("section"), sectionOrder: .byName())
    }

    public func container(durability: Durability = .none) throws -> PersistentContainer {
        try PersistentContainer(at: storeURL, durability: durability)
    }

    public func database(isDurable: Bool = false) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA synchronous = \(isDurable ? "FULL" : "OFF")")
        }
        return try DatabaseQueue(path: databasePath, configuration: configuration)
    }

    /// A controller of the same order, which shares its cache.
    public func controller(_ context: ManagedObjectContext) throws -> FetchedResultsController<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: "Package")
        request.sortKeys = [SortKey("name")]
        return try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("section"), sectionOrder: .byName(),
            cacheName: Stores.cacheName)
    }

    public static func options() -> PersistentContainer.OrderOptions { .init(cacheName: cacheName) }

    /// Makes both, once.
    public func prepare() throws {
        if FileManager.default.fileExists(atPath: donePath) { return }
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try prepareStore()
        try prepareDatabase()
        try Data().write(to: URL(fileURLWithPath: donePath))
    }

    private static let model = Model(entities: [
        Entity("Package", Catalogue.columns.map { AttributeDescription($0, $0 == "size" ? .integer : .string) })
    ])

    private func prepareStore() throws {
        let container = try PersistentContainer(at: storeURL, model: Self.model, durability: .none)
        let writer = try BatchWriter(container, entity: "Package")
        var catalogue = Catalogue()
        for number in 1...rows {
            try writer.insert(Self.values(catalogue.next()))
            if number % 100_000 == 0 { try writer.commit() }
        }
        try writer.commit()
        try container.withOrder(Self.definition, Self.options()) { _ in }
    }

    public static func values(_ row: Catalogue.Row) -> [Value] {
        [
            .string(row.name), .string(row.section), .string(row.version), .string(row.architecture),
            .integer(Int64(row.size)), .string(row.maintainer), .string(row.description),
        ]
    }

    public static let createIndex = "CREATE INDEX by_section ON package (section, name)"

    private func prepareDatabase() throws {
        let queue = try database()
        try queue.write { database in
            try database.execute(sql: Self.createTable)
            var catalogue = Catalogue()
            try Self.insert((0..<rows).lazy.map { _ in catalogue.next() }, into: database)
            try database.execute(sql: Self.createIndex)
        }
    }

    private static let createTable = """
        CREATE TABLE package (id INTEGER PRIMARY KEY, name TEXT, section TEXT, version TEXT, architecture TEXT, \
        size INTEGER, maintainer TEXT, description TEXT)
        """

    /// Inserts rows with one prepared statement, whose arguments are not checked.
    public static func insert(_ rows: some Sequence<Catalogue.Row>, into database: Database) throws {
        let insert = try database.makeStatement(sql: "INSERT INTO package VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)")
        for row in rows {
            insert.setUncheckedArguments([
                row.name, row.section, row.version, row.architecture, row.size, row.maintainer, row.description,
            ])
            try insert.execute()
        }
    }

    /// A copy of the store, to be changed and thrown away, in a folder of its own.
    public func copyStore() throws -> URL {
        let copy = try Self.scratch().appendingPathComponent("store")
        try FileManager.default.copyItem(at: storeURL, to: copy)
        return copy
    }

    // MARK: Empty ones

    /// A new folder beside the stores.
    public static func scratch() throws -> URL {
        let path = ProcessInfo.processInfo.environment["FETCHINDEX_BENCHMARK_DATA"] ?? ".build-data"
        let folder = URL(fileURLWithPath: path).appendingPathComponent("scratch-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    public static func emptyContainer(in folder: URL) throws -> PersistentContainer {
        try PersistentContainer(at: folder.appendingPathComponent("store"), model: model, durability: .none)
    }

    public static func emptyDatabase(in folder: URL) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        let queue = try DatabaseQueue(
            path: folder.appendingPathComponent("peer.sqlite").path, configuration: configuration)
        try queue.write { try $0.execute(sql: createTable) }
        return queue
    }

    /// Applies random changes in one transaction: a quarter new rows, a quarter deletions, and half updates of one
    /// attribute, any of the seven.
    public func change(_ count: Int, in container: PersistentContainer, seed: UInt64) throws {
        var catalogue = Catalogue(seed: seed)
        let writer = try BatchWriter(container, entity: "Package")
        for index in 0..<count {
            var row = catalogue.next()
            row.name += "-\(seed)"
            let new = Self.values(row)
            guard index % 4 > 0, let object = try writer.object(number: UInt64(1 + catalogue.int(rows))) else {
                try writer.insert(new)
                continue
            }
            if index % 4 == 1 {
                try writer.delete(object)
            } else {
                var values = try writer.values(of: object)
                let slot = catalogue.int(values.count)
                values[slot] = new[slot]
                try writer.update(object, values)
            }
        }
        try writer.commit()
    }
}
