import Bytes
import Foundation
import LMDB
import Models
import TestSupport
import Testing
import Values

@testable import Records

/// Zones have the bounds of all their objects' values, whatever is written.
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

    // MARK: Bounds

    private static func values(_ type: ValueType, _ generator: inout SeededGenerator) -> Value {
        let number = Int.random(in: -300...300, using: &generator)
        let bytes = (0..<Int.random(in: 0...36, using: &generator)).map { place in
            // Most begin alike, and some end in the middle of a number of eight bytes.
            place < 30 && number % 3 > 0 ? 97 : UInt8([0, 1, 97, 255].randomElement(using: &generator)!)
        }
        switch type {
        case .boolean: return .boolean(number > 0)
        case .integer: return .integer([Int64(number), .min, .max].randomElement(using: &generator)!)
        case .double:
            return .double(
                [Double(number) / 7, -0.0, 0, .infinity, -.infinity, .nan].randomElement(using: &generator)!)
        case .decimal: return .decimal(Decimal(number))
        case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(number)))
        case .string:
            return .string(String(decoding: bytes.map { $0 % 128 }, as: UTF8.self) + (number % 5 == 0 ? "影" : ""))
        case .data: return .data(Data(bytes))
        case .uuid: return .uuid(UUID(uuid: UUID().uuid))
        case .url: return .url(URL(string: "https://example.org/\(number)")!)
        }
    }

    /// Whether a value comes before another one by their `OrderKey`s.
    private static func precedes(_ left: Value, _ right: Value) -> Bool {
        var keys: ([UInt8], [UInt8]) = ([], [])
        OrderKey.append(left, to: &keys.0)
        OrderKey.append(right, to: &keys.1)
        return keys.0.lexicographicallyPrecedes(keys.1)
    }

    @Test(arguments: ValueType.allCases) func aGreaterValueHasNoLessKey(type: ValueType) {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let (left, right) = (Self.values(type, &generator), Self.values(type, &generator))
            guard let key = BoundKey(left), let other = BoundKey(right) else {
                #expect(type == .decimal)
                continue
            }
            if Self.precedes(left, right) { #expect(key <= other, "\(left) \(right)") }
            if Self.precedes(right, left) { #expect(other <= key, "\(left) \(right)") }
            #expect(BoundKey(key.bytes.span.bytes) == key)
        }
    }

    /// Bounds admit all of their values, in every question, and refuse many others.
    @Test(arguments: ValueType.allCases) func boundsAdmitTheirValues(type: ValueType) throws {
        var generator = SeededGenerator(seed: 2)
        let entity = Entity("One", [AttributeDescription("value", type)])
        var refused = 0
        for round in 0..<300 {
            let count = Int.random(in: 0...4, using: &generator)
            var values = (0..<count).map { _ in Self.values(type, &generator) }
            if round % 3 == 0 { values.append(.null) }
            var bounds = ValueBounds(of: type)
            for value in values {
                let record = try entity.record([value])
                _ = try bounds.include(0, of: RecordView(record.span.bytes))
                #expect(try !bounds.include(0, of: RecordView(record.span.bytes)))
            }
            var bytes: [UInt8] = []
            bounds.append(to: &bytes)
            bytes.appendChecksum()
            var reader = try ByteReader(checked: bytes.span.bytes, "bounds")
            #expect(try ValueBounds(&reader) == bounds && reader.isAtEnd)
            for _ in 0..<20 {
                let other = Int.random(in: 0..<8, using: &generator) == 0 ? Value.null : Self.values(type, &generator)
                let place = "round \(round): \(values), \(other)"
                if values.contains(other) { #expect(bounds.mayHave(other), "\(place)") }
                if !bounds.mayHave(other) { refused += 1 }
                if other.isNull { continue }
                let present = values.filter { !$0.isNull }
                if present.contains(where: { !Self.precedes(other, $0) }) {
                    #expect(bounds.mayHave(lessOrEqual: other), "\(place)")
                }
                if present.contains(where: { !Self.precedes($0, other) }) {
                    #expect(bounds.mayHave(greaterOrEqual: other), "\(place)")
                }
                guard case .string(let text) = other else { continue }
                let prefix = String(text.prefix(Int.random(in: 1...40, using: &generator)))
                let hasPrefix = present.contains {
                    if case .string(let text) = $0 { text.utf8.starts(with: prefix.utf8) } else { false }
                }
                if hasPrefix { #expect(bounds.mayHave(prefix: prefix), "\(place)") }
                if !bounds.mayHave(prefix: prefix) { refused += 1 }
            }
        }
        #expect(refused > 100 || type == .decimal, "\(refused)")
    }

    /// The parts of numbers with gaps are those of a list of all numbers.
    @Test func partsOfNumbersWithGapsAreThoseOfAList() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<300 {
            var ranges: [Range<UInt64>] = []
            var start: UInt64 = 0
            for _ in 0..<Int.random(in: 0...5, using: &generator) {
                start += UInt64.random(in: 0...3, using: &generator)
                let end = start + UInt64.random(in: 0...6, using: &generator)
                ranges.append(start..<end)
                start = end + 1
            }
            let list = ranges.flatMap { Array($0) }
            let parts = NumberParts(ranges)
            #expect(parts.count == UInt64(list.count))
            let lower = Int.random(in: 0...list.count + 1, using: &generator)
            let upper = Int.random(in: lower...list.count + 4, using: &generator)
            let expected = Array(list.dropFirst(lower).prefix(upper - lower))
            #expect(
                parts[UInt64(lower)..<UInt64(upper)].flatMap { Array($0) } == expected, "\(ranges) \(lower) \(upper)")
        }
    }

    // MARK: Stores

    private let test: TestStore

    init() throws { test = try TestStore(model: Model(entities: [Self.entity])) }

    private func record(_ generator: inout SeededGenerator, near number: UInt64) throws -> [UInt8] {
        // Most values lie near those of their neighbours.
        var values = Self.entity.attributes.map { Self.values($0.type, &generator) }
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

    /// Random inserts (also with numbers of one's own, and in batches), changes and deletions, in several transactions, some of which
    /// are dropped. After each, the check finds nothing, and numbers are left out only where no object has the value.
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func zonesHoldWhateverIsWritten(seed: UInt64) throws {
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
                    // To the first number of a zone, or behind it.
                    let start = (next / Zone.length + 1) * Zone.length
                    try writer.insert(
                        0, record.span.bytes, as: start + UInt64(Int.random(in: 0...5, using: &generator) / 5))
                case 1, 2, 3: try writer.insert(0, record.span.bytes)
                case 4: batch.append(record.span.bytes)
                case 5, 6: if let object { _ = try? writer.update(object, record.span.bytes) }
                default: if let object { try writer.delete(object) }
                }
            }
            try writer.put(0, batch, by: Self.entity.uniqueConstraints[0]) { _, _ in }
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

    @Test func aChangeWithinTheBoundsWritesNoZoneAndDeletedZonesGo() throws {
        let length = Int(Zone.length)
        try insert(3 * length)
        #expect(try zones().mapValues(\.count) == [0: UInt64(length) - 1, 1: UInt64(length), 2: UInt64(length), 3: 1])
        let before = try zones()
        let record = try Self.record("new", 1)
        let writer = try test.store.beginWrite()
        try writer.update(RecordKey(entity: 0, number: 5), record.span.bytes)
        // The text lies behind those of digits.
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
        // Numbers of the last zone are still to be given out.
        #expect(try zones().mapValues(\.count) == [0: UInt64(length) - 1, 2: UInt64(length), 3: 0])
        try insert(1, from: 90_000)
        #expect(try zones()[3]?.count == 1)
    }

    /// Zones that an older program began are not known, and stay so; the next ones are.
    @Test func aZoneOfAnOlderProgramIsNotKnown() throws {
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
        #expect(done == ["zones that were missing or wrong: 1, made anew"])
        #expect(try zones().mapValues(\.count) == [0: Zone.length - 1, 1: Zone.length, 2: 21])
    }

    private func write(_ body: (TransactionView, Table) throws -> Void) throws {
        let transaction = try test.store.environment.beginWrite()
        try body(transaction.view, test.store.tables.meta)
        try transaction.commit()
    }

    @Test func damagedZonesAreFoundAndMended() throws {
        try insert(Int(Zone.length) + 100)
        let right = try zones()
        let keys = [0, 1].map { ZoneKey(entity: 0, index: $0) }
        func damage(_ defect: String, _ change: (TransactionView, Table) throws -> Void) throws {
            try write(change)
            let found = try snapshot.check()
            #expect(found.count == 1 && found[0].contains(defect), "\(found)")
            var done: [String] = []
            try test.write { done = try $0.repair { _ in } }
            #expect(done == ["zones that were missing or wrong: 1, made anew"], "\(done)")
            #expect(try zones() == right)
        }
        try damage("zone 0 of entity 0 does not match its checksum") { view, table in
            var bytes = right[0]!.encoded(at: keys[0])
            bytes[3] ^= 1
            try view.put(bytes, for: keys[0].bytes, in: table)
        }
        // One zone in the place of another.
        try damage("zone 1 of entity 0 does not match its checksum") { view, table in
            try view.put(right[0]!.encoded(at: keys[0]), for: keys[1].bytes, in: table)
        }
        try damage("zone 1 of entity 0 (Item) counts 102 objects and has 101") { view, table in
            var zone = right[1]!
            zone.count += 1
            try view.put(zone.encoded(at: keys[1]), for: keys[1].bytes, in: table)
        }
        try damage("zone 1 of entity 0 (Item): an object has a value of size outside of the bounds") { view, table in
            // The last object is greater.
            var narrow = Zone(of: try snapshot.model.entities[0])
            narrow.count = right[1]!.count
            let last = Int(Zone.length) + 99
            for number in Int(Zone.length) - 1...last {
                let record = try Self.record("\(number)", Int64(min(number, last - 1)))
                _ = try narrow.bounds.include(record.span.bytes, missing: RawSpan())
            }
            try view.put(narrow.encoded(at: keys[1]), for: keys[1].bytes, in: table)
        }
        try damage("zone 7 of entity 0 (Item) counts 3 objects and has 0") { view, table in
            let key = ZoneKey(entity: 0, index: 7)
            var zone = Zone(of: try snapshot.model.entities[0])
            zone.count = 3
            try view.put(zone.encoded(at: key), for: key.bytes, in: table)
        }
    }

    /// A damaged zone keeps nobody from writing: it goes, and nothing is known of it.
    @Test func aWriteTakesOutADamagedZone() throws {
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

    /// The values of a row that is refused are not written, and those of one that is written twice are both within the bounds.
    @Test func batchesWithRefusedAndRepeatedRows() throws {
        var batch = RecordBatch()
        let rows = [("a", 5), ("b", 900), ("a", 20), (String(repeating: "x", count: 600), 30), ("c", 1)]
        for (key, size) in rows {
            let record = try Self.record(key, Int64(size))
            batch.append(record.span.bytes)
        }
        try batch.findBounds(Self.entity)
        let record = try Self.record("later", 950)
        batch.append(record.span.bytes)
        var refused: [Int] = []
        try test.write { writer in
            _ = try writer.put(
                0, batch, by: Self.entity.uniqueConstraints[0], refused: { index, _ in refused.append(index) }
            ) {
                _, _ in
            }
        }
        #expect(refused == [3])
        #expect(try snapshot.check() == [])
        let bounds = try #require(try zones()[0]?.bounds[1])
        #expect(try zones()[0]?.count == 4)
        #expect(bounds.mayHave(.integer(1)) && bounds.mayHave(.integer(950)))
        #expect(!bounds.mayHave(.integer(0)) && !bounds.mayHave(.integer(951)))
    }

    /// A record that is lost from a zone that is read is noticed, though others are skipped.
    @Test func aLostRecordIsNoticedWhereZonesAreSkipped() throws {
        try insert(3 * Int(Zone.length))
        let transaction = try test.store.environment.beginWrite()
        try transaction.view.delete(RecordKey(entity: 0, number: 9000).rawValue, in: test.store.tables.records)
        try transaction.commit()
        func scan(_ wanted: Int64) throws {
            let reader = try snapshot
            let numbers = try reader.numbers(of: 0) { $0[1]!.mayHave(.integer(wanted)) }
            #expect(numbers.skippedCount >= 2 * Zone.length - 1)
            try ParallelScan(of: reader, objects: 100).forEachSelected(of: 0, in: numbers) { _, _ in
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
