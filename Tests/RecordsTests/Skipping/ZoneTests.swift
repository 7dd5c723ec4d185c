import Foundation
import FetchIndexLMDB
import FetchIndexModels
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

/// The bounds and counts of zones after writes, damage and repairs.
@Suite struct ZoneTests {
    private static let entity = Entity(
        "Item",
        [
            AttributeDescription("key", .string, isUnique: true), AttributeDescription("size", .integer),
            AttributeDescription("weight", .double), AttributeDescription("isNew", .boolean),
            AttributeDescription("data", .data), AttributeDescription("uuid", .uuid),
            AttributeDescription("date", .date), AttributeDescription("price", .decimal),
            AttributeDescription("link", .url),
        ])

    private let test: TestStore

    init() throws { test = try TestStore(model: Model(entities: [Self.entity])) }

    private func record(_ generator: inout SeededGenerator, near number: UInt64) throws -> [UInt8] {
        // Keys and sizes are near those of neighbours, or null.
        var values = Self.entity.attributes.map { ZoneBoundsTests.value($0.type, &generator) }
        values[0] = .string("\(number)-\(UInt64.random(in: 0..<1 << 40, using: &generator))")
        values[1] = .integer(Int64(number) + Int64.random(in: 0...9, using: &generator))
        if Int.random(in: 0..<20, using: &generator) == 0 { values[Int.random(in: 0..<9, using: &generator)] = .null }
        return try Self.entity.record(values)
    }

    private var snapshot: Snapshot { get throws { try test.store.snapshot() } }

    private func zones() throws -> [UInt64: Zone] {
        var zones: [UInt64: Zone] = [:]
        try snapshot.forEachZone(of: 0) { key, value in zones[key.index] = try Zone(value, at: key) }
        return zones
    }

