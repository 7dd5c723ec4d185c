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
            let previewed = try #require(
                try writer.preview { try $0.changes(of: OrderReader.definition, cacheName: cacheName) })
            #expect(!writer.hasOpenTransaction)
            #expect(try data() == bytes, "seed \(seed), step \(step)")
            #expect(try reader.rows() == before)
            try reader.put(items)
            let made = try reader.container.withOrder(OrderReader.definition, .init()) {
                try $0.changes(since: .commit(commit))
            }
            #expect(previewed == made, "seed \(seed), step \(step)")
            #expect(previewed.replay(on: before) == (try reader.rows()), "seed \(seed), step \(step)")
            // Now and then the cache catches up, so that it's behind by one commit or by several.
            if Bool.random(using: &random) { _ = try reader.read() }
        }
    }

    @Test func aWriterGoesOnAfterAPreview() throws {
        let writer = try reader.newWriter()
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
