import Models
import Records
import TestSupport
import Testing

@testable import OrderCaches

/// Walks by object number against the members of the records, on one thread and on several, which read the objects behind the first
/// 8,192 numbers in parts of 16,384.
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
            for number in Self.deleted { try writer.delete(RecordKey(entity: 0, number: number)) }
        }
        return test
    }

    /// Among them all of a part.
    private static let deleted = Array(24_000..<45_000 as Range<UInt64>) + [1, 8191, 8192]

    @Test(arguments: [1, 2, 5]) mutating func membersComeByNumber(threads: Int) throws {
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

    private struct Fault: Error {}

    @Test(arguments: [1, 2, 5]) func anErrorOfTheCallerEndsAWalk(threads: Int) throws {
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
