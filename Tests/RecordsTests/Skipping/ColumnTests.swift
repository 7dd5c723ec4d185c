import Foundation
import FetchIndexModels
import Synchronization
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

/// Which columns zones have after writes, and which objects scans skip by them.
@Suite struct ColumnTests {
    /// In random writes, `kind` has few different texts, `section` has too many for codes of one byte, and `title` has
    /// too many for a column. `key` is unique, so it has no column.
    private static let entity = Entity(
        "Item",
        [
            AttributeDescription("key", .string, isUnique: true), AttributeDescription("kind", .string),
            AttributeDescription("section", .string), AttributeDescription("title", .string),
            AttributeDescription("size", .integer),
        ])
    static let (kind, section, title) = (1, 2, 3)

    let test: TestStore

    init() throws { test = try TestStore(model: Model(entities: [Self.entity]), threads: 4) }

    var snapshot: Snapshot { get throws { try test.store.snapshot() } }

    static func record(
        _ number: Int, kind: String?, section: String?, title: String? = nil
    ) throws -> [UInt8] {
        try entity.record([
            .string("key-\(number)"), kind.map(Value.string) ?? .null, section.map(Value.string) ?? .null,
            .string(title ?? "title \(number)"), .integer(Int64(number)),
        ])
    }

    private static func record(_ number: Int, _ generator: inout SeededGenerator) throws -> [UInt8] {
        let kind = Int.random(in: 0...5, using: &generator)
        let section = Int.random(in: 0..<400, using: &generator)
        return try record(
            number, kind: kind == 0 ? nil : "kind-\(kind)", section: section == 0 ? nil : "セクション\(section)")
    }

    func zones() throws -> [UInt64: Zone] {
        var zones: [UInt64: Zone] = [:]
        try snapshot.forEachZone(of: 0) { key, value in zones[key.index] = try Zone(value, at: key) }
        return zones
    }

    func columns() throws -> [String] {
        var names: [String] = []
        try snapshot.forEachColumn { names.append("\($0.zone.index):\($0.slot)") }
        return names
    }

    static func filter(_ slot: Int, _ text: String?) -> ScanFilter? {
        let test = ColumnTest(slot: slot, holdsForNull: text == nil) { found in
            found.withUnsafeBytes { Array($0) } == text.map { Array($0.utf8) }
        }
        return ScanFilter([test])
    }

    /// Scans with a filter in three ways, each of which must read all matching objects. Returns the number of skipped
    /// objects.
    @discardableResult
    func skipped(_ slot: Int, _ text: String?, _ comment: String) throws -> Int {
        let reader = try snapshot
        let missing = reader.model.entities[0].missingValues
        var wanted: Set<UInt64> = []
        var count = 0
        try reader.scan(0) { object, record in
            let view = try RecordView(record, missing: missing.span.bytes)
            let found = try view.value(at: slot, as: .string)
            if found == (text.map(Value.string) ?? .null) { wanted.insert(object.number) }
            count += 1
            return true
        }
        var read: [UInt64] = []
        let all = [0..<(try reader.entityState(0).nextObject)]
        let scanned = try reader.readBlocks(of: 0, numbers: all, where: Self.filter(slot, text)) { block in
            block.forEachOfAll { object, _ in read.append(object.number) }
            return true
        }
        #expect(read == read.sorted() && wanted.isSubset(of: read), "\(comment)")
        #expect(scanned.met == read.count && scanned.met + scanned.skipped == count, "\(comment)")
        let scan = try Scan(of: reader, entities: [0], fewestOfThread: 1)
        let filters = (0..<scan.threadCount).map { _ in Self.filter(slot, text) }
        #expect(scan.threadCount == 4)
        var selected: [UInt64] = []
        try scan.forEachSelected(of: 0, where: filters) { _, _ in
        } _: { object in
            selected.append(object.number)
            return true
        }
        #expect(selected == selected.sorted() && wanted.isSubset(of: selected), "\(comment)")
        let inBlocks = Mutex<Set<UInt64>>([])
        try scan.forEachBlock(of: 0, where: filters) { _, block in
            var numbers: [UInt64] = []
            block.forEachOfAll { object, _ in numbers.append(object.number) }
            inBlocks.withLock { $0.formUnion(numbers) }
        }
        #expect(wanted.isSubset(of: inBlocks.withLock { $0 }), "\(comment)")
        let left = try reader.skippedCount(of: 0, in: .all, where: Self.filter(slot, text)!)
        #expect(left == scanned.skipped, "\(comment)")
        return Int(scanned.skipped)
    }

