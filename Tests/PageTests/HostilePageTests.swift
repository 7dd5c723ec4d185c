@testable import FetchIndexLMDB
import FetchIndexRecords
import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Pages are forged, or damaged at random. The page walk must end, and report the forgeries.
@Suite struct HostilePageTests {
    let data: [UInt8]

    init() throws { data = try SampleStore.shared.get().data }

    private var meta: MetaPage { get throws { try DamagedFile(data).walk().meta } }

    /// The defects that `check` finds after bytes of the file were changed.
    private func defects(
        isUnreadable: Bool = false, isChecked: Bool = false, _ change: (inout [UInt8]) throws -> Void
    ) throws -> [String] {
        var changed = data
        try change(&changed)
        let defects = try DamagedFile(changed).defects()
        // Values are not read if pages cannot be. A file that cannot be opened has one defect.
        let isUnchecked = defects.last == "the contents of the pages were not checked, because pages are damaged"
        #expect(isUnchecked == !(isUnreadable || isChecked), "\(defects)")
        #expect(!isUnreadable || defects.count == 1, "\(defects)")
        return defects
    }

    private func has(_ defects: [String], _ words: String) -> Bool { defects.contains { $0.contains(words) } }

    /// The offset of a page's node.
    private func node(_ index: Int, of page: Int) -> Int { data.node(index, ofPageAt: page * DamagedFile.pageSize) }

    /// The number of the first used page of a kind, found by its header.
    private func page(_ kind: UInt16, where isWanted: (Int) -> Bool = { _ in true }) throws -> Int {
        let used = try DamagedFile(data).walk().used
        let page = (2..<data.count / DamagedFile.pageSize).first { number in
            used.contains(UInt64(number)) && data.number(at: number * DamagedFile.pageSize, as: UInt64.self) == number
                && data.flags(ofPageAt: number * DamagedFile.pageSize) == kind && isWanted(number)
        }
        return try #require(page)
    }

    /// The offset of a table's record in the main tree, which is one leaf.
    private func record(of name: String) throws -> Int {
        let root = try Int(meta.main.root)
        for index in 0..<6 {
            let start = node(index, of: root)
            let length = Int(data.number(at: start + 6, as: UInt16.self))
            if Array(data[start + 8..<start + 8 + length]) == PageLayout.linked.key(ofTable: name) {
                return start + 8 + PageLayout.linked.storedKeyLength(length)
            }
        }
        throw DataFileError.damaged("table \(name) is missing")
    }

    @Test func branchesInACycleAreReported() throws {
        let branch = try page(1)
        let defects = try defects { data in
            for index in 0..<2 { data.set(UInt32(branch), at: node(index, of: branch)) }
        }
        #expect(has(defects, "page \(branch): it is used twice"))
    }

    @Test func aTreeWhoseStatedDepthIsWrongIsReported() throws {
        let offset = try record(of: "records") + 6
        let depth = data.number(at: offset, as: UInt16.self)
        for lie in [depth - 1, depth + 1, 33, 65535] as [UInt16] {
            #expect(!(try defects { $0.set(lie, at: offset) }.isEmpty), "depth \(lie)")
        }
        #expect(has(try defects { $0.set(0 as UInt16, at: offset) }, "depth 0"))
    }

    @Test func anOverflowRunThatIsEmptyOrExtendsPastTheEndIsReported() throws {
        let head = try page(4) * DamagedFile.pageSize
        for count in [UInt32.max, UInt32(data.count / DamagedFile.pageSize), 0] {
            #expect(!(try defects { $0.set(count, at: head + DamagedFile.headerLength - 4) }.isEmpty), "\(count) pages")
        }
    }

