import FetchIndexModels
import FetchIndexRecords
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexOrderCaches

/// Walks by object number, on one thread and on several, compared with the members among the records. With several
/// threads, the calling thread reads about the first 8,192 numbers alone. The threads then share the other numbers, in
/// parts of at most 16,384 numbers.
@Suite struct WalkTests {
    private var generator = SeededGenerator(seed: 36)
    private let rows: [UInt64: TestRow]

    init() {
        var rows: [UInt64: TestRow] = [:]
        for number in 1...60_000 as ClosedRange<UInt64> { rows[number] = .random(using: &generator) }
        self.rows = rows
    }

    private func store(threads: Int) throws -> TestStore {
        let test = try TestStore(model: TestRow.model, threads: threads)
        try test.write { writer in
            for number in 1...60_000 as ClosedRange<UInt64> {
                let record = try rows[number]!.record()
                #expect(try writer.insert(0, record.span.bytes).number == number)
            }
            for number in Self.deleted.sorted() { try writer.delete(RecordKey(entity: 0, number: number)) }
        }
        return test
    }

    /// The numbers of deleted objects. Some parts have no other objects.
    private static let deleted = Set(24_000..<45_000 as Range<UInt64>).union([1, 8191, 8192])

    @Test(arguments: [1, 2, 5]) mutating func membersAreWalkedInTheOrderOfTheirNumbers(threads: Int) throws {
        let test = try store(threads: threads)
        let snapshot = try test.store.snapshot()
        let builder = try TestOrder(hasSections: false).request().builder
        for hasEdits in [false, true] {
            var (current, replaced) = (rows, [:] as [RecordKey: [UInt8]?])
            for number in Self.deleted { current[number] = nil }
            if hasEdits {
                for number in current.keys.sorted() where number % 300 == 7 {
                    let row = number % 900 == 7 ? nil : TestRow.random(using: &generator)
                    current[number] = row
                    replaced[RecordKey(entity: 0, number: number)] = .some(try row?.record())
                }
            }
            let members = current.filter(\.value.isMember).keys.sorted()
            for most in [1, 127, 128, 129, 7000, 20_000, 25_000, .max] {
                var found: [UInt64] = []
                try builder.walkMembers(of: snapshot, replacing: replaced) { object in
                    found.append(object.number)
                    return found.count < most
                }
                #expect(found == Array(members.prefix(most)), "\(threads) threads, edits: \(hasEdits), \(most) members")
            }
        }
    }

    /// The objects with the first numbers are deleted, and new objects have numbers after all others.
    @Test(arguments: [1, 2, 5]) func aWalkFindsTheMembersAfterManyDeletedNumbers(threads: Int) throws {
        let test = try store(threads: threads)
        try test.write { writer in
            for number in 1...39_000 as ClosedRange<UInt64> where !Self.deleted.contains(number) {
                try writer.delete(RecordKey(entity: 0, number: number))
            }
            for number in 24_000..<33_000 as Range<UInt64> {
                let record = try rows[number]!.record()
                #expect(try writer.insert(0, record.span.bytes).number == number + 36_001)
            }
        }
        let request = try TestOrder(hasSections: false).request()
        var members = rows.filter { (45_000...60_000).contains($0.key) && $0.value.isMember }.keys.sorted()
        for number in 24_000..<33_000 as Range<UInt64> where rows[number]!.isMember { members.append(number + 36_001) }
        let snapshot = try test.store.snapshot()
        var found: [UInt64] = []
        try request.builder.walkMembers(of: snapshot) { object in
            found.append(object.number)
            return true
        }
        #expect(found == members)
        let order = try CacheEngine.compute(request, in: snapshot).order
        #expect(try order.objects().flatMap { $0 }.map(\.number).sorted() == members)
    }

    private struct Fault: Error {}

    /// A placer that fails on some records.
    private final class FailingPlacer: RowPlacer {
        let placer = TestPlacer(hasSections: false)

        func copy() -> any RowPlacer { self }
        func keepRecords(of block: inout RecordBlock, within bound: [UInt8]) {}
        func placeMember(_ bytes: RawSpan, _ placement: inout RowPlacement) throws {
            try placer.placeMember(bytes, &placement)
        }

        private func check(_ bytes: RawSpan) throws {
            if try RecordView(bytes).integer(at: 3) == 99 { throw Fault() }
        }

        func place(
            _ object: RecordKey, _ bytes: RawSpan, in state: (any RecordState)?, _ placement: inout RowPlacement
        ) throws -> Bool {
            try check(bytes)
            return try placer.place(object, bytes, in: state, &placement)
        }

        func keepMembers(of block: inout RecordBlock) throws {
            try block.forEach { _, bytes in try check(bytes) }
            try placer.keepMembers(of: &block)
        }
    }

    /// On one thread and on several, the body gets exactly the members before the failing record, as if records were
    /// read one by one.
    @Test(arguments: [1, 2, 5], [1, 100, 8193, 50_000] as [UInt64])
    func aFailingRecordStopsAWalkAfterTheMembersBeforeIt(threads: Int, failing: UInt64) throws {
        let test = try store(threads: threads)
        try test.write { writer in
            let record = try TestRow(group: nil, rank: 1, note: 99).record()
            // A deleted object cannot be updated.
            for number in [failing, failing + 5] where !Self.deleted.contains(number) {
                try writer.update(RecordKey(entity: 0, number: number), record.span.bytes)
            }
        }
        let isThere = !Self.deleted.contains(failing)
        let firstFailing = isThere ? failing : failing + 5
        let members = rows.filter { $0.value.isMember && $0.key < firstFailing && !Self.deleted.contains($0.key) }.count
        let shape = try TestOrder(hasSections: false).request().builder.shape
        let builder = OrderBuilder(entity: 0, shape: shape, dependencies: [0]) { _ in FailingPlacer() }
        for most in [1, members - 1, members, members + 1] where most > 0 {
            var count = 0
            func walk() throws {
                try builder.walkMembers(of: test.store.snapshot()) { _ in
                    count += 1
                    return count < most
                }
            }
            if most <= members { try walk() } else { #expect(throws: Fault.self) { try walk() } }
            #expect(count == min(most, members), "\(threads) threads, object \(failing) fails, \(most) members")
        }
    }

    @Test func aWalkReadsTheWritersUncommittedChanges() throws {
        let test = try store(threads: 2)
        let builder = try TestOrder(hasSections: false).request().builder
        try test.write { writer in
            for number in 50_000..<60_000 as Range<UInt64> { try writer.delete(RecordKey(entity: 0, number: number)) }
            var found: [UInt64] = []
            try builder.walkMembers(of: writer) { object in
                found.append(object.number)
                return true
            }
            let members = rows.filter {
                $0.value.isMember && !Self.deleted.contains($0.key) && !(50_000..<60_000).contains($0.key)
            }
            #expect(found == members.keys.sorted())
        }
    }

    @Test(arguments: [1, 2, 5]) func anErrorThrownByTheCallerStopsAWalk(threads: Int) throws {
        let test = try store(threads: threads)
        let builder = try TestOrder(hasSections: false).request().builder
        for most in [1, 10_000, 30_000] {
            var count = 0
            #expect(throws: Fault.self) {
                try builder.walkMembers(of: test.store.snapshot()) { _ in
                    count += 1
                    if count == most { throw Fault() }
                    return true
                }
            }
            #expect(count == most)
        }
    }
}