    /// Writes random insertions (some with given object numbers, and in batches), updates and deletions, in
    /// transactions, some of which are dropped. After each commit, `check` reports nothing, and zones are skipped only
    /// if they have no matching object.
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func zonesFollowRandomWrites(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var skipped: UInt64 = 0
        for round in 0..<60 {
            let writer = try test.store.beginWrite()
            var batch = RecordBatch()
            let objects = try Array(test.contents().keys).sorted()
            for _ in 0..<Int.random(in: 1...12, using: &generator) {
                let next = try writer.entityState(0).nextObject
                let object = objects.randomElement(using: &generator).map { RecordKey(entity: 0, number: $0) }
                let record = try record(&generator, near: next)
                switch Int.random(in: 0..<8, using: &generator) {
                case 0:
                    // The given number is the first or the second of the next zone.
                    let start = (next / Zone.length + 1) * Zone.length
                    try writer.insert(
                        0, record.span.bytes, as: start + UInt64(Int.random(in: 0...5, using: &generator) / 5))
                case 1, 2, 3: try writer.insert(0, record.span.bytes)
                case 4: batch.append(record.span.bytes)
                case 5, 6: if let object { _ = try? writer.update(object, record.span.bytes) }
                default: if let object { try writer.delete(object) }
                }
            }
            try writer.write(0, batch, .update(by: Self.entity.uniqueConstraints)) { _, _ in }
            if round % 7 == 6 { continue }
            if round % 5 == 4 {
                try writer.seal()
                try writer.beginNextCommit(author: "next")
                let record = try record(&generator, near: 0)
                try writer.insert(0, record.span.bytes)
            }
            try writer.commit()
            #expect(try snapshot.check() == [], "seed \(seed), round \(round)")

            let wanted = Int64.random(in: 0...Int64(try snapshot.entityState(0).nextObject), using: &generator)
            let numbers = try snapshot.numbers(of: 0) { $0[1]!.mayHave(.integer(wanted)) }
            var left: UInt64 = 0
            try snapshot.scan(0) { object, record in
                let isLeft = numbers.within(object.number..<object.number + 1).allSatisfy(\.isEmpty)
                if isLeft { left += 1 }
                let size = try RecordView(record).integer(at: 1)
                if isLeft { #expect(size != wanted, "seed \(seed), round \(round): \(object)") }
                return true
            }
            #expect(left == numbers.skippedCount, "seed \(seed), round \(round)")
            skipped += left
        }
        #expect(skipped > 100, "seed \(seed)")
    }

    private static func record(_ key: String, _ size: Int64) throws -> [UInt8] {
        try entity.record([.string(key), .integer(size)] + Array(repeating: .null, count: 7))
    }

    private func insert(_ count: Int, from first: Int = 0) throws {
        try test.write { writer in
            for number in first..<first + count {
                let record = try Self.record("\(number)", Int64(number))
                try writer.insert(0, record.span.bytes)
            }
        }
    }

    @Test func anUpdateWithinTheBoundsWritesNoZoneAndEmptyZonesExceptTheLastAreRemoved() throws {
        let length = Int(Zone.length)
        try insert(3 * length)
        #expect(try zones().mapValues(\.count) == [0: UInt64(length) - 1, 1: UInt64(length), 2: UInt64(length), 3: 1])
        let before = try zones()
        let record = try Self.record("new", 1)
        let writer = try test.store.beginWrite()
        try writer.update(RecordKey(entity: 0, number: 5), record.span.bytes)
        // The new text is greater than all texts of digits.
        #expect(writer.hasOpenZones)
        try writer.commit()
        #expect(try zones()[0] != before[0] && zones()[1] == before[1])
        let other = try test.store.beginWrite()
        let inside = try Self.record("55555-", 7)
        try other.update(RecordKey(entity: 0, number: 6), inside.span.bytes)
        #expect(!other.hasOpenZones)
        try other.commit()
        try test.write { writer in
            for number in UInt64(length)..<2 * UInt64(length) {
                try writer.delete(RecordKey(entity: 0, number: number))
            }
            try writer.delete(RecordKey(entity: 0, number: 3 * UInt64(length)))
        }
        // The last zone stays, since it has numbers for new objects.
        #expect(try zones().mapValues(\.count) == [0: UInt64(length) - 1, 2: UInt64(length), 3: 0])
        try insert(1, from: 90_000)
        #expect(try zones()[3]?.count == 1)
    }

    /// An older program wrote the first objects of zone 0, so this zone is missing until a repair. The zones after it
    /// are complete.
    @Test func aZoneOfAnOlderProgramIsNotSkipped() throws {
        try insert(10)
        let key = ZoneKey(entity: 0, index: 0)
        try write { view, table in try view.delete(key.bytes, in: table) }
        try insert(10, from: 10)
        #expect(try zones() == [:])
        #expect(try snapshot.check() == [])
        #expect(try snapshot.numbers(of: 0) { _ in false }.skippedCount == 0)
        let count = 2 * Zone.length
        try insert(Int(count), from: 20)
        #expect(try zones().mapValues(\.count) == [1: Zone.length, 2: 21])
        #expect(try snapshot.numbers(of: 0) { _ in false }.skippedCount == Zone.length + 21)
        var done: [String] = []
        try test.write { done = try $0.repair { _ in } }
        #expect(done == ["1 zone was missing or wrong: corrected"])
        #expect(try zones().mapValues(\.count) == [0: Zone.length - 1, 1: Zone.length, 2: 21])
    }

    private func write(_ body: (TransactionView, Table) throws -> Void) throws {
        let transaction = try test.store.environment.beginWrite()
        try body(transaction.view, test.store.tables.meta)
        try transaction.commit()
    }

    @Test func damagedZonesAreReportedAndRepaired() throws {
        try insert(Int(Zone.length) + 100)
        let right = try zones()
        let keys = [0, 1].map { ZoneKey(entity: 0, index: $0) }
        func damage(_ defect: String, _ change: (TransactionView, Table) throws -> Void) throws {
            try write(change)
            let found = try snapshot.check()
            #expect(found.count == 1 && found[0].contains(defect), "\(found)")
            var done: [String] = []
            try test.write { done = try $0.repair { _ in } }
            #expect(done == ["1 zone was missing or wrong: corrected"], "\(done)")
            #expect(try zones() == right)
        }
        try damage("zone 0 of entity 0 does not match its checksum") { view, table in
            var bytes = right[0]!.encoded(at: keys[0])
            bytes[3] ^= 1
            try view.put(bytes, for: keys[0].bytes, in: table)
        }
        // One zone is in place of another.
        try damage("zone 1 of entity 0 does not match its checksum") { view, table in
            try view.put(right[0]!.encoded(at: keys[0]), for: keys[1].bytes, in: table)
        }
        try damage("zone 1 of entity 0 (Item) counts 102 objects, but has 101") { view, table in
            var zone = right[1]!
            zone.count += 1
            try view.put(zone.encoded(at: keys[1]), for: keys[1].bytes, in: table)
        }
        try damage("zone 1 of entity 0 (Item): an object has a value of size outside of the bounds") { view, table in
            // The bounds lack the value of the last object.
            var narrow = Zone(of: try snapshot.model.entities[0])
            narrow.count = right[1]!.count
            let last = Int(Zone.length) + 99
            for number in Int(Zone.length) - 1...last {
                let record = try Self.record("\(number)", Int64(min(number, last - 1)))
                _ = try narrow.bounds.include(record.span.bytes, missing: RawSpan())
            }
            try view.put(narrow.encoded(at: keys[1]), for: keys[1].bytes, in: table)
        }
        try damage("zone 7 of entity 0 (Item) counts 3 objects, but has 0") { view, table in
            let key = ZoneKey(entity: 0, index: 7)
            var zone = Zone(of: try snapshot.model.entities[0])
            zone.count = 3
            try view.put(zone.encoded(at: key), for: key.bytes, in: table)
        }
    }

    /// An insertion into a damaged zone removes the zone. A scan then reads all objects.
    @Test func anInsertionIntoADamagedZoneRemovesTheZone() throws {
        try insert(10)
        let key = ZoneKey(entity: 0, index: 0)
        var bytes = try zones()[0]!.encoded(at: key)
        bytes[2] ^= 1
        try write { view, table in try view.put(bytes, for: key.bytes, in: table) }
        #expect(throws: StoreError.corrupted("zone 0 of entity 0 does not match its checksum")) {
            try snapshot.numbers(of: 0) { _ in false }
        }
        try insert(1, from: 10)
        #expect(try zones() == [:])
        #expect(try snapshot.check() == [] && test.contents().count == 11)
        try test.write { _ = try $0.repair { _ in } }
        #expect(try zones()[0]?.count == 11)
    }