    /// Many values lead to the same run of overflow pages. The walk reports each further value at the run's first page,
    /// without walking over the run again, which could take hours in a large file.
    @Test func eachFurtherValueThatLeadsToAnOverflowRunIsReportedOnce() throws {
        let added = 5000
        let long = try longValues()
        try #require(long.count > 20)
        let head = data.count / DamagedFile.pageSize
        var changed = data + [UInt8](repeating: 0, count: (added + 1) * DamagedFile.pageSize)
        changed.set(UInt64(head), at: head * DamagedFile.pageSize)
        changed.set(4 as UInt16, at: head * DamagedFile.pageSize + DamagedFile.headerLength - 6)
        changed.set(UInt32(added), at: head * DamagedFile.pageSize + DamagedFile.headerLength - 4)
        for page in 0..<2 {
            changed.set(UInt64(head + added), at: page * DamagedFile.pageSize + DamagedFile.headerLength + 120)
        }
        for node in long {
            changed.set(UInt64(head), at: node)
            if PageLayout.linked == .version3 {
                changed.set(UInt64(0), at: node + 8)
                changed.set(UInt64(added), at: node + 16)
            }
        }
        let walk = try DamagedFile(changed).walk()
        let twice = walk.report.defects.filter { $0.contains("it is used twice") }
        #expect(twice.count == long.count - 1)
        #expect(twice.allSatisfy { $0.hasPrefix("page \(head): ") })
    }

    /// The offsets of the references of all values on overflow pages.
    private func longValues() throws -> [Int] {
        let used = try DamagedFile(data).walk().used
        return (2..<data.count / DamagedFile.pageSize).flatMap { number -> [Int] in
            let start = number * DamagedFile.pageSize
            guard used.contains(UInt64(number)), data.number(at: start, as: UInt64.self) == number,
                data.flags(ofPageAt: start) == 2
            else { return [] }
            return (0..<data.nodeCount(ofPageAt: start)).filter { isLong($0, of: number) }.map { index in
                let node = self.node(index, of: number)
                return node + 8
                    + PageLayout.linked.storedKeyLength(Int(data.number(at: node + 6, as: UInt16.self)))
            }
        }
    }

