import FetchIndex
import FetchIndexOrderCaches
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// The change of a cache's order since an earlier commit, which is reconstructed from the log. Replayed on the rows
/// that were read at that commit, the change must give the newest rows.
@Suite struct ChangeSinceTests {
    private static let definition = OrderDefinition(
        entity: "Item", predicate: FetchPredicate(value: true), sortKeys: [SortKey("size")],
        sectionKey: .attribute("group"))

    private func rows(_ container: PersistentContainer) throws -> [[RecordKey]] {
        try container.withOrder(Self.definition, .init(cacheName: "c")) { order in
            var rows: [[RecordKey]] = []
            try order.forEachRow { row in
                while rows.count <= row.path.section { rows.append([]) }
                rows[row.path.section].append(RecordKey(entity: 0, number: row.id.number))
            }
            return rows
        }
    }

    @Test(arguments: 0..<6 as Range<UInt64>) func theChangeSinceAnEarlierCommitLeadsToTheNewestOrder(seed: UInt64)
        throws
    {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let store = try LiveStore(ItemSeries.model)
        var series = ItemSeries(store.container)
        var states: [(commit: UInt64, rows: [[RecordKey]])] = []
        for _ in 0..<30 {
            states.append((try series.commit(&random), try rows(store.container)))
        }
        let snapshot = try store.container.store.snapshot()
        let cache = try #require(try CacheRequest(ofStored: "c", in: snapshot))
        for state in states {
            let change = try #require(
                try store.container.cacheEngine.change(of: cache, since: state.commit, limit: 10_000, in: snapshot))
            #expect(change.replay(on: state.rows) == states.last?.rows, "seed \(seed), since \(state.commit)")
        }
        let engine = store.container.cacheEngine
        #expect(try engine.change(of: cache, since: states[0].commit, limit: 3, in: snapshot) == nil)
        #expect(try engine.change(of: cache, since: 1 << 40, limit: 10_000, in: snapshot) == nil)
    }
}
