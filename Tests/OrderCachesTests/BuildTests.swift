import Bytes
import Models
import CountedTree
import Foundation
import Records
import Sorting
import TestSupport
import Testing

@testable import OrderCaches

@Suite struct KeySorterTests {
    /// Keys that end in a 4-byte number, so that none begins another, with long common beginnings.
    func keys(_ count: Int, using generator: inout SeededGenerator) -> [[UInt8]] {
        (0..<count).map { number in
            let prefix = String(repeating: "section", count: Int.random(in: 0...3, using: &generator))
            let text = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                UInt8.random(in: 97...99, using: &generator)
            }
            return Array(prefix.utf8) + text + [0] + withUnsafeBytes(of: UInt32(number).bigEndian) { [UInt8]($0) }
        }
    }

    @Test(arguments: [(0, 1 << 30), (1, 1 << 30), (13, 1 << 30), (5000, 1 << 30), (30_000, 1 << 16), (30_000, 1 << 20)])
    func keysComeOutSortedFromMemoryAndFromRuns(count: Int, budget: Int) throws {
        var generator = SeededGenerator(seed: UInt64(count))
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let keys = keys(count, using: &generator)
        let sorter = KeySorter(memoryBudget: budget, folder: folder.path)
        for key in keys { try sorter.append(key) }
        #expect((sorter.runCount > 0) == (budget == 1 << 16 || budget == 1 << 20))
        var sorted: [[UInt8]] = []
        try sorter.forEachSorted { sorted.append([UInt8](copying: $0)) }
        #expect(sorted == keys.sorted { $0.lexicographicallyPrecedes($1) })
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty, "runs have no names")
    }

    @Test func equalAndHostileKeysAreSorted() throws {
        let organPipe = (0..<4000).map { number -> [UInt8] in
            let value = number < 2000 ? number : 4000 - number
            return withUnsafeBytes(of: UInt64(value).bigEndian) { [UInt8]($0) }
        }
        let sorter = KeySorter(memoryBudget: 1 << 20, folder: "/")
        for key in organPipe { try sorter.append(key) }
        var sorted: [[UInt8]] = []
        try sorter.forEachSorted { sorted.append([UInt8](copying: $0)) }
        #expect(sorted == organPipe.sorted { $0.lexicographicallyPrecedes($1) })
    }

    #if os(Linux)
        /// Some of the bytes of a run, as a failing disk may change them.
        @Test func aRunThatChangedOnTheDiskIsAnError() throws {
            let folder = TemporaryFolder()
            try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
            let keys = (0..<4000).map { Array("key \($0)".utf8) }
            for byte in stride(from: 0, to: 60_000, by: 997) {
                let sorter = KeySorter(memoryBudget: 1 << 16, folder: folder.path)
                for key in keys { try sorter.append(key) }
                guard let file = try runs(in: folder.path).first else { return #expect(sorter.runCount > 0) }
                let handle = try #require(FileHandle(forUpdatingAtPath: file))
                try handle.seek(toOffset: UInt64(byte % 20_000))
                let old = try #require(try handle.read(upToCount: 1))
                try handle.seek(toOffset: UInt64(byte % 20_000))
                try handle.write(contentsOf: Data(old.map { $0 ^ 0x81 }))
                try handle.close()
                #expect(throws: StoreError.temporaryFileDamaged, "byte \(byte % 20_000)") {
                    try sorter.forEachSorted { _ in }
                }
            }
        }

        /// The nameless files of a folder that this process has open.
        private func runs(in folder: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").map { "/proc/self/fd/" + $0 }.filter {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: $0))?.hasPrefix(folder) == true
            }
        }
    #endif

    @Test func aFolderThatCannotBeWrittenIsAnError() throws {
        let sorter = KeySorter(memoryBudget: 1 << 16, folder: "/nonexistent")
        #expect(throws: StoreError.self) {
            for number in 0..<20_000 { try sorter.append(Array("\(number)".utf8)) }
        }
    }
}

@Suite struct BuildTests {
    @Test(arguments: TestOrder.all, [UInt64(1), 2]) func aBuiltOrderIsSortAndGroup(order: TestOrder, seed: UInt64)
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
        let placer = TestPlacer(hasSections: order.hasSections, isDescending: order.isDescending)
        for (number, record) in try test.contents() {
            let section = expected.firstIndex { $0.rows.contains(number) }
            let path = section.map { RowPath(section: $0, row: expected[$0].rows.firstIndex(of: number) ?? -1) }
            let object = RecordKey(entity: 0, number: number)
            #expect(try built.position(of: object, record, placer) == path, "seed \(seed), \(order), object \(number)")
        }
    }

    private func expectRandomAccess(
        to order: SectionedOrder, agreesWith expected: [(name: String, rows: [UInt64])]
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
                #expect(try order.object(at: RowPath(section: index, row: offset)).number == number)
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

    @Test func anOrderLargerThanTheBudgetIsTheSame() throws {
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
