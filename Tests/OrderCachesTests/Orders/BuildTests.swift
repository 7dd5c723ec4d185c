import FetchIndexModels
import FetchIndexCountedTree
import Foundation
import FetchIndexRecords
import FetchIndexSorting
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

@Suite struct BuildTests {
    @Test(arguments: TestOrder.all, [UInt64(1), 2]) func aBuiltOrderAgreesWithPlainSortingAndGrouping(
        order: TestOrder, seed: UInt64
    )
        throws
    {
        var generator = SeededGenerator(seed: seed)
        let test = try TestStore(model: TestRow.model)
        var rows: [UInt64: TestRow] = [:]
        try test.write { writer in
            for _ in 0..<(seed == 1 ? 0 : 300) {
                let row = TestRow.random(using: &generator)
                let record = try row.record()
                rows[try writer.insert(0, record.span.bytes).number] = row
            }
        }
        let built = try CacheEngine.compute(order.request(), in: test.store.snapshot()).order
        #expect(try built.check() == [])
        let expected = order.sections(of: rows)
        #expect(isEqual(try built.contents(), expected), "seed \(seed), \(order)")
        #expect(built.sectionCount == expected.count)
        #expect(built.rowCount == expected.reduce(0) { $0 + $1.rows.count })
        try expectRandomAccess(to: built, agreesWith: expected)
        let placer = order.placer
        for (number, record) in try test.contents() {
            let section = expected.firstIndex { $0.rows.contains(number) }
            let path = section.map { RowPath(section: $0, row: expected[$0].rows.firstIndex(of: number) ?? -1) }
            let object = RecordKey(entity: 0, number: number)
            #expect(try built.position(of: object, record, placer) == path, "seed \(seed), \(order), object \(number)")
        }
    }

    /// The store has enough records for several threads, although some were deleted.
    @Test func anOrderIsTheSameOnOneThreadAndOnSeveral() throws {
        var generator = SeededGenerator(seed: 15)
        let order = TestOrder(hasSections: true, sectionOrder: .byCount())
        var contents: [SectionContents] = []
        let rows = (0..<40_000).map { _ in TestRow.random(using: &generator, ranks: 500) }
        for threads in [1, 2, 5] {
            let test = try TestStore(model: TestRow.model, threads: threads)
            try test.write { writer in
                for row in rows {
                    let record = try row.record()
                    _ = try writer.insert(0, record.span.bytes)
                }
                for number in 5_000..<12_000 as Range<UInt64> {
                    try writer.delete(RecordKey(entity: 0, number: number))
                }
            }
            var request = try order.request()
            request.builder.memoryBudget = 1 << 20
            let built = try CacheEngine.compute(request, in: test.store.snapshot()).order
            #expect(try built.check() == [])
            let found = try built.contents()
            if threads == 1 { contents = found }
            #expect(isEqual(found, contents), "\(threads) threads")
        }
    }

    private func expectRandomAccess(
        to order: SectionedOrder, agreesWith expected: [SectionContents]
    ) throws {
        var row = 0
        for (index, section) in expected.enumerated() {
            let found = try order.section(at: index)
            #expect(found.name == section.name)
            #expect(found.count == section.rows.count)
            #expect(found.rowsBefore == row)
            for (offset, number) in section.rows.enumerated() {
                let found = try order.row(at: row)
                #expect(found.object.number == number)
                #expect(found.path == RowPath(section: index, row: offset))
                var first: (RecordKey, RowPath)?
                try order.walkRows(from: row) { object, path in
                    first = (object, path)
                    return false
                }
                #expect(first?.0.number == number)
                #expect(first?.1 == RowPath(section: index, row: offset))
                row += 1
            }
        }
    }

    @Test func anOrderSortedOnDiskEqualsOneSortedInMemory() throws {
        var generator = SeededGenerator(seed: 4)
        let test = try TestStore(model: TestRow.model)
        try test.write { writer in
            for _ in 0..<12_000 {
                let record = try TestRow.random(using: &generator, groups: 300, ranks: 1000).record()
                try writer.insert(0, record.span.bytes)
            }
        }
        var request = try TestOrder(hasSections: true).request()
        let whole = try CacheEngine.compute(request, in: test.store.snapshot()).order
        request.builder.memoryBudget = 1 << 17
        let external = try CacheEngine.compute(request, in: test.store.snapshot()).order
        #expect(isEqual(try whole.contents(), try external.contents()))
        #expect(try external.check() == [])
    }
}
