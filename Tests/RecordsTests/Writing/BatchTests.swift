import FetchIndexModels
import FetchIndexRecords
import FetchIndexTestSupport
import Foundation
import Testing
import FetchIndexValues

/// Batches of records, compared with the same records written one by one.
@Suite struct BatchTests {
    private struct Enough: Error {}

    private func stop(_ index: Int, _ outcome: WriteOutcome) throws {
        if index == 5 { throw Enough() }
    }

    @Test(arguments: 1...(TestSettings.isLong ? 20 : 8) as ClosedRange<UInt64>)
    func writingABatchEqualsWritingItsRecordsOneByOne(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let pair = try BatchPair(model: TestStore.books)
        for _ in 0..<8 {
            let records = try (0..<Int.random(in: 0...60, using: &generator)).map { _ in
                let number = Int.random(in: 0..<50, using: &generator)
                let id = number == 0 ? String(repeating: "k", count: 600) : "id-\(number)"
                return try pair.single.book(id, Int64.random(in: 0..<3, using: &generator))
            }
            try pair.put(records, sortingKeys: Bool.random(using: &generator), "seed \(seed)")
        }
        try pair.expectSameContents("seed \(seed)")
    }

    @Test(arguments: 1...(TestSettings.isLong ? 20 : 8) as ClosedRange<UInt64>)
    func insertingABatchEqualsInsertingItsRecordsOneByOne(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let pair = try BatchPair(model: TestStore.books)
        for _ in 0..<12 {
            let records = try (0..<Int.random(in: 0...60, using: &generator)).map { _ in
                let number = Int.random(in: 0..<2000, using: &generator)
                let id = number == 0 ? String(repeating: "k", count: 600) : "id-\(number)"
                return try pair.single.book(id, Int64.random(in: 0..<3, using: &generator))
            }
            try pair.insert(records, "seed \(seed)")
        }
        try pair.expectSameContents("seed \(seed)")
        #expect(try pair.batched.store.snapshot().check() == [], "seed \(seed)")
    }

    private static let parts = Model(entities: [
        Entity(
            "Part", [AttributeDescription("code", .string, isUnique: true), AttributeDescription("price", .integer)]),
        Entity("Shop", [AttributeDescription("name", .string)]),
    ])

    private func part(_ code: String?, _ price: Int) throws -> [UInt8] {
        try Self.parts.entities[0].record([code.map(Value.string) ?? .null, .integer(Int64(price))])
    }

    /// Together, the batches have several zones, and nulls. Each has several parts. The last one ends at a taken key.
    @Test func insertingALongBatchEqualsInsertingItsRecordsOneByOne() throws {
        let pair = try BatchPair(model: Self.parts)
        var records = try (0..<20_000).map { try part($0 % 3 == 0 ? nil : "\($0 * 7919 % 20_011)", $0 % 5) }
        try pair.insert(Array(records[..<1500]), "")
        try pair.insert(Array(records[1500...]), "")
        records = try (20_000..<22_000).map { try part("new \($0)", 2) }
        records[1500] = try part("\(7919 % 20_011)", 3)
        try pair.insert(records, "")
        #expect(try pair.batched.contents().count == 21_500)
        try pair.expectSameContents("")
        #expect(try pair.batched.store.snapshot().check() == [])
    }