    /// One row of the batch is refused, one repeats a key, and the last row is appended after the parts were described.
    @Test func aZoneCountsTheWrittenRowsOfABatchAndIncludesTheirValues() throws {
        var batch = RecordBatch()
        let rows = [("a", 5), ("b", 900), ("a", 20), (String(repeating: "x", count: 600), 30), ("c", 1)]
        for (key, size) in rows {
            let record = try Self.record(key, Int64(size))
            batch.append(record.span.bytes)
        }
        try batch.describeParts(Self.entity)
        let record = try Self.record("later", 950)
        batch.append(record.span.bytes)
        var refused: [Int] = []
        try test.write { writer in
            try writer.write(
                0, batch, .update(by: Self.entity.uniqueConstraints), refused: { index, _ in refused.append(index) },
                done: { _, _ in })
        }
        #expect(refused == [3])
        #expect(try snapshot.check() == [])
        let bounds = try #require(try zones()[0]?.bounds[1])
        #expect(try zones()[0]?.count == 4)
        #expect(bounds.mayHave(.integer(1)) && bounds.mayHave(.integer(950)))
        #expect(!bounds.mayHave(.integer(0)) && !bounds.mayHave(.integer(951)))
    }

    /// A record is lost from a zone that is read, while other zones are skipped.
    @Test func aScanThatSkipsZonesReportsALostRecord() throws {
        try insert(3 * Int(Zone.length))
        let transaction = try test.store.environment.beginWrite()
        try transaction.view.delete(RecordKey(entity: 0, number: 9000).rawValue, in: test.store.tables.records)
        try transaction.commit()
        func scan(_ wanted: Int64) throws {
            let reader = try snapshot
            let numbers = try reader.numbers(of: 0) { $0[1]!.mayHave(.integer(wanted)) }
            #expect(numbers.skippedCount >= 2 * Zone.length - 1)
            let scan = try Scan(of: reader, .numbers([0: numbers]), entities: [0], fewestOfThread: .max)
            try scan.forEachSelected(of: 0) { _, _ in
            } _: { _ in
                true
            }
        }
        try scan(100)
        #expect(throws: StoreError.self) { try scan(9000) }
        try test.write { _ = try $0.repair { _ in } }
        try scan(9000)
    }
}