    /// Writes batches, and single insertions (some with given object numbers), updates and deletions, in transactions
    /// of different sizes, some of which are dropped. After each commit, `check` reports nothing, and scans read all
    /// matching objects.
    @Test(arguments: 1...(TestSettings.isLong ? 8 : 2) as ClosedRange<UInt64>) func columnsFollowRandomWrites(
        seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed)
        var last = 0
        var left = 0
        for round in 0..<24 {
            let numbers = try test.contents().keys.sorted()
            let writer = try test.store.beginWrite()
            var batch = RecordBatch()
            let size = [30, 300, 3000, 9000].randomElement(using: &generator)!
            for _ in 0..<Int.random(in: 0...size, using: &generator) {
                last += 1
                // Some rows of a batch update objects, and some repeat each other.
                let isNew = Int.random(in: 0..<400, using: &generator) > 0
                let key = isNew ? last : Int.random(in: 1...last, using: &generator)
                let record = try Self.record(key, &generator)
                batch.append(record.span.bytes)
            }
            if round % 3 > 0 { try batch.describeParts(Self.entity) }
            try writer.write(0, batch, .update(by: Self.entity.uniqueConstraints)) { _, _ in }
            for _ in 0..<Int.random(in: 0...size / 8, using: &generator) {
                let object = numbers.randomElement(using: &generator).map { RecordKey(entity: 0, number: $0) }
                last += 1
                let record = try Self.record(last, &generator)
                switch Int.random(in: 0..<8, using: &generator) {
                case 0:
                    let next = try writer.entityState(0).nextObject
                    let gap = UInt64.random(in: 0...40, using: &generator)
                    try writer.insert(0, record.span.bytes, as: next + gap)
                case 1, 2: try writer.insert(0, record.span.bytes)
                case 3, 4, 5: if let object { _ = try? writer.update(object, record.span.bytes) }
                default: if let object { try writer.delete(object) }
                }
            }
            if round % 9 == 8 { continue }
            if round % 5 == 4 {
                try writer.seal()
                try writer.beginNextCommit(author: "next")
                if let object = numbers.last.map({ RecordKey(entity: 0, number: $0) }) { try writer.delete(object) }
                let record = try Self.record(0, &generator)
                let object = try writer.insert(0, record.span.bytes)
                // Uncommitted objects are read.
                let filter = try #require(Self.filter(Self.kind, "none"))
                let own = [object.number..<object.number + 1]
                #expect(try writer.readBlocks(of: 0, numbers: own, where: filter) { _ in true }.met == 1)
                try writer.delete(object)
            }
            try writer.commit()
            let comment = "seed \(seed), round \(round)"
            #expect(try snapshot.check() == [], "\(comment)")
            left += try skipped(Self.section, "セクション7", comment)
            left += try skipped(Self.kind, nil, comment)
            try skipped(Self.kind, "kind-2", comment)
            try skipped(Self.title, "title 1", comment)
        }
        // `left` counts the objects that the first two scans of each round have skipped.
        #expect(left > 20_000, "seed \(seed): \(left)")
        // Full zones have columns, but not of titles.
        let whole = try zones().filter { $0.value.coded.end == Int(Zone.length) }
        #expect(!whole.isEmpty && whole.values.allSatisfy { $0.coded.slots == [Self.kind, Self.section] })
    }

    func insert(_ count: Int, from first: Int = 1, kind: (Int) -> String? = { "kind-\($0 % 3)" }) throws {
        try test.write { writer in
            for number in first..<first + count {
                let record = try Self.record(number, kind: kind(number), section: "section")
                try writer.insert(0, record.span.bytes)
            }
        }
    }

    @Test func columnsAreBuiltForEnoughObjectsWithFewTexts() throws {
        try insert(500)
        #expect(try columns() == [])
        try insert(100, from: 501)
        #expect(try columns() == ["0:1", "0:2"])
        #expect(try zones()[0]!.coded == CodedPlaces([1, 2], end: 601))
        // The columns are rebuilt when they would become twice as long.
        try insert(599, from: 601)
        #expect(try zones()[0]!.coded.end == 601)
        try insert(2, from: 1200)
        #expect(try zones()[0]!.coded.end == 1202)
        // The zone is filled to its end, and the next zone gets one object.
        try insert(6991, from: 1202)
        #expect(try zones().mapValues(\.coded.end) == [0: 8192, 1: 0])
        // A column has at most 1,024 texts, and no text of more than 64 bytes.
        let zone = Int(Zone.length)
        try insert(zone, from: 8193) { "kind-\($0 % 1024)" }
        try insert(zone, from: 8193 + zone) { "kind-\($0 % 1025)" }
        try insert(zone, from: 8193 + 2 * zone) { String(repeating: "k", count: $0 == 30_000 ? 65 : 64) }
        #expect(try columns() == ["0:1", "0:2", "1:1", "1:2", "2:2", "3:2"])
        #expect(try skipped(Self.kind, "kind-1023", "1 of 1024") > 1000)
    }

    /// Scans read changed objects until enough of them have changed, so that the columns are rebuilt.
    @Test func changedObjectsAreReadUntilColumnsAreRebuilt() throws {
        try insert(9000) { _ in "old" }
        func change(_ numbers: Range<Int>, _ kind: String) throws {
            try test.write { writer in
                for number in numbers {
                    let record = try Self.record(number, kind: kind, section: "section")
                    try writer.update(RecordKey(entity: 0, number: UInt64(number)), record.span.bytes)
                }
            }
        }
        #expect(try skipped(Self.kind, "new", "none") == 8191 + 809)
        try change(1..<2, "new")
        // Writing the same value again doesn't count as a change. A new value of an attribute without columns doesn't
        // count either.
        try change(1..<2, "new")
        let record = try Self.record(2, kind: "old", section: "section", title: "other")
        try test.write { try $0.update(RecordKey(entity: 0, number: 2), record.span.bytes) }
        #expect(try zones()[0]!.coded.changed == [1])
        #expect(try skipped(Self.kind, "new", "one") == 8190 + 809)
        try test.write { try $0.delete(RecordKey(entity: 0, number: 100)) }
        #expect(try zones()[0]!.coded.changed == [1, 100])
        #expect(try skipped(Self.kind, "gone", "a deletion") == 8189 + 809)
        try change(200..<710, "new")
        #expect(try zones()[0]!.coded.changed.count == 512)
        try change(710..<711, "new")
        #expect(try zones()[0]!.coded == CodedPlaces([1, 2], end: 8192))
        #expect(try skipped(Self.kind, "new", "made anew") > 7000)
        // A scan would skip less than a quarter of the zone's objects, so it skips none.
        #expect(try skipped(Self.kind, "old", "made anew") == 0)
        // All objects of the zone change, in two transactions.
        try change(1..<100, "newer")
        try change(101..<8192, "newest")
        #expect(try zones()[0]!.coded == CodedPlaces([1, 2], end: 8192))
        #expect(try skipped(Self.kind, "newer", "all") > 7000)
        try test.write { writer in
            for number in 1..<8192 where number != 100 {
                try writer.delete(RecordKey(entity: 0, number: UInt64(number)))
            }
        }
        #expect(try columns() == ["1:1", "1:2"])
    }

    /// If a filter's test throws for a text, the scan must read the objects with this text, so that the error is thrown
    /// there.
    @Test func aColumnTestThatThrowsDoesNotSkipObjects() throws {
        try insert(8191) { $0 == 5000 ? "bad" : "good" }
        struct Failure: Error {}
        var calls = 0
        let failing = ColumnTest(slot: Self.kind, holdsForNull: false) { _ in
            calls += 1
            throw Failure()
        }
        var read: [UInt64] = []
        let filter = try #require(ScanFilter([failing]))
        let scanned = try snapshot.readBlocks(of: 0, numbers: [0..<9000, 5..<5], where: filter) { block in
            block.forEachOfAll { object, _ in read.append(object.number) }
            return true
        }
        // Since the test fails, all objects are read.
        #expect(read.count == 8191 && scanned.skipped == 0 && calls == 1)
        #expect(ScanFilter([]) == nil)
    }

    /// All objects of a zone are deleted. A repair finds nothing to do.
    @Test func anEmptiedZoneHasNoColumns() throws {
        try insert(600)
        try test.write { writer in
            for number in 1...600 { try writer.delete(RecordKey(entity: 0, number: UInt64(number))) }
        }
        #expect(try columns() == [] && zones()[0]?.count == 0)
        var done: [String] = []
        try test.write { done = try $0.repair { _ in } }
        #expect(done == [])
        try insert(20, from: 700)
        #expect(try zones()[0]?.count == 20)
    }
}
