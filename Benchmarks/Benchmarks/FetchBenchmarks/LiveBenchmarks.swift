import Benchmark
import Catalogue
import FetchIndex
import Foundation
import GRDB
import Stores

// A live controller beside GRDB's ValueObservation of the same rows: both hear of a change when it is written, and ours
// tells what changed where the peer fetches the ordered ids and sections anew.

/// A context with a controller that has fetched, or without one, and rows to change.
final class LiveScene {
    let context: ManagedObjectContext
    let controller: FetchedResultsController<ManagedObject>?
    private var catalogue = Catalogue(seed: UInt64(Date().timeIntervalSince1970 * 1000))
    private let objects: [ManagedObject]
    private let counter = Counter()

    /// Counts the rows that are reported.
    final class Counter: FetchedResultsControllerDelegate {
        var rows = 0
        func controller(
            _ controller: FetchedResultsController<ManagedObject>, didChange object: ManagedObject,
            at indexPath: RowPath?, for type: ChangeKind, newIndexPath: RowPath?
        ) { rows += 1 }
    }

    init(_ stores: Stores, hasController: Bool, durability: Durability = .none, objects count: Int = 4000) throws {
        let container = try stores.container(durability: durability)
        // All rows are read once, so that the disk has no part in it; the peer reads all of its index each time.
        try container.withOrder(stores.definition, Stores.options()) { order in
            try order.forEachRow { row in blackHole(try row.value(at: 0)) }
        }
        context = container.newContext()
        controller = hasController ? try stores.controller(context) : nil
        controller?.delegate = counter
        try controller?.performFetch()
        var catalogue = Catalogue(seed: 11)
        let context = context
        let numbers = Set((0..<count).map { _ in UInt64(1 + catalogue.int(stores.rows)) }).sorted()
        objects = try numbers.map {
            try context.existingObject(with: context.objectID(of: "Package", number: $0))
        }
    }

    struct Change {
        let object: ManagedObject
        let attribute: String
        let value: Value
    }

    /// Different rows, each with a new value of one random attribute of the seven: two of them shape the order.
    func changes(_ count: Int) -> [Change] {
        let first = catalogue.int(objects.count)
        return (0..<count).map { index in
            let row = Stores.values(catalogue.next())
            let slot = catalogue.int(row.count)
            return Change(
                object: objects[(first + index) % objects.count], attribute: Catalogue.columns[slot], value: row[slot])
        }
    }

    /// A row with a new name, which moves it. The catalogue's number in it makes it another one than the row has.
    func renaming() -> Change {
        Change(object: objects[catalogue.int(objects.count)], attribute: "name", value: .string(catalogue.next().name))
    }

    func edit(_ changes: [Change]) { for change in changes { change.object[change.attribute] = change.value } }

    /// Fails loudly unless the rows that changed were reported.
    func requireReport(of rows: Int) {
        if controller != nil { require(counter.rows >= rows, "\(counter.rows) of \(rows) rows were reported") }
        counter.rows = 0
    }
}

func live(_ stores: Stores) {
    for count in [1, 1000] { change(count, stores) }
    durableSave(stores)
    unsavedEdit(stores)
}

/// Rows changed in one save until all have heard of it, nothing synced to disk on either side.
private func change(_ count: Int, _ stores: Stores) {
    let rows = stores.rows
    let name = "change \(count) row\(count == 1 ? "" : "s"), controller live"
    // What the controller adds to a save of 1,000 rows is the difference of two lines: both need many iterations.
    let configuration = count == 1 ? quick(5) : quick(5, brief: .milliseconds(600))
    nonisolated(unsafe) var scene: LiveScene?
    Benchmark("\(name) | \(rows) | ours", configuration: configuration) { benchmark in
        for _ in benchmark.scaledIterations {
            scene!.edit(count == 1 ? [scene!.renaming()] : scene!.changes(count))
            benchmark.startMeasurement()
            try scene!.context.save()
            benchmark.stopMeasurement()
            scene!.requireReport(of: count * 8 / 10)  // some values are the old ones
        }
    } setup: {
        scene = try LiveScene(stores, hasController: true)
    } teardown: {
        scene = nil
    }

    nonisolated(unsafe) var observed: ObservedDatabase?
    nonisolated(unsafe) var catalogue = Catalogue(seed: 13)
    Benchmark("\(name) | \(rows) | peer", configuration: slow(10, brief: 5, rows: rows)) { benchmark in
        for _ in benchmark.scaledIterations {
            let changes = (0..<count).map { _ in
                let row = Stores.values(catalogue.next())
                let slot = count == 1 ? 0 : catalogue.int(row.count)
                return (Catalogue.columns[slot], row[slot], 1 + catalogue.int(rows))
            }
            benchmark.startMeasurement()
            try observed!.update(changes)
            benchmark.stopMeasurement()
        }
    } setup: {
        observed = try ObservedDatabase(stores)
    } teardown: {
        observed = nil
    }

    Benchmark(
        "save \(count) row\(count == 1 ? "" : "s"), no controller | \(rows) | ours", configuration: configuration
    ) { benchmark in
        for _ in benchmark.scaledIterations {
            scene!.edit(count == 1 ? [scene!.renaming()] : scene!.changes(count))
            benchmark.startMeasurement()
            try scene!.context.save()
            benchmark.stopMeasurement()
        }
    } setup: {
        scene = try LiveScene(stores, hasController: false)
    } teardown: {
        scene = nil
    }
}

