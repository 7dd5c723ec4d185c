import Catalogue
import Foundation
import Stores

/// Measures the time that a live controller adds to a save of 1,000 rows. The same saves run in turn with and without a
/// controller.
struct LargeSaveFigures {
    private static let (rounds, peerRounds) = (41, 5)
    private static let changedRows = 1000

    private let stores: Stores

    init(_ stores: Stores) { self.stores = stores }

    /// Measures the saves on two copies of the store, which it changes.
    func measure(at urls: [URL]) throws -> [Figure] {
        let seed = UInt64(Date().timeIntervalSince1970 * 1000)
        let with = try LiveScene(stores, at: urls[0], hasController: true, seed: seed)
        let without = try LiveScene(stores, at: urls[1], hasController: false, seed: seed)
        let saves = try medians(
            rounds: Self.rounds,
            [with, without].map { scene in
                {
                    scene.edit(scene.changes(Self.changedRows))
                    try scene.context.save()
                    scene.requireReport(of: Self.changedRows * 8 / 10)  // some new values equal the old ones
                }
            })
        let added = saves[0] - saves[1]
        let again = try peer(seed)
        // If the store has few rows, SQLite's new fetch takes little more time than its writes, so the ratio has no
        // limit.
        let limit = stores.rows < 1_000_000 ? nil : 1.0 / 30
        return [
            Figure(
                question: "save of 1000 rows without a controller", rows: stores.rows, value: saves[1] / 1000,
                limit: nil, unit: "ms"),
            Figure(
                question: "what a live controller adds", rows: stores.rows,
                value: added / 1000, limit: nil, unit: "ms"),
            Figure(
                question: "the same, divided by SQLite's save of 1000 rows and re-fetch", rows: stores.rows,
                value: added / again, limit: limit, unit: "times"),
        ]
    }

    private func peer(_ seed: UInt64) throws -> Double {
        let observed = try ObservedDatabase(stores)
        var catalogue = Catalogue(seed: seed)
        return try medians(
            rounds: Self.peerRounds,
            [
                {
                    try observed.update(
                        (0..<Self.changedRows).map { _ in
                            let row = Stores.values(catalogue.next())
                            let slot = catalogue.int(row.count)
                            return (Catalogue.columns[slot], row[slot], 1 + catalogue.int(stores.rows))
                        })
                }
            ])[0]
    }
}
