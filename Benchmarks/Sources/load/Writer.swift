import Catalogue
import FetchIndex
import Foundation
import Stores

/// Saves 100 changes for each of the given seconds, at that rate if the machine keeps up. Prints the number of saves,
/// and their median and maximum times in milliseconds.
struct Writer {
    private let store: URL
    private let seconds: Double
    private let rows: Int
    /// The seed of the new values. It differs between writers, because equal values would not be changes.
    private let seed: UInt64

    private static let changesASecond = 100.0

    init(_ arguments: [String]) {
        store = URL(fileURLWithPath: arguments[1])
        seconds = Double(arguments[2]) ?? 10
        rows = Int(arguments[3]) ?? 1
        seed = UInt64(arguments[4]) ?? 1
    }

    func run() throws {
        let container = try PersistentContainer(at: store, durability: .full)
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Package")
        request.sortKeys = [SortKey("name")]
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("section"), sectionOrder: .byName(),
            cacheName: Stores.cacheName)
        try controller.performFetch()
        var catalogue = Catalogue(seed: seed)
        var times: [Double] = []
        let start = ContinuousClock.now
        while Double(times.count) / Self.changesASecond < seconds {
            let due = start + .seconds(Double(times.count) / Self.changesASecond)
            let wait = (due - ContinuousClock.now) / .microseconds(1)
            if wait > 0 { usleep(UInt32(wait)) }
            let began = ContinuousClock.now
            let id = try context.objectID(of: "Package", number: UInt64(1 + catalogue.int(rows)))
            let object = context.object(with: id)
            if times.count % 2 == 0 {
                object["name"] = .string(catalogue.name())
            } else {
                object["size"] = .integer(Int64(catalogue.int(500_000)))
            }
            try context.save()
            times.append((ContinuousClock.now - began) / .milliseconds(1))
        }
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        times.sort()
        let median = times[times.count / 2]
        print(
            String(
                format: "%d commits in %.1f s, median %.2f ms, longest %.1f ms", times.count, elapsed, median,
                times[times.count - 1]))
    }
}
