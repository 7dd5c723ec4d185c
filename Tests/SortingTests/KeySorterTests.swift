import FetchIndexPlatform
import Foundation
import FetchIndexSorting
import FetchIndexTestSupport
import Testing

@Suite struct KeySorterTests {
    /// Keys, many of them with common prefixes. Each key ends in a zero byte and a 4-byte number, so that no key is a
    /// prefix of another.
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

    /// If only the `wanted` least keys of the sorters are wanted, they return exactly these keys. Keys are appended in
    /// random, ascending and descending order, with a large and a small memory budget.
    @Test(arguments: [0, 1, 7, 1024, 1500, 60_000], [1 << 30, 1 << 16])
    func limitedSortersReturnTheLeastKeys(wanted: Int, budget: Int) throws {
        var generator = SeededGenerator(seed: UInt64(wanted + budget))
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let keys = keys(20_000, using: &generator)
        let sorted = keys.sorted { $0.lexicographicallyPrecedes($1) }
        for coming in [keys, sorted, sorted.reversed()] {
            for count in [1, 3] {
                let sorters = (0..<count).map { _ in
                    KeySorter(memoryBudget: budget, folder: folder.path, mostWanted: wanted)
                }
                for (index, key) in coming.enumerated() { try sorters[index % count].append(key) }
                var found: [[UInt8]] = []
                try KeySorter.forEachSorted(of: sorters, first: wanted) { found.append([UInt8](copying: $0)) }
                #expect(found == Array(sorted.prefix(wanted)))
                #expect(sorters.reduce(0) { $0 + $1.appendedCount } == keys.count)
                if wanted <= 1024, budget == 1 << 30 { #expect(sorters.allSatisfy { $0.count < 4 * 1024 }) }
            }
        }
    }

    @Test func keysInOrganPipeOrderWithEqualPairsAreSorted() throws {
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
        /// Changes a byte of a run, like a failing disk.
        @Test func aSortedRunThatChangedOnDiskIsAnError() throws {
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
                #expect(throws: SortingError.fileDamaged, "byte \(byte % 20_000)") {
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

    @Test func sortingMoreKeysThanFitInMemoryThrowsIfTheFolderIsMissing() throws {
        let sorter = KeySorter(memoryBudget: 1 << 16, folder: "/nonexistent")
        #expect(throws: SortingError.self) {
            for number in 0..<20_000 { try sorter.append(Array("\(number)".utf8)) }
        }
    }

    /// Sorters are merged into one sorted sequence, also if one of them is partly sorted already, or if they have runs.
    /// Few keys are merged on one thread, many keys of several sorters on a second one.
    @Test(arguments: [(1, 1 << 30), (2, 1 << 30), (3, 1 << 16), (5, 1 << 18)])
    func keysOfSeveralSortersAreMergedInOrder(sorterCount: Int, budget: Int) throws {
        for count in [2000, 60_000] { try checkOneOrder(of: count, sorterCount, budget) }
    }

    private func checkOneOrder(of count: Int, _ sorterCount: Int, _ budget: Int) throws {
        var generator = SeededGenerator(seed: UInt64(sorterCount))
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let keys = keys(count, using: &generator)
        let sorters = (0..<sorterCount).map { _ in KeySorter(memoryBudget: budget, folder: folder.path) }
        // The last of several sorters has no keys.
        for (index, key) in keys.enumerated() {
            try sorters[index % max(1, sorterCount - 1)].append(key)
        }
        try sorters[0].sort(first: count / 3)
        var sorted: [[UInt8]] = []
        try KeySorter.forEachSorted(of: sorters) { sorted.append([UInt8](copying: $0)) }
        #expect(sorted == keys.sorted { $0.lexicographicallyPrecedes($1) })
        for first in [0, 1, 13, 500, count - 1, count] {
            let sorters = (0..<sorterCount).map { _ in KeySorter(memoryBudget: budget, folder: folder.path) }
            for (index, key) in keys.enumerated() { try sorters[index % sorterCount].append(key) }
            var some: [[UInt8]] = []
            try KeySorter.forEachSorted(of: sorters, first: first) { some.append([UInt8](copying: $0)) }
            #expect(some == Array(sorted.prefix(first)), "the first \(first)")
        }
        // A reader that throws ends the merge.
        struct Enough: Error {}
        var taken = 0
        #expect(throws: Enough.self) {
            try KeySorter.forEachSorted(of: sorters) { _ in
                taken += 1
                if taken == 10 { throw Enough() }
            }
        }
    }
}
