@testable import FetchIndexLMDB
import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Files are cut off, and pages are overwritten. The damage must not end the process.
@Suite struct OverwrittenPageTests {
    let sample: SampleStore
    let file: DamagedFile
    let pageCount: Int

    init() throws {
        sample = try SampleStore.shared.get()
        file = try DamagedFile(sample.data)
        pageCount = sample.data.count / DamagedFile.pageSize
    }

    @Test func theSampleHasAllKindsOfPagesAndIsSound() throws {
        #expect(try file.defects() == [])
        let walk = try file.walk()
        #expect(walk.report.defects == [])
        #expect(pageCount >= 200)
        #expect(walk.report.freePages >= 10)
        let tables = walk.report.tables
        #expect(Set(tables.keys) == ["meta", "records", "log", "unique", "caches", "nodes"])
        #expect((tables["records"]?.depth ?? 0) >= 2)
        #expect((tables["records"]?.overflowPages ?? 0) >= 10)
        #expect((tables["nodes"]?.entries ?? 0) >= 10)
    }

    @Test func aFileThatLacksUsedPagesIsReported() throws {
        let free = try file.walk().free
        let pages = TestSettings.isLong ? 1 : 3
        var lengths = Array(stride(from: 0, to: sample.data.count, by: pages * DamagedFile.pageSize))
        lengths += [1, 100, 151, 4095, 4097, 8191, 8193, 12289, sample.data.count - 1]
        for length in lengths {
            let file = try DamagedFile(Array(sample.data[..<length]))
            let isOnlyFree = (length / DamagedFile.pageSize..<pageCount).allSatisfy {
                $0 > 1 && free.contains(UInt64($0))
            }
            let defects = try file.defects()
            #expect(defects.isEmpty == isOnlyFree, "cut off at \(length): \(defects)")
            if isOnlyFree { continue }
            #expect(throws: StoreError.self, "cut off at \(length)") {
                try SampleStore.open(file.folder.path).check { _, _ in }
            }
        }
    }

    enum Overwriting: CaseIterable { case random, zeros, ones, otherPage }

    @Test(arguments: Overwriting.allCases) func overwrittenPagesInUseAreReported(with what: Overwriting) throws {
        var generator = SeededGenerator(seed: 2)
        let used = try file.walk().used
        var found = 0
        for number in 0..<pageCount {
            let page = sample.data.page(number)
            let bytes: [UInt8]
            switch what {
            case .random: bytes = page.map { _ in UInt8.random(in: 0...255, using: &generator) }
            case .zeros: bytes = page.map { _ in 0 }
            case .ones: bytes = page.map { _ in 0xFF }
            case .otherPage: bytes = sample.data.page(Int.random(in: 0..<pageCount, using: &generator))
            }
            let isUsed = number < 2 || used.contains(UInt64(number))
            // The bytes of a free page have no meaning, so overwriting every eighth free page is enough.
            if bytes == page || !isUsed && number % 8 != 0 { continue }
            if !TestSettings.isLong && number > 8 && number % 2 != 0 { continue }
            try file.write(bytes, at: number * DamagedFile.pageSize)
            let defects = try file.defects()
            if isUsed {
                #expect(!defects.isEmpty, "page \(number)")
                found += 1
            }
            try file.write(page, at: number * DamagedFile.pageSize)
        }
        #expect(found >= (TestSettings.isLong ? 150 : 70))
        #expect(try file.defects() == [])
    }

    /// Single pages are replaced by older versions of themselves. An older version may be a valid page, so that `check`
    /// notices it only by the pages that it leads to, or by counts, checksums or caches that don't match. `check` may
    /// overlook an older leaf that has the same number of nodes. An older meta page need not be reported, but must not
    /// end the process.
    @Test func olderVersionsOfPagesAreReportedExceptLeavesWithTheSameNumberOfNodes() throws {
        let walk = try file.walk()
        var found = 0
        var missed: [Int] = []
        for number in 2..<min(pageCount, sample.earlier.count / DamagedFile.pageSize) {
            let (old, page) = (sample.earlier.page(number), sample.data.page(number))
            guard old != page, walk.used.contains(UInt64(number)) else { continue }
            try file.write(old, at: number * DamagedFile.pageSize)
            if try file.defects().isEmpty { missed.append(number) } else { found += 1 }
            try file.write(page, at: number * DamagedFile.pageSize)
        }
        #expect(found >= 10)
        for number in missed {
            let (old, page) = (sample.earlier.page(number), sample.data.page(number))
            #expect(old.nodeCount(ofPageAt: 0) == page.nodeCount(ofPageAt: 0), "page \(number)")
            #expect(old.flags(ofPageAt: 0) == 2 && page.flags(ofPageAt: 0) == 2, "page \(number)")
        }
        for number in 0..<2 {
            try file.write(sample.earlier.page(number), at: number * DamagedFile.pageSize)
            _ = try file.defects()
            try file.write(sample.data.page(number), at: number * DamagedFile.pageSize)
        }
    }

    /// Bytes of page headers and node headers are flipped, one at a time, on pages of every kind.
    @Test func flippedBytesOfHeadersDoNotEndTheProcess() throws {
        for number in try pagesOfEveryKind() {
            let page = sample.data.page(number)
            var offsets = Array(0..<24)
            let flags = page.flags(ofPageAt: 0)
            if flags == 8 { offsets += 24..<DamagedFile.headerLength + 136 }
            if flags == 1 || flags == 2 {
                let count = page.nodeCount(ofPageAt: 0)
                for index in Set([0, 1, count / 2, count - 1]) where index < count {
                    let node = page.node(index, ofPageAt: 0)
                    offsets += node..<min(node + 20, page.count)
                }
            }
            for offset in Set(offsets) {
                let mask: UInt8 = offset % 2 == 0 ? 0x01 : 0xFF
                try file.write([page[offset] ^ mask], at: number * DamagedFile.pageSize + offset)
                _ = try file.defects()
                try file.write([page[offset]], at: number * DamagedFile.pageSize + offset)
            }
        }
        #expect(try file.defects() == [])
    }

    /// The meta pages, both roots, and the first used page of each kind in the file.
    private func pagesOfEveryKind() throws -> Set<Int> {
        let walk = try file.walk()
        var pages: Set<Int> = [0, 1, Int(walk.meta.main.root), Int(walk.meta.freeList.root)]
        for kind in [1, 2, 4] as [UInt16] {
            let first = (2..<pageCount).first { number in
                walk.used.contains(UInt64(number)) && sample.data.page(number).flags(ofPageAt: 0) == kind
                    && sample.data.page(number).number(at: 0, as: UInt64.self) == number
            }
            if let first { pages.insert(first) }
        }
        return pages
    }
}
