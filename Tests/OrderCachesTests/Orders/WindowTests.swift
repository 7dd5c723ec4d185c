import FetchIndexCountedTree
import FetchIndexModels
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

/// Windows on small orders, compared with the slice of the rows that they must show. Offsets and limits go from -1 to
/// one more than the number of records; some windows have no limit.
@Suite struct WindowTests {
    /// The record counts of the tested orders. The records are in up to five sections, and some of them may not be
    /// members.
    private static let counts = [0, 1, 4, 9]

    @Test(arguments: TestOrder.all) func aWindowIsASliceOfTheRows(order: TestOrder) throws {
        var generator = SeededGenerator(seed: 41)
        for count in Self.counts {
            var rows: [UInt64: TestRow] = [:]
            for number in 0..<UInt64(count) { rows[number + 1] = .random(using: &generator, ranks: 3) }
            let whole = try order.order(of: rows, in: MemoryNodeStore(capacity: 256))
            for offset in -1...count + 1 {
                for limit in [nil] + (-1...count + 1).map({ Optional($0) }) {
                    let shown = order.window(of: rows, offset: offset, limit: limit)
                    let comment = "\(order), \(count) rows, offset \(offset), limit \(limit.map { "\($0)" } ?? "nil")"
                    try expect(OrderWindow(whole, offset: offset, limit: limit), shows: shown, order, rows, comment)
                }
            }
        }
    }

    private func expect(
        _ window: OrderWindow, shows expected: [SectionContents], _ order: TestOrder, _ rows: [UInt64: TestRow],
        _ comment: String
    ) throws {
        let numbers = expected.flatMap(\.rows)
        #expect(window.rowCount == numbers.count, "\(comment)")
        #expect(window.sectionCount == expected.count, "\(comment)")
        #expect(try window.objects().map { $0.map(\.number) } == expected.map(\.rows), "\(comment)")
        var paths: [UInt64: RowPath] = [:]
        var rowsBefore = 0
        for (index, section) in expected.enumerated() {
            let found = try window.section(at: index)
            #expect(found.name == section.name || section.rows.isEmpty, "\(comment), section \(index)")
            #expect(found.count == section.rows.count, "\(comment), section \(index)")
            #expect(found.rowsBefore == rowsBefore, "\(comment), section \(index)")
            #expect(try window.order.sums(found.summary) == section.sums, "\(comment), section \(index)")
            for (row, number) in section.rows.enumerated() {
                paths[number] = RowPath(section: index, row: row)
                #expect(try window.object(at: RowPath(section: index, row: row))?.number == number, "\(comment)")
                #expect(try window.row(at: rowsBefore + row).object.number == number, "\(comment)")
                #expect(try window.row(at: rowsBefore + row).path == paths[number], "\(comment)")
            }
            #expect(try window.object(at: RowPath(section: index, row: section.rows.count)) == nil, "\(comment)")
            rowsBefore += section.rows.count
        }
        for (number, row) in rows {
            // No placement of these tests reads the state.
            let path = try window.position(
                of: RecordKey(entity: 0, number: number), row.record(), order.placer, in: NoRecords())
            #expect(path == paths[number], "\(comment), object \(number)")
        }
        try expectWalks(of: window, numbers, expected, comment)
        try expectErrorsOutside(of: window, comment)
    }

    private func expectWalks(
        of window: OrderWindow, _ numbers: [UInt64], _ expected: [SectionContents], _ comment: String
    ) throws {
        for start in 0...numbers.count {
            for most in [1, 2, Int.max] {
                var found: [UInt64] = []
                try window.walkRows(from: start) { object, _ in
                    found.append(object.number)
                    return found.count < most
                }
                #expect(found == Array(numbers.dropFirst(start).prefix(most)), "\(comment), rows from \(start)")
            }
        }
        for start in 0...expected.count {
            for most in [1, 2, Int.max] {
                let counts = expected.dropFirst(start).prefix(most).map(\.rows.count)
                let reversed = try window.reversedSections(from: start, most)
                #expect(reversed.map(\.count) == counts.reversed(), "\(comment), sections from \(start)")
                var found: [Int] = []
                try window.walkSections(from: start) { section in
                    found.append(section.count)
                    return found.count < most
                }
                #expect(found == counts, "\(comment), sections from \(start)")
            }
        }
    }

    /// A position outside of a window gives an error or nil instead of a trap, because damage may change the counts.
    private func expectErrorsOutside(of window: OrderWindow, _ comment: String) throws {
        for row in [-1, window.rowCount] {
            #expect(throws: DamagedOrder.self, "\(comment)") { try window.row(at: row) }
        }
        for section in [-1, window.sectionCount] {
            #expect(throws: DamagedOrder.self, "\(comment)") { try window.section(at: section) }
            #expect(try window.object(at: RowPath(section: section, row: 0)) == nil, "\(comment)")
        }
        #expect(throws: DamagedOrder.self, "\(comment)") { try window.summary(ofRows: 0..<window.rowCount + 1) }
        #expect(throws: DamagedOrder.self, "\(comment)") { try window.summary(ofRows: -1..<0) }
    }

    /// A state without records and links.
    private final class NoRecords: RecordState {
        func record(_ object: RecordKey, _ body: (RawSpan) throws -> Void) -> Bool { false }
        func holders(of name: EntityLinks.Name, to target: RecordKey) -> [RecordKey] { [] }
        func holderCount(of name: EntityLinks.Name, to target: RecordKey) -> Int { 0 }
        func links(ofEntity entity: Int) -> EntityLinks? { nil }
        var identity: UInt64? { nil }
    }
}
