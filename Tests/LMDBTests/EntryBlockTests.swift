import Foundation
@testable import FetchIndexLMDB
import FetchIndexTestSupport
import Testing

/// Entries of a table are read in blocks.
@Suite struct EntryBlockTests {
    private let folder = TemporaryFolder()

    private typealias Entry = (key: UInt64, value: [UInt8])

    private func open() throws -> (Environment, Table) {
        // What is tested is what finds damage without page checksums.
        var options = Environment.Options()
        options.hasPageChecksums = false
        let environment = try Environment.open(at: folder.path, options: options)
        return (environment, try environment.tables([TableDescription("numbers", .integers)], creating: true)[0])
    }

    private func bytes(_ span: RawSpan) -> [UInt8] { span.withUnsafeBytes { [UInt8]($0) } }

    private func entriesInBlocks(
        _ view: TransactionView, _ table: Table, from first: UInt64 = 0, through last: UInt64 = .max
    ) throws -> [Entry] {
        var entries: [Entry] = []
        try view.withCursor(on: table) { cursor in
            var block = EntryBlock()
            _ = try cursor.seek(toKeyFrom: first)
            try cursor.read(into: &block, through: last)
            while block.count > 0 {
                #expect(block.count <= EntryBlock.capacity)
                for place in 0..<block.count { entries.append((block.keys[place], [UInt8](block.values[place]))) }
                block.removeAll()
                try cursor.read(into: &block, through: last)
            }
        }
        return entries
    }

    /// Reads the entries of several ranges into one block, until the block is full.
    private func entriesInOneBlock(
        _ view: TransactionView, _ table: Table, _ ranges: [ClosedRange<UInt64>]
    ) throws -> [Entry] {
        try view.withCursor(on: table) { cursor in
            var block = EntryBlock()
            for range in ranges where !block.isFull {
                _ = try cursor.seek(toKeyFrom: range.lowerBound)
                try cursor.read(into: &block, through: range.upperBound)
            }
            return (0..<block.count).map { (block.keys[$0], [UInt8](block.values[$0])) }
        }
    }

    private func entriesOneByOne(_ view: TransactionView, _ table: Table) throws -> [Entry] {
        var entries: [Entry] = []
        try view.forEachEntry(in: table) { entries.append(($0.integerKey, bytes($0.value))) }
        return entries
    }

    private func areEqual(_ left: [Entry], _ right: [Entry]) -> Bool { left.elementsEqual(right) { $0 == $1 } }

    /// Makes a value of up to two pages, so that some values are on overflow pages.
    private func value(_ random: inout SeededGenerator) -> [UInt8] {
        let length = Int.random(in: 0..<20, using: &random) == 0 ? 3000 + Int.random(in: 0..<5000, using: &random) : 60
        return (0..<Int.random(in: 0...length, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    @Test(arguments: [0, 1, 2, 127, 128, 129, 255, 256, 257, 2000])
    func blocksHaveAllEntriesOfATable(count: Int) throws {
        var random = SeededGenerator(seed: UInt64(count))
        let (environment, table) = try open()
        var expected: [UInt64: [UInt8]] = [:]
        for isSecond in [false, true] {
            let writer = try environment.beginWrite()
            for number in 0..<count {
                // In the second round, some entries are replaced or deleted, so that the transaction has dirty pages
                // besides the map's pages.
                let key = UInt64(number * 3)
                if isSecond && Int.random(in: 0..<10, using: &random) > 0 { continue }
                if isSecond && Bool.random(using: &random) {
                    try writer.view.delete(key, in: table)
                    expected[key] = nil
                } else {
                    let value = value(&random)
                    try writer.view.put(value.span.bytes, for: key, in: table)
                    expected[key] = value
                }
            }
            let all = expected.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            #expect(areEqual(try entriesInBlocks(writer.view, table), all))
            try writer.commit()
            let reader = try environment.beginRead()
            #expect(areEqual(try entriesInBlocks(reader.view, table), all))
            for _ in 0..<20 {
                let first = UInt64.random(in: 0...UInt64(count * 3), using: &random)
                let last = first + UInt64.random(in: 0...UInt64(count * 3), using: &random)
                let some = all.filter { (first...last).contains($0.0) }
                let found = try entriesInBlocks(reader.view, table, from: first, through: last)
                #expect(areEqual(found, some), "\(first) to \(last)")
                let ranges = [first / 2...first / 2 + 5, first...last]
                let together = ranges.flatMap { range in all.filter { range.contains($0.0) } }
                #expect(
                    areEqual(
                        try entriesInOneBlock(reader.view, table, ranges),
                        Array(together.prefix(EntryBlock.capacity))), "\(ranges)")
            }
        }
    }

    /// A byte of a leaf or branch is changed. Either one of the two readings throws, or the blocks equal the entries of the
    /// walk.
    @Test(arguments: 1...3 as ClosedRange<UInt64>) func blocksOfADamagedTableEqualAWalkUnlessOneThrows(seed: UInt64)
        throws
    {
        var random = SeededGenerator(seed: seed)
        do {
            let (environment, table) = try open()
            let writer = try environment.beginWrite()
            for key in 0..<600 as Range<UInt64> {
                let value = value(&random)
                try writer.view.put(value.span.bytes, for: key, in: table)
            }
            try writer.commit()
        }
        let file = URL(fileURLWithPath: folder.path + "/data.mdb")
        let data = try Data(contentsOf: file)
        // The offsets at which leaves and branches begin. The branch, of which there is one, is tried more often.
        let header = PageLayout.linked.headerLength
        let pages = stride(from: 2 * 4096, to: data.count, by: 4096).flatMap { place in
            let flags = data[place + header - 6]
            let isTree = [1, 2].contains(flags) && data[place + header - 5] == 0
            return [Int](repeating: place, count: isTree ? flags == 1 ? 20 : 1 : 0)
        }
        try #require(pages.count > 5)
        var metCount = 0
        for _ in 0..<300 {
            var damaged = data
            let page = pages.randomElement(using: &random) ?? 0
            let place = page + Int.random(in: 0..<4096, using: &random)
            damaged[place] ^= UInt8.random(in: 1...255, using: &random)
            try damaged.write(to: file)
            // The page may be the main tree's.
            guard let (environment, table) = try? open(), let reader = try? environment.beginRead() else {
                metCount += 1
                continue
            }
            let inBlocks = try? entriesInBlocks(reader.view, table)
            let oneByOne = try? entriesOneByOne(reader.view, table)
            if inBlocks == nil { metCount += 1 }
            guard let inBlocks, let oneByOne else { continue }
            #expect(areEqual(inBlocks, oneByOne), "byte \(place), seed \(seed)")
        }
        #expect(metCount > 0)
    }
}
