import FetchIndex
import Foundation
import Stores

/// What indexes cost a write, and what a lookup by one costs, on copies of the stores.
struct IndexFigures {
    private static let indexes = [Index(["name"]), Index(["maintainer", "size:desc"]), Index(["size"])]

    private let stores: Stores

    init(_ stores: Stores) { self.stores = stores }

    private func figure(_ question: String, _ value: Double, limit: Double? = nil, _ unit: String) -> Figure {
        Figure(question: question, rows: stores.rows, value: value, limit: limit, unit: unit)
    }

    func measure() throws -> [Figure] {
        let urls = try (0..<2).map { _ in try stores.copyStore() }
        defer { for url in urls { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) } }
        let containers = try urls.map { try PersistentContainer(at: $0, durability: .none) }
        let entity = try containers[0].model().entities[0]
        let build = try ContinuousClock().measure {
            try containers[1].migrate(
                to: Model(entities: [Entity("Package", entity.attributes, indexes: Self.indexes)]))
        }
        let savers = try containers.map { try Saver($0, stores.rows) }
        // The other store has a unique key where this one has an index.
        let saves = try Self.medians(of: savers, rounds: 400) { try $0.save() }
        let unique = entity.attributes.map {
            AttributeDescription($0.name, $0.type, isOptional: $0.isOptional, isUnique: $0.name == "name")
        }
        try containers[0].migrate(to: Model(entities: [Entity("Package", unique)]))
        let seekers = try containers.map { try Seeker($0, stores.rows) }
        let lookups = try Self.medians(of: seekers, rounds: 400) { try $0.lookUp() }
        return [
            figure("three indexes built on the store", build / .milliseconds(1), "ms"),
            figure("save of one row without indexes", saves[0], "µs"),
            figure("the same with three indexes, all changed", saves[1] / saves[0], limit: 2.5, "times"),
            figure("lookup by a unique key", lookups[0], "µs"),
            figure("the same by an index", lookups[1] / lookups[0], limit: 3, "times"),
        ]
    }

    /// Calls all of them in turn, and returns the median time of each in microseconds.
    private static func medians<Subject>(
        of subjects: [Subject], rounds: Int, _ body: (Subject) throws -> Void
    ) throws -> [Double] {
        var times = Array(repeating: [Double](), count: subjects.count)
        for _ in 0..<rounds {
            for (number, subject) in subjects.enumerated() {
                times[number].append(try ContinuousClock().measure { try body(subject) } / .microseconds(1))
            }
        }
        return times.map { $0.sorted()[rounds / 2] }
    }
}

/// Changes all indexed attributes of one object after the other, and saves each.
private final class Saver {
    private let context: ManagedObjectContext
    private let objects: [ManagedObject]
    private var next = 0

    init(_ container: PersistentContainer, _ rows: Int) throws {
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

/// Fetches one object after the other by its name.
private final class Seeker {
    private let context: ManagedObjectContext
    private let names: [Value]
    private var next = 0

    init(_ container: PersistentContainer, _ rows: Int) throws {
        let context = container.newContext()
        self.context = context
        names = try (0..<500).map { number in
            try context.object(with: context.objectID(of: "Package", number: UInt64(1 + number * 104_729 % rows)))[
                "name"]
        }
    }

    func lookUp() throws {
        var request = FetchRequest<ManagedObject>(entityName: "Package")
        request.predicate = try FetchPredicate(format: "name == %@", argumentArray: [names[next % names.count]])
        next += 1
        guard try context.fetch(request).count == 1 else { throw CocoaError(.coderValueNotFound) }
    }
}
