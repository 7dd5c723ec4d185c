import Catalogue
import FetchIndex
import Foundation
import Stores

/// Measures the cost of three aggregates per section: an order with aggregates against the same order without
/// aggregates.
struct AggregateFigures {
    private static let rounds = 600

    private let stores: Stores

    init(_ stores: Stores) { self.stores = stores }

    /// Measures both orders on two copies of the store, which it changes.
    func measure(at urls: [URL]) throws -> [Figure] {
        let with = try AggregatedOrder(stores, at: urls[0], [.sum("size"), .average("size"), .max("size")])
        let without = try AggregatedOrder(stores, at: urls[1], [])
        let fetches = try medians(rounds: Self.rounds, [with.fetch, without.fetch])
        try with.beginChanges()
        try without.beginChanges()
        let changes = try medians(rounds: Self.rounds, [with.changeRow, without.changeRow])
        return [
            figure("warm fetch with three aggregates", fetches[0], "µs"),
            figure(
                "warm fetch with three aggregates, divided by one without", fetches[0] / fetches[1], limit: 1.3, "times"
            ),
            figure("change 1 row with three aggregates", changes[0], "µs"),
            figure(
                "change 1 row with three aggregates, divided by one without", changes[0] / changes[1], limit: 1.2,
                "times"),
        ]
    }

    private func figure(_ question: String, _ value: Double, limit: Double? = nil, _ unit: String) -> Figure {
        Figure(question: question, rows: stores.rows, value: value, limit: limit, unit: unit)
    }
}

/// A cached order of a store, its sections with their aggregates, and a live controller.
private final class AggregatedOrder {
    private let context: ManagedObjectContext
    private let request: FetchRequest<ManagedObject>
    private let aggregates: [Aggregate<ManagedObject>]
    private let rows: Int
    private var live: FetchedResultsController<ManagedObject>?
    private var objects: [ManagedObject] = []
    private var catalogue = Catalogue(seed: 3)

    /// Opens the copy of the store at `url`, deletes its cache, and builds the cache to measure, so that the copy has
    /// no other cache.
    init(_ stores: Stores, at url: URL, _ aggregates: [Aggregate<ManagedObject>]) throws {
        let container = try PersistentContainer(at: url, durability: .none)
        // All rows are read once, so that disk reads aren't measured.
        try container.withOrder(stores.definition, Stores.options()) { order in
            try order.forEachRow { row in _ = try row.value(at: 0) }
        }
        try container.deleteCache(named: Stores.cacheName)
        context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Package")
        request.sortKeys = [SortKey("name")]
        request.aggregates = aggregates
        self.request = request
        self.aggregates = aggregates
        rows = stores.rows
        _ = try fetched(.rebuilt(.first))
    }

    private func fetched(_ expected: FetchOutcome) throws -> FetchedResultsController<ManagedObject> {
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("section"), sectionOrder: .byName(),
            cacheName: "aggregated")
        let outcome = try controller.performFetch()
        guard outcome == expected else { fatalError("the cache must be \(expected), not \(outcome)") }
        return controller
    }

    /// Fetches, and reads all sections with their aggregates.
    func fetch() throws {
        let controller = try fetched(.hit)
        // The sum is used below, so that the optimizer can't remove a read.
        var sum = 0.0
        for section in controller.sections {
            sum += Double(section.name.utf8.count + section.count)
            for aggregate in aggregates { sum += section.aggregate(aggregate).number }
        }
        guard sum > 0 else { fatalError("there must be values") }
    }

    /// Makes a live controller, and gets the objects to change.
    func beginChanges() throws {
        live = try fetched(.hit)
        objects = try (0..<500).map { number in
            try context.object(with: context.objectID(of: "Package", number: UInt64(1 + number * 7919 % rows)))
        }
    }

    /// Renames a row, which usually moves it. A new size would leave the order without aggregates unchanged.
    func changeRow() throws {
        objects[catalogue.int(objects.count)]["name"] = .string(catalogue.next().name)
        try context.save()
    }
}

extension Value {
    fileprivate var number: Double {
        switch self {
        case .integer(let number): Double(number)
        case .double(let number): number
        default: -.infinity
        }
    }
}
