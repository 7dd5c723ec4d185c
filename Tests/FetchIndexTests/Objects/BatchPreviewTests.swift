import FetchIndex
import FetchIndexModels
import FetchIndexTestSupport
import Foundation
import Testing

/// A preview tells what a commit would change, and changes nothing.
@Suite struct BatchPreviewTests {
    private let reader: OrderReader

    init() throws { reader = try OrderReader() }

    private func data() throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: reader.container.path + "/data.mdb"))
    }

    private func randomItems(_ random: inout SeededGenerator) -> [(code: Int, group: Int, size: Int)] {
        (0..<Int.random(in: 1...30, using: &random)).map { _ in
            (
                .random(in: 0..<40, using: &random), .random(in: 0..<4, using: &random),
                .random(in: 0..<9, using: &random)
            )
        }
    }

    @Test(arguments: 0..<10 as Range<UInt64>, [nil, "c", "missing"])
    func aPreviewGivesTheChangeThatTheCommitMakes(seed: UInt64, cacheName: String?) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        for step in 0..<6 {
            let items = randomItems(&random)
            let before = try reader.rows()
            let bytes = try data()
            let commit = try reader.container.newContext().commit
            let writer = try reader.newWriter()
            try reader.write(items, writer)
            let (previewed, after) = try #require(
                try writer.preview { preview in
                    let order = try preview.order(OrderReader.definition, cacheName: cacheName)
                    #expect(try Self.rows(order.before()) == before, "seed \(seed), step \(step)")
                    return (order.change, try Self.rows(order.order))
                })
            #expect(!writer.hasOpenTransaction)
            #expect(try data() == bytes, "seed \(seed), step \(step)")
            #expect(try reader.rows() == before)
            try reader.put(items)
            let made = try reader.container.withOrder(OrderReader.definition, .init()) {
                try $0.changes(since: .commit(commit))
            }
            #expect(previewed == made, "seed \(seed), step \(step)")
            #expect(after == (try reader.rows()), "seed \(seed), step \(step)")
            #expect(previewed.replay(on: before) == (try reader.rows()), "seed \(seed), step \(step)")
            // Now and then the cache catches up, so that it's behind by one commit or by several.
            if Bool.random(using: &random) { _ = try reader.read() }
        }
    }

    private static func rows(_ order: FetchedOrder) throws -> [[ObjectID]] {
        var rows = Array(repeating: [ObjectID](), count: order.sectionCount)
        try order.forEachRow { rows[$0.path.section].append($0.id) }
        return rows
    }

    /// The outcome of a previewed order says how its cache was used.
    @Test func aCacheThatIsBehindIsNotCalledDamaged() throws {
        _ = try reader.read()
        func outcome() throws -> FetchOutcome? {
            let writer = try reader.newWriter()
            try reader.write([(50, 1, 1)], writer)
            return try writer.preview { try $0.order(OrderReader.definition, cacheName: "c").order.outcome }
        }
        #expect(try outcome() == .pending)
        try reader.put([(51, 1, 1)])
        #expect(try outcome() == .pending, "the cache was behind before the transaction")
        try reader.container.deleteCache(named: "c")
        #expect(try outcome() == .rebuilt(.first))
    }

    private struct Refused: Error {}

    /// Whichever way a transaction is committed, `beforeCommit` sees all of it, and can refuse it.
    @Test(arguments: 0..<3) func aCommitCanBeRefused(form: Int) throws {
        let before = try reader.rows()
        let bytes = try data()
        let writer = try reader.newWriter()
        func commit() throws {
            switch form {
            case 0: try writer.commit()
            case 1: _ = try writer.commit(bringing: OrderReader.definition, cacheName: "c")
            default: try writer.commit(bringing: OrderReader.definition, cacheName: "c") { _ in }
            }
        }
        writer.beforeCommit = { preview in
            let change = try preview.order(OrderReader.definition, cacheName: "c").change
            let inserted = try preview.counts().inserted
            #expect(change.rows.count == inserted)
            if inserted > 1 { throw Refused() }
        }
        try reader.write([(50, 1, 1), (51, 1, 2)], writer)
        #expect(throws: Refused.self) { try commit() }
        #expect(!writer.hasOpenTransaction)
        #expect(try reader.rows() == before)
        #expect(try data() == bytes)
        try reader.write([(50, 1, 1)], writer)
        try commit()
        #expect(try reader.rows().joined().count == before.joined().count + 1)
    }

    @Test func aWriterGoesOnAfterAPreview() throws {
        let writer = try reader.newWriter()
        try reader.write([(49, 1, 1)], writer)
        // An order that outlives its preview must not be read, but holds no lock.
        let kept = try writer.preview { try $0.order(OrderReader.definition) }
        try reader.put([(48, 1, 1)])
        withExtendedLifetime(kept) {}
        #expect(try writer.preview { _ in true } == nil, "no transaction is open")
        try reader.write([(50, 1, 1)], writer)
        struct Failed: Error {}
        #expect(throws: Failed.self) { try writer.preview { _ in throw Failed() } }
        #expect(!writer.hasOpenTransaction)
        try reader.write([(51, 1, 1)], writer)
        try writer.commit()
        #expect(try writer.object(key: .integer(50)) == nil)
        #expect(try writer.object(key: .integer(51)) != nil)
    }
}