    /// Batches repeat the stored records in the order of the objects, some of them with differences.
    @Test(arguments: 1...(TestSettings.isLong ? 40 : 4) as ClosedRange<UInt64>)
    func repeatingABatchEqualsWritingItsRecordsOneByOne(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let pair = try BatchPair(model: Self.parts)
        func put(_ records: [[UInt8]]) throws -> Bool {
            try pair.put(records, sortingKeys: Bool.random(using: &generator), "seed \(seed)")
        }
        var next = 0
        func newPart() throws -> [UInt8] {
            next += 1
            return try part("\(next * 7919 % 1_000) \(next)", next)
        }
        _ = try put(try (0..<200).map { _ in try newPart() })
        for percent in [0, 1, 4, 12, 60] {
            let stored = try pair.single.contents().sorted { $0.key < $1.key }
            for (number, _) in stored where Int.random(in: 0..<100, using: &generator) < percent {
                try pair.delete(number)
            }
            // The batch may lack some of the last objects.
            var records = stored.dropLast(Int.random(in: 0..<20, using: &generator)).map(\.value)
            for _ in 0..<records.count * percent / 100 {
                let row = Int.random(in: 0..<records.count, using: &generator)
                let record = records[row]
                let code = try Self.parts.entities[0].values(of: record.span.bytes)[0]
                switch Int.random(in: 0..<8, using: &generator) {
                case 0: records.remove(at: row)
                case 1: records.insert(try newPart(), at: row)
                case 2: records.insert(try part(nil, 7), at: row)
                case 3: records.insert(try part(String(repeating: "k", count: 600), 7), at: row)
                case 4: records.insert(records[row], at: Int.random(in: 0...records.count, using: &generator))
                case 5:
                    let other = Int.random(in: 0..<records.count, using: &generator)
                    records.swapAt(row, other)
                default:
                    guard case .string(let code) = code else { continue }
                    let anyPlace = Int.random(in: 0...records.count, using: &generator)
                    let place = Bool.random(using: &generator) ? row : anyPlace
                    records.insert(try part(code, Int.random(in: 0..<5, using: &generator)), at: place)
                    if Bool.random(using: &generator) && row < records.count { records.remove(at: row) }
                }
            }
            let wasRepeated = try put(records)
            if percent <= 1 { #expect(wasRepeated, "seed \(seed)") }
            // Then a batch repeats all stored records.
            let all = try pair.single.contents().sorted { $0.key < $1.key }.map(\.value)
            _ = try put(all)
        }
        try pair.expectSameContents("seed \(seed)")
    }

    /// A record with a null in its unique attribute is a new object each time, even if the store has the same bytes.
    @Test func aRecordWithANullKeyIsInsertedEachTime() throws {
        let pair = try BatchPair(model: Self.parts)
        let records = try [part("a", 1), part(nil, 1), part("b", 1)]
        for _ in 0..<3 { try pair.put(records, sortingKeys: false, "") }
        #expect(try pair.batched.contents().count == 5)
        try pair.expectSameContents("")
    }

    /// The unchanged record is before, between and after other records that change its object.
    @Test(arguments: [[0, 1], [1, 0], [1, 0, 2], [0, 1, 0], [1, 0, 1], [2, 1, 0, 0]])
    func recordsOfOneObjectAreWrittenInTheirOrder(prices: [Int]) throws {
        let pair = try BatchPair(model: Self.parts)
        let others = try (0..<40).map { try part("other \($0)", 0) }
        try pair.put(try others + [part("a", 0)], sortingKeys: false, "")
        for sortingKeys in [false, true] {
            try pair.put(try others + prices.map { try part("a", $0) }, sortingKeys: sortingKeys, "\(prices)")
        }
        try pair.expectSameContents("\(prices)")
    }

    /// The dangling reference is in the record of a new or of a stored object. A batch that may update objects writes
    /// the records before and after it; a batch that only inserts objects ends at it.
    @Test func aRecordWithADanglingReferenceIsRefusedAndEndsABatchOfInsertions() throws {
        let code = AttributeDescription("code", .string, isUnique: true)
        let pair = try BatchPair(
            model: Model(entities: [
                Entity(
                    "Part", [code],
                    relationships: [
                        RelationshipDescription("whole", toOne: "Part", inverse: "parts"),
                        RelationshipDescription("parts", toMany: "Part", inverse: "whole"),
                    ])
            ]))
        let entity = try pair.single.store.snapshot().model.entities[0]
        let slot = try #require(entity.links?.references.first?.slot)
        func part(_ code: String, of number: UInt64?) throws -> [UInt8] {
            let whole = number.map { Value.integer(Int64(RecordKey(entity: 0, number: $0).rawValue)) } ?? .null
            let record = try entity.record([.string(code)])
            return try entity.record(record.span.bytes, setting: [slot: whole])
        }
        try pair.put([part("a", of: nil), part("b", of: 1)], sortingKeys: false, "")
        for sortingKeys in [false, true] {
            try pair.put(
                [part("b", of: 99), part("a", of: 2), part("c", of: 99), part("d", of: 1)], sortingKeys: sortingKeys, ""
            )
        }
        #expect(try pair.batched.contents().count == 3)
        // The unique value of a refused record goes to the next record that has it and isn't refused.
        try pair.put(
            [
                part("e", of: 99), part("e", of: 98), part("e", of: 1), part("f", of: 1), part("e", of: 2),
                part("f", of: 99),
            ],
            sortingKeys: false, "")
        #expect(try pair.batched.contents().count == 5)
        try pair.insert([part("g", of: 1), part("h", of: 99), part("i", of: 1)], "")
        try pair.insert([part("i", of: 1), part("g", of: 1), part("j", of: 99)], "")
        #expect(try pair.batched.contents().count == 7)
        try pair.expectSameContents("")
        #expect(try pair.batched.store.snapshot().check() == [])
    }

    /// The closure throws after the sixth record: six records are stored, with their unique keys.
    @Test func anErrorInABatchKeepsTheRecordsBeforeIt() throws {
        let test = try TestStore(model: TestStore.books)
        let records = try (0..<10).map { try test.book("id-\(9 - $0)", Int64($0)) }
        let constraint = TestStore.books.entities[0].uniqueConstraints[0]
        try test.write { writer in
            #expect(throws: Enough.self) {
                try writer.write(0, RecordBatch(records), .update(by: [constraint]), done: stop)
            }
        }
        #expect(try test.contents().count == 6)
        let snapshot = try test.store.snapshot()
        #expect(try snapshot.object(0, slot: 0, equalTo: .string("id-9"))?.number == 1)
        #expect(try snapshot.object(0, slot: 0, equalTo: .string("id-3")) == nil)
    }

    /// Two records are in temporary files until they are written: one has 16 MiB, the other two values of 9 MiB.
    @Test func recordsOfManyMegabytesAreWrittenFromFiles() throws {
        let entity = Entity(
            "Film", [AttributeDescription("name", .string), .init("picture", .data), .init("sound", .data)])
        let test = try TestStore(model: Model(entities: [entity]))
        let megabyte = Data((0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 * 7919 >> 8) })
        func value(_ megabytes: Int) -> Value { .data(Data((0..<megabytes).flatMap { _ in megabyte })) }
        let rows: [[Value]] = [
            [.string("a"), value(0), .null], [.string("b"), value(16), .null], [.string("c"), value(2), value(1)],
            [.null, value(9), value(9)], [.string("e"), .null, value(1)],
        ]
        var batch = RecordBatch()
        var builder = RecordBuilder()
        var byteCount = 0
        for row in rows {
            try builder.assemble(row, of: entity)
            byteCount += builder.finish().count
            batch.append(&builder)
        }
        #expect(batch.byteCount == byteCount)
        try test.write { try $0.write(0, batch, .insert, as: [1, 2, 3, 4, 5]) { _, _ in } }
        let contents = try test.contents()
        for (index, row) in rows.enumerated() {
            let record = try #require(contents[UInt64(index) + 1])
            #expect(try entity.values(of: record.span.bytes) == row && record == entity.record(row))
        }
        #expect(try test.store.snapshot().check() == [])
    }
}
