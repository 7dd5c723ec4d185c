import FetchIndexModels
import FetchIndexTestSupport
import FetchIndexValues
import Testing

@testable import FetchIndexRecords

/// Records outside of a store, compared with a dictionary.
@Suite struct KeyedRecordsTests {
    private static let entity = Model(entities: [
        Entity(
            "Item",
            [
                AttributeDescription("price", .decimal), AttributeDescription("code", .string, isUnique: true),
                AttributeDescription("size", .integer),
            ])
    ]).entities[0]

    private typealias Row = (key: String, size: Int64)

    private static func rows(_ count: Int, keys: Int, _ random: inout SeededGenerator) -> [Row] {
        (0..<count).map { _ in
            ("key \(Int.random(in: 0..<keys, using: &random))", Int64.random(in: 0..<2, using: &random))
        }
    }

    /// Makes records of rows in several batches.
    private static func records(of rows: [Row], _ random: inout SeededGenerator) throws -> KeyedRecords {
        let constraint = try #require(entity.uniqueConstraint(ofSlot: try entity.requireSlot(of: "code")))
        let records = try KeyedRecords(of: 0, entity, by: constraint)
        var batch = RecordBatch()
        func append() throws { try records.append(batch) { throw $1 } }
        for row in rows {
            let record = try entity.record([.null, .string(row.key), .integer(row.size)])
            batch.append(record.span.bytes)
            if Int.random(in: 0..<40, using: &random) > 0 { continue }
            try append()
            batch = RecordBatch()
        }
        try append()
        try records.index()
        return records
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func theLastRecordOfEachKeyIsFoundByIt(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let keys = [1, 10, 100_000].randomElement(using: &random) ?? 1
        let lists = [0, 1, 30, 5000].map { Self.rows($0, keys: keys, &random) }
        let (first, second) = (lists.randomElement(using: &random) ?? [], lists.randomElement(using: &random) ?? [])
        let (records, others) = (try Self.records(of: first, &random), try Self.records(of: second, &random))
        var places: [String: Int] = [:]
        var last: [(size: Int64, index: Int)] = []
        for (index, row) in first.enumerated() {
            if let place = places[row.key] {
                last[place] = (row.size, index)
            } else {
                places[row.key] = last.count
                last.append((row.size, index))
            }
        }
        #expect(records.count == last.count && records.repeatedCount == first.count - last.count, "seed \(seed)")
        for (key, place) in places {
            let values = try Self.entity.values(of: records.record(at: place))
            #expect(values == [.null, .string(key), .integer(last[place].size)], "seed \(seed)")
            #expect(records.index(at: place) == last[place].index, "seed \(seed)")
        }
        for otherPlace in 0..<others.count {
            let values = try Self.entity.values(of: others.record(at: otherPlace))
            let place = try records.place(of: others, otherPlace)
            #expect(place == places[values[1].description], "seed \(seed)")
            guard let place else { continue }
            let isSame = try records.hasSameValues(place, as: others, otherPlace)
            #expect(isSame == (values[2] == .integer(last[place].size)), "seed \(seed)")
        }
    }

    @Test func aKeyThatIsTooLongIsRefused() throws {
        var random = SeededGenerator(seed: 1)
        #expect(throws: StoreError.self) {
            try Self.records(of: [("a", 1), (String(repeating: "x", count: 600), 2)], &random)
        }
    }
}
