import Benchmark
import Catalogue
import FetchIndex
import Stores

// A live controller is compared with GRDB's ValueObservation of the same rows. Both are notified when a change is
// written. The controller reports what changed; the observation fetches the ordered ids and sections again.

func live(_ stores: Stores) {
    for count in [1, 1000] { change(count, stores) }
    durableSave(stores)
    unsavedEdit(stores)
}

/// Measures a save of changed rows until the observers have been notified. Neither side syncs to disk.
private func change(_ count: Int, _ stores: Stores) {
    let rows = stores.rows
    let name = "change \(count) row\(count == 1 ? "" : "s"), controller live"
    nonisolated(unsafe) var scene: LiveScene?
    Benchmark("\(name) | \(rows) | ours", configuration: quick(5)) { benchmark in
        for _ in benchmark.scaledIterations {
            scene!.edit(count == 1 ? [scene!.renaming()] : scene!.changes(count))
            benchmark.startMeasurement()
            try scene!.context.save()
            benchmark.stopMeasurement()
            scene!.requireReport(of: count * 8 / 10)  // some new values equal the old ones
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

    // For 1,000 rows, the program `figures` measures saves with and without a controller in turn.
    if count > 1 { return }
    Benchmark("save 1 row, no controller | \(rows) | ours", configuration: quick(5)) { benchmark in
        for _ in benchmark.scaledIterations {
            scene!.edit([scene!.renaming()])
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

/// Measures a durable save of one row, with a controller and without.
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

/// Measures an unsaved edit of one row until its change batch is delivered; for comparison, measures a durable save of
/// one row without a controller.
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
