import FetchIndex
import Foundation
import Stores

/// Measures how much indexes slow down a write, and how long a lookup by an index takes, on two copies of the store.
struct IndexFigures {
    private static let indexes = [Index(["name"]), Index(["maintainer", "size:desc"]), Index(["size"])]

    private let stores: Stores

    init(_ stores: Stores) { self.stores = stores }

    private func figure(_ question: String, _ value: Double, limit: Double? = nil, _ unit: String) -> Figure {
        Figure(question: question, rows: stores.rows, value: value, limit: limit, unit: unit)
    }

    func measure() throws -> [Figure] { try stores.withCopies(2) { try measure(at: $0) } }

    private func measure(at urls: [URL]) throws -> [Figure] {
        let build = try buildIndexes(at: urls[1])
        let durable = try saves(at: urls, .full, from: 0)
        let quick = try saves(at: urls, .none, from: 1000)
        let lookups = try lookups(at: urls)
        return [
            figure("three indexes built on the store", build / .milliseconds(1), "ms"),
            figure("durable save of one row without indexes", durable[0], "µs"),
            figure("the same with three indexes, all changed", durable[1] / durable[0], limit: 2.5, "times"),
            figure("save of one row without indexes and without waiting for the disk", quick[0], "µs"),
            figure("the same with three indexes, all changed", quick[1] / quick[0], "times"),
            figure("lookup by a unique key", lookups[0], "µs"),
            figure("the same by an index", lookups[1] / lookups[0], limit: 3, "times"),
        ]
    }

    private func buildIndexes(at url: URL) throws -> Duration {
        let container = try PersistentContainer(at: url, durability: .none)
        let entity = try container.model().entities[0]
        return try ContinuousClock().measure {
            try container.migrate(
                to: Model(entities: [Entity("Package", entity.attributes, indexes: Self.indexes)]))
        }
    }

    private func saves(at urls: [URL], _ durability: Durability, from start: Int) throws -> [Double] {
        let savers = try urls.map {
            try Saver(PersistentContainer(at: $0, durability: durability), stores.rows, from: start)
        }
        return try medians(rounds: 400, savers.map { $0.save })
    }

    /// Measures lookups by a unique key in the first store, and by an index in the second.
    private func lookups(at urls: [URL]) throws -> [Double] {
        let containers = try urls.map { try PersistentContainer(at: $0, durability: .none) }
        for (number, container) in containers.enumerated() {
            let key = AttributeDescription("key", .string, isUnique: number == 0)
            let indexes = number == 1 ? [Index(["key"])] : []
            var next = 0
            try container.migrate(to: Model(entities: [Entity("Package", [key], indexes: indexes)])) { _, _ in
                next += 1
                return ["key": .string("key \(next)")]
            }
        }
        let seekers = containers.map { Seeker($0, stores.rows) }
        return try medians(rounds: 400, seekers.map { $0.lookUp })
    }
}

/// Changes all indexed attributes of one object after the other, with a save for each object.
private final class Saver {
    private let container: PersistentContainer
    private let context: ManagedObjectContext
    private let objects: [ManagedObject]
    private var next: Int

    /// Two savers of a store get start numbers so far apart that the second one sets other names.
    init(_ container: PersistentContainer, _ rows: Int, from start: Int) throws {
        next = start
        self.container = container
        let context = container.newContext()
        self.context = context
        objects = try (0..<500).map { number in
            try context.object(with: context.objectID(of: "Package", number: UInt64(1 + number * 7919 % rows)))
        }
    }

    func save() throws {
        let object = objects[next % objects.count]
        next += 1
        object["name"] = .string("changed \(next * 7919 % 10_007)")
        object["maintainer"] = .string("maintainer \(next * 31 % 1009)")
        object["size"] = .integer(Int64(next * 7919 % 5003))
        try context.save()
    }
}

/// Fetches objects one by one, by their keys.
private final class Seeker {
    private let context: ManagedObjectContext
    private let names: [Value]
    private var next = 0

    init(_ container: PersistentContainer, _ rows: Int) {
        context = container.newContext()
        names = (0..<500).map { number in .string("key \(1 + number * 104_729 % rows)") }
    }

    func lookUp() throws {
        var request = FetchRequest<ManagedObject>(entityName: "Package")
        request.predicate = try FetchPredicate(format: "key == %@", argumentArray: [names[next % names.count]])
        next += 1
        guard try context.fetch(request).count == 1 else { throw CocoaError(.coderValueNotFound) }
    }
}
