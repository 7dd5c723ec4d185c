import FetchIndex
import Foundation
import GRDB
import Stores

/// A result of this program.
struct Figure: Encodable {
    let question: String
    let rows: Int
    let value: Double
    let limit: Double?
    let unit: String
}

/// Measures the cost of changes of the model, on a copy of the store.
struct ModelFigures {
    private let stores: Stores

    init(_ stores: Stores) { self.stores = stores }

    private func figure(_ question: String, _ value: Double, limit: Double? = nil, _ unit: String) -> Figure {
        Figure(question: question, rows: stores.rows, value: value, limit: limit, unit: unit)
    }

    private static func milliseconds(_ body: () throws -> Void) rethrows -> Double {
        try ContinuousClock().measure(body) / .milliseconds(1)
    }

    func measure() throws -> [Figure] {
        let url = try stores.copyStore()
        defer { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
        let container = try PersistentContainer(at: url, durability: .none)
        try container.withOrder(stores.definition, Stores.options()) { _ in }
        func change(_ attributes: [AttributeDescription], removed: [String] = []) throws -> Double {
            let model = Model(entities: [Entity("Package", attributes, removed: removed)])
            return try Self.milliseconds { try container.migrate(to: model) }
        }
        let before = try scan(container, "size > 100000000")
        var figures = [
            figure(
                "adding an attribute with a default value",
                try change([AttributeDescription("pages", .integer, isOptional: false, defaultValue: .integer(7))]),
                limit: 5, "ms"),
            figure(
                "renaming an attribute",
                try change([AttributeDescription("label", .string, renamedFrom: "name")]), limit: 5, "ms"),
        ]
        let after = try scan(container, "size > 100000000 AND pages == 7")
        let new = try scan(container, "size > 100000000 AND size != 7")
        figures.append(
            figure(
                "scan that reads a value which old records lack, divided by a scan of one that they have", after / new,
                limit: 1.05,
                "times"))
        figures.append(
            figure(
                "scan after a change of the model, divided by one before it",
                try scan(container, "size > 100000000") / before,
                limit: 1.05, "times"))
        var outcome = FetchOutcome.computed
        try container.withOrder(stores.definition, Stores.options()) { outcome = $0.outcome }
        figures.append(figure("caches rebuilt by free changes", outcome == .hit ? 0 : 1, limit: 0, "caches"))
        figures.append(
            figure(
                "removing an attribute", try change([AttributeDescription("label", .string)], removed: ["pages"]),
                limit: 5, "ms"))
        let pass = try change([AttributeDescription("size", .string)])
        figures.append(figure("integer to text, a pass over all records", pass, "ms"))
        figures.append(
            figure(
                "the same, divided by UPDATE and ALTER TABLE in SQLite", pass / (try peerPass()), limit: 1.5, "times"))
        return figures
    }

    /// Returns the shortest time of seven scans that find nothing.
    private func scan(_ container: PersistentContainer, _ predicate: String) throws -> Double {
        var request = FetchRequest<ManagedObject>(entityName: "Package")
        request.predicate = try FetchPredicate(predicate)
        let context = container.newContext()
        var best = Double.infinity
        for _ in 0..<7 { best = min(best, try Self.milliseconds { _ = try context.count(for: request) }) }
        return best
    }

    private func peerPass() throws -> Double {
        let folder = try Stores.scratch()
        defer { try? FileManager.default.removeItem(at: folder) }
        let copy = folder.appendingPathComponent("peer.sqlite").path
        try stores.database().backup(to: try DatabaseQueue(path: copy))
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        let database = try DatabaseQueue(path: copy, configuration: configuration)
        return try Self.milliseconds {
            try database.write { database in
                try database.execute(sql: "ALTER TABLE package ADD COLUMN sizeText TEXT")
                try database.execute(sql: "UPDATE package SET sizeText = CAST(size AS TEXT)")
                try database.execute(sql: "ALTER TABLE package DROP COLUMN size")
                try database.execute(sql: "ALTER TABLE package RENAME COLUMN sizeText TO size")
            }
        }
    }
}