    @Test func aValueLongerThanItsOverflowRunIsReported() throws {
        let walk = try DamagedFile(data).walk()
        let leaf = try page(2) { number in
            (0..<4).contains { self.isLong($0, of: number) } && walk.used.contains(UInt64(number))
        }
        let index = try #require((0..<4).first { isLong($0, of: leaf) })
        #expect(
            has(try defects { $0.set(UInt32.max, at: node(index, of: leaf)) }, "overflow pages for 4294967295 bytes"))
    }

    private func isLong(_ index: Int, of page: Int) -> Bool {
        index < data.nodeCount(ofPageAt: page * DamagedFile.pageSize)
            && data.number(at: node(index, of: page) + 4, as: UInt16.self) == 1
    }

    @Test func nodesOutsideTheirPageOrOverlappingAreReported() throws {
        let leaf = try page(2)
        let pointers = leaf * DamagedFile.pageSize + DamagedFile.headerLength
        for offset in [65535, 65534, 4096, 4090, 0, 17] as [UInt16] {
            let place = PageLayout.linked.base + Int(offset)
            #expect(has(try defects { $0.set(offset, at: pointers) }, "has node 0 at the invalid offset \(place)"))
        }
        let second = data.number(at: pointers + 2, as: UInt16.self)
        #expect(has(try defects { $0.set(second, at: pointers) }, "overlap"))
        #expect(has(try defects { $0.set(UInt16.max, at: node(0, of: leaf) + 6) }, "extends past its end"))
    }

    @Test func keysOutOfOrderOrOutsideTheirBranchAreReported() throws {
        let branch = try page(1)
        let child = Int(data.number(at: node(1, of: branch), as: UInt32.self))
        // Two nodes of a leaf change places.
        let pointers = child * DamagedFile.pageSize + DamagedFile.headerLength
        let defects = try defects { data in
            let (first, second) = (
                data.number(at: pointers, as: UInt16.self), data.number(at: pointers + 2, as: UInt16.self)
            )
            data.set(second, at: pointers)
            data.set(first, at: pointers + 2)
        }
        #expect(has(defects, "out of order"))
        // A branch's two children change places.
        let swapped = try self.defects { data in
            let (first, second) = (node(0, of: branch), node(1, of: branch))
            let number = data.number(at: first, as: UInt32.self)
            data.set(data.number(at: second, as: UInt32.self), at: first)
            data.set(number, at: second)
        }
        #expect(has(swapped, "above its parent's bounds"))
        #expect(has(swapped, "below its parent's bounds"))
    }

    @Test func aFreeListWithUsedRepeatedOrMissingPagesIsReported() throws {
        let root = try Int(meta.freeList.root)
        let start = node(0, of: root)
        #expect(data.number(at: start + 4, as: UInt16.self) == 0, "the first list is in its leaf")
        let list = start + 16
        let count = data.number(at: list, as: UInt64.self)
        try #require(count >= 1)
        let branch = try page(1)
        #expect(has(try defects { $0.set(UInt64(branch), at: list + 8) }, "page \(branch): it is used"))
        #expect(has(try defects { $0.set(UInt64.max, at: list + 8) }, "the free list names it"))
        #expect(has(try defects(isChecked: true) { $0.set(count - 1, at: list) }, "neither used nor free"))
        #expect(has(try defects { $0.set(UInt64.max, at: list) }, "has a page list that counts"))
        let last = node(data.nodeCount(ofPageAt: root * DamagedFile.pageSize) - 1, of: root)
        #expect(has(try defects { $0.set(UInt64.max, at: last + 8) }, "later than the checked state"))
        if count >= 2 {
            let first = data.number(at: list + 8, as: UInt64.self)
            #expect(has(try defects { $0.set(first, at: list + 16) }, "twice"))
        }
    }

    /// Statistics of a store read the free list through LMDB, without the page walk.
    @Test func statisticsOfAStoreWithAForgedFreeListThrow() throws {
        let list = try node(0, of: Int(meta.freeList.root)) + 16
        for count in [UInt64.max, UInt64(Int.max), 1 << 20] {
            var changed = data
            changed.set(count, at: list)
            let file = try DamagedFile(changed)
            let container = try SampleStore.open(file.folder.path, ignoringPageChecksums: true)
            #expect(throws: StoreError.self, "\(count) pages") { try container.store.environmentInformation() }
        }
    }

    @Test func aTableRecordOfWrongLengthNameOrKindIsReported() throws {
        let start = try record(of: "nodes")
        let key = PageLayout.linked.key(ofTable: "nodes")
        let header = start - 8 - key.count
        #expect(has(try defects { $0.set(47 as UInt32, at: header) }, "does not hold a table"))
        #expect(has(try defects { $0.set(0 as UInt16, at: header + 4) }, "does not hold a table"))
        #expect(has(try defects { $0[header + 8 + 4] = UInt8(ascii: "z") }, "table \"nodes\" is missing"))
        #expect(has(try defects { $0.set(0 as UInt16, at: start + 4) }, "the wrong kind of keys"))
        #expect(has(try defects { $0.set(4 as UInt16, at: start + 4) }, "flags"))
        #expect(has(try defects { $0.set(UInt64.max, at: start + 32) }, "counts \(UInt64.max) entries"))
        #expect(has(try defects { $0.set(UInt64.max, at: start + 40) }, "has a depth, but no root"))
        #expect(has(try defects { $0.set(1 as UInt64, at: start + 40) }, "at page 1"))
    }

    /// Up to 30 bytes at random places are changed together.
    @Test func randomDamageDoesNotEndTheProcess() throws {
        var generator = SeededGenerator(seed: 3)
        var found = 0
        for _ in 0..<150 {
            var changed = data
            for _ in 0..<Int.random(in: 1...30, using: &generator) {
                let page = Int.random(in: 0..<data.count / DamagedFile.pageSize, using: &generator)
                let offset =
                    Bool.random(using: &generator)
                    ? Int.random(in: 0..<200, using: &generator)
                    : Int.random(in: 0..<DamagedFile.pageSize, using: &generator)
                changed[page * DamagedFile.pageSize + offset] = .random(in: 0...255, using: &generator)
            }
            if try !DamagedFile(changed).defects().isEmpty { found += 1 }
        }
        #expect(found > 75)
    }
}
