import Benchmark
import FetchIndex
import Stores

/// The sections of a kept order with three aggregates of each, beside the same order without aggregates.
func aggregates(_ stores: Stores) {
    let aggregates: [Aggregate<ManagedObject>] = [.sum("size"), .average("size"), .max("size")]
    let cacheName = "with aggregates"
    for (side, aggregates) in [("ours", aggregates), ("without aggregates", [])] {
        nonisolated(unsafe) var context: ManagedObjectContext?
        nonisolated(unsafe) var outcome = FetchOutcome.computed
        let fetched: () throws -> FetchedResultsController<ManagedObject> = {
            var request = FetchRequest<ManagedObject>(entityName: "Package")
            request.sortKeys = [SortKey("name")]
            request.aggregates = aggregates
            let controller = try FetchedResultsController(
                fetchRequest: request, context: context!, sectionKey: .attribute("section"), sectionOrder: .byName(),
                cacheName: cacheName)
            outcome = try controller.performFetch()
            return controller
        }
        Benchmark("warm fetch with three aggregates | \(stores.rows) | \(side)", configuration: quick(3)) { benchmark in
            for _ in benchmark.scaledIterations {
                let controller = try fetched()
                require(outcome == .hit, "the cache must be warm")
                // Added up: a call of `blackHole` for each value takes a sixth as long as reading it.
                var sum = 0.0
                for section in controller.sections {
                    sum += Double(section.name.utf8.count + section.count)
                    for aggregate in aggregates { sum += section.aggregate(aggregate).number }
                }
                require(sum > 0, "there must be values")
            }
        } setup: {
            context = try stores.container().newContext()
            _ = try fetched()
        } teardown: {
            context = nil
            try stores.container().deleteCache(named: cacheName)
        }

        // A row is renamed: without aggregates a new size would change no order.
        nonisolated(unsafe) var scene: LiveScene?
        nonisolated(unsafe) var live: FetchedResultsController<ManagedObject>?
        Benchmark("change 1 row with three aggregates | \(stores.rows) | \(side)", configuration: quick(5)) {
            benchmark in
            for _ in benchmark.scaledIterations {
                scene!.edit([scene!.renaming()])
                benchmark.startMeasurement()
                try scene!.context.save()
                benchmark.stopMeasurement()
            }
        } setup: {
            scene = try LiveScene(stores, hasController: false)
            context = scene!.context
            live = try fetched()
            require(live?.sections.isEmpty == false, "the controller must have fetched")
        } teardown: {
            (live, scene, context) = (nil, nil, nil)
            try stores.container().deleteCache(named: cacheName)
        }
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