/// A database whose ordered ids and sections are observed.
final class ObservedDatabase: @unchecked Sendable {
    private let queue: DatabaseQueue
    private var observation: AnyDatabaseCancellable?
    private let arrived = DispatchSemaphore(value: 0)

    init(_ stores: Stores) throws {
        queue = try stores.database()
        let request = ValueObservation.tracking { database in
            try OrderedRow.fetchAll(database, sql: "SELECT section, id FROM package ORDER BY section, name")
        }
        observation = request.start(
            in: queue, scheduling: .async(onQueue: DispatchQueue(label: "observer")),
            onError: { fatalError("\($0)") }, onChange: { [arrived] _ in arrived.signal() })
        arrived.wait()
    }

    struct OrderedRow: FetchableRecord, Sendable {
        let section: String
        let id: Int64

        init(row: Row) {
            section = row[0]
            id = row[1]
        }
    }

    /// Returns once the observer has the new rows.
    func update(_ changes: [(column: String, value: Value, id: Int)]) throws {
        try queue.write { database in
            for (column, value, id) in changes {
                let statement = try database.cachedStatement(sql: "UPDATE package SET \(column) = ? WHERE id = ?")
                switch value {
                case .integer(let number): try statement.execute(arguments: [number, id])
                default: try statement.execute(arguments: [value.description, id])
                }
            }
        }
        arrived.wait()
    }
}

/// One row changed and saved to disk, with a controller and without.
private func durableSave(_ stores: Stores) {
    let rows = stores.rows
    for (side, hasController) in [("ours", true), ("no controller", false)] {
        nonisolated(unsafe) var scene: LiveScene?
        Benchmark("durable save of 1 row, controller live | \(rows) | \(side)", configuration: quick(5)) { benchmark in
            for _ in benchmark.scaledIterations {
                scene!.edit([scene!.renaming()])
                benchmark.startMeasurement()
                try scene!.context.save()
                benchmark.stopMeasurement()
                scene!.requireReport(of: 1)
            }
        } setup: {
            scene = try LiveScene(stores, hasController: hasController, durability: .full)
        } teardown: {
            scene = nil
        }
    }
}

/// One row edited until its batch is delivered, beside the durable save of one row without a controller.
private func unsavedEdit(_ stores: Stores) {
    let rows = stores.rows
    nonisolated(unsafe) var scene: LiveScene?
    nonisolated(unsafe) var edits = 0
    Benchmark("unsaved edit until its batch | \(rows) | ours", configuration: quick(3)) { benchmark in
        for _ in benchmark.scaledIterations {
            let changes = [scene!.renaming()]
            benchmark.startMeasurement()
            scene!.edit(changes)
            scene!.context.processPendingChanges()
            benchmark.stopMeasurement()
            scene!.requireReport(of: 1)
            edits += 1
            if edits % 50 == 0 { try scene!.context.rollback() }
        }
    } setup: {
        scene = try LiveScene(stores, hasController: true, durability: .full)
    } teardown: {
        scene = nil
    }

    Benchmark("unsaved edit until its batch | \(rows) | durable save", configuration: quick(5)) { benchmark in
        for _ in benchmark.scaledIterations {
            scene!.edit([scene!.renaming()])
            benchmark.startMeasurement()
            try scene!.context.save()
            benchmark.stopMeasurement()
        }
    } setup: {
        scene = try LiveScene(stores, hasController: false, durability: .full)
    } teardown: {
        scene = nil
    }
}
