import Catalogue
public import FetchIndex
import Foundation
public import GRDB

/// Whether FETCHINDEX_BENCHMARK_BRIEF is set: a brief run has fewer rows and rounds.
public let isBrief = ProcessInfo.processInfo.environment["FETCHINDEX_BENCHMARK_BRIEF"] != nil

/// Rows in a FetchIndex store, the same rows in an SQLite database and, for shapes of files, in a catalogue file. They stay in a folder
/// between runs.
public struct Stores: Sendable {
    public let rows: Int
    public let shape: Shape
    public let definition: OrderDefinition
    private let folder: URL
    private let storeURL: URL

    /// The folder named by FETCHINDEX_BENCHMARK_DATA; .build-data by default.
    static var dataFolder: URL {
        URL(fileURLWithPath: ProcessInfo.processInfo.environment["FETCHINDEX_BENCHMARK_DATA"] ?? ".build-data")
    }

    public init(rows: Int, _ shape: Shape = .packages) {
        self.rows = rows
        self.shape = shape
        folder = Self.dataFolder.appendingPathComponent("\(shape)-\(rows)")
        // The program `prepare` makes the store, before the measurements.
        storeURL = folder.appendingPathComponent("store")
        definition = shape.definition
    }

    private var databasePath: String { folder.appendingPathComponent("peer.sqlite").path }
    /// The file that marks a complete folder. Its name must change when a new version of `prepare` makes more than the
    /// old one.
    private var donePath: String { folder.appendingPathComponent("done 2").path }

    /// The file with the rows as comma-separated values. It only exists for shapes of files.
    public var catalogueURL: URL { folder.appendingPathComponent("catalogue.csv") }

    public static let cacheName = "by section"

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

    /// Returns a controller of the order of `definition`, with the cache `cacheName`.
    public func controller(_ context: ManagedObjectContext) throws -> FetchedResultsController<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: definition.entity)
        request.sortKeys = [SortKey(shape.sortKey)]
        return try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("section"), sectionOrder: .byName(),
            cacheName: Stores.cacheName)
    }

    public static func options() -> PersistentContainer.OrderOptions { .init(cacheName: cacheName) }

    /// Makes the store, the database and the catalogue concurrently, unless they exist.
    public func prepare() async throws {
        if FileManager.default.fileExists(atPath: donePath) { return }
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        async let store: Void = prepareStore()
        async let database: Void = prepareDatabase()
        async let catalogue: Void = prepareCatalogue()
        _ = try await (store, database, catalogue)
        try Data().write(to: URL(fileURLWithPath: donePath))
    }

    private func prepareStore() throws {
        let container = try PersistentContainer(
            at: storeURL, model: Model(entities: [shape.entity()]), durability: .none)
        let writer = try BatchWriter(container, entity: shape.entity().name)
        var number = 0
        try shape.forEachRow(rows) { row in
            try writer.insert(row)
            number += 1
            if number % 100_000 == 0 { try writer.commit() }
        }
        try writer.commit()
        if shape != .shuffledFiles { try container.withOrder(definition, Self.options()) { _ in } }
    }

    public static func values(_ row: Catalogue.Row) -> [Value] {
        [
            .string(row.name), .string(row.section), .string(row.version), .string(row.architecture),
            .integer(Int64(row.size)), .string(row.maintainer), .string(row.description),
        ]
    }

    private func prepareDatabase() throws {
        let queue = try database()
        try queue.write { database in
            try database.execute(sql: shape.createTable())
            let insertion = try shape.insertion(into: database)
            try shape.forEachRow(rows) { row in
                insertion.setUncheckedArguments(Shape.arguments(row))
                try insertion.execute()
            }
            // For shuffled files, the benchmark of builds creates the index.
            if shape != .shuffledFiles { try database.execute(sql: shape.createIndex) }
        }
    }

    /// Writes the catalogue. No value needs quotation marks.
    private func prepareCatalogue() throws {
        if shape == .packages { return }
        var text = shape.columns.joined(separator: ",") + "\n"
        shape.forEachRow(rows) { row in text += row.map(\.description).joined(separator: ",") + "\n" }
        try text.write(to: catalogueURL, atomically: false, encoding: .utf8)
    }

    /// Copies the store to `store` in a new folder, so that it can be changed. Returns the copy's path. The caller
    /// removes the folder around it.
    public func copyStore() throws -> URL {
        let copy = try Self.scratch().appendingPathComponent("store")
        try FileManager.default.copyItem(at: storeURL, to: copy)
        return copy
    }

    /// Copies the store several times, syncs the copies to disk, calls the body with them, and removes them.
    public func withCopies<Result>(_ count: Int, _ body: ([URL]) throws -> Result) throws -> Result {
        let urls = try (0..<count).map { _ in try copyStore() }
        defer { for url in urls { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) } }
        sync()
        return try body(urls)
    }

    // MARK: Empty stores

    /// Makes a new folder in the folder of the stores.
    public static func scratch() throws -> URL {
        let folder = dataFolder.appendingPathComponent("scratch-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    public static func emptyContainer(
        of shape: Shape = .packages, isUnique: Bool = false, in folder: URL
    ) throws -> PersistentContainer {
        try PersistentContainer(
            at: folder.appendingPathComponent("store"), model: Model(entities: [shape.entity(isUnique: isUnique)]),
            durability: .none)
    }

    public static func emptyDatabase(
        of shape: Shape = .packages, isUnique: Bool = false, in folder: URL
    ) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        let queue = try DatabaseQueue(
            path: folder.appendingPathComponent("peer.sqlite").path, configuration: configuration)
        try queue.write { try $0.execute(sql: shape.createTable(isUnique: isUnique)) }
        return queue
    }

    /// Applies random changes in one transaction: a quarter insertions, a quarter deletions, and half updates of one of the seven
    /// attributes. If an object to delete or update is missing, inserts a row instead.
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
