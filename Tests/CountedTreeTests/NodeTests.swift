import FetchIndexPlatform
import FetchIndexTestSupport
import Testing

@testable import FetchIndexCountedTree

/// Operations on single nodes, some of them damaged.
@Suite struct NodeTests {
    private static let capacity = 4072
    static let seeds: [UInt64] = Array(1...4)

    /// Sorted keys of one shape.
    enum Keys: CaseIterable {
        case random, oneByte, likeDigits
        /// Most shared lengths are around 255, where a length begins to take three bytes.
        case longAlike
        /// Most keys are too long for their cells, and share all bytes that are in the cells.
        case overflowing

        func make(_ count: Int, using generator: inout SeededGenerator) -> [[UInt8]] {
            let keys = (0..<count).map { number -> [UInt8] in
                switch self {
                case .random: randomKey(using: &generator)
                case .oneByte: [UInt8(truncatingIfNeeded: number)]
                case .likeDigits: Array(String(number * 37).utf8)
                case .longAlike:
                    [UInt8](repeating: 97, count: Int.random(in: 250...260, using: &generator))
                        + [UInt8.random(in: 96...98, using: &generator), UInt8(truncatingIfNeeded: number)]
                case .overflowing:
                    [UInt8](repeating: 97, count: Int.random(in: 970...1100, using: &generator))
                        + [UInt8.random(in: 96...98, using: &generator), UInt8(truncatingIfNeeded: number)]
                }
            }
            return Set(keys).sorted { $0.lexicographicallyPrecedes($1) }
        }
    }

    /// Makes a node of the first keys, as many as fit. Returns these keys and the node's bytes.
    private func node(
        _ keys: [[UInt8]], level: Int, _ form: CellForm, in store: MemoryNodeStore
    ) throws -> (keys: [[UInt8]], bytes: [UInt8]) {
        var writer = NodeWriter(level: level, form)
        var held: [[UInt8]] = []
        for key in (level == 0 ? [] : [[]]) + keys {
            let stored = try store.storedForm(of: key.span.bytes, form)
            if writer.byteCount(adding: stored, summaryLength: 0) > store.capacity { break }
            if level == 0 {
                writer.appendLeafCell(stored, weight: held.count + 1, RawSpan())
            } else {
                writer.appendBranchCell(child: 1, Measure(count: 1, weight: 1), RawSpan(), stored)
            }
            held.append(key)
        }
        #expect(writer.byteCount <= store.capacity)
        return (held, writer.node())
    }

    @Test(arguments: Keys.allCases, seeds) func sharedLengthsAreTheCommonPrefixesWithTheBaseKeys(
        _ shape: Keys, seed: UInt64
    ) {
        var generator = SeededGenerator(seed: seed)
        let keys = shape.make(300, using: &generator)
        var shared = SharedLengths()
        func common(_ first: Int, _ second: Int) -> Int {
            zip(keys[first], keys[second]).prefix { $0 == $1 }.count
        }
        for number in keys.indices {
            let before = number == 0 ? 0 : common(number - 1, number)
            let expected = number == 0 ? 0 : common(number & (number - 1), number)
            #expect(shared.next(before) == expected, "key \(number), seed \(seed)")
            #expect(shared.append(before) == expected)
        }
        let lengths = keys.indices.map { $0 == 0 ? 0 : common($0 & ($0 - 1), $0) }
        for count in keys.indices where count > 0 {
            let continued = SharedLengths(count: count) { lengths[$0] }
            #expect(continued.next(common(count - 1, count)) == lengths[count], "key \(count), seed \(seed)")
        }
    }

    @Test(arguments: Keys.allCases, seeds) func aSearchAgreesWithAScanOfAllKeys(_ shape: Keys, seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for level in [0, 1] {
            let store = MemoryNodeStore(capacity: Self.capacity)
            let tree = CountedTree(in: store)
            let form = CellForm(isWeighted: false, maximumSummary: nil)
            let all = shape.make(Int.random(in: 1...400, using: &generator), using: &generator)
            let (keys, bytes) = try node(all, level: level, form, in: store)
            let view = try NodeView(bytes.span.bytes, node: 1, level: level, form)
            #expect(view.bytes.byteCount == bytes.count && view.slotCount == keys.count)
            var wanted = all + [[], [255, 255]]
            for key in all {
                wanted += [key + [0], key.dropLast(), key.dropLast() + [98], key + [120]].map { Array($0) }
            }
            for key in wanted where level == 0 || !key.isEmpty {
                let last = keys.lastIndex { !key.lexicographicallyPrecedes($0) } ?? -1
                let found = try tree.lastSlot(upTo: key.span.bytes, in: view)
                #expect(found.slot == last, "level \(level), seed \(seed), \(key)")
                #expect(found.isEqual == (last >= 0 && keys[last] == key), "level \(level), seed \(seed), \(key)")
            }
            var read: [UInt8] = []
            for slot in keys.indices {
                try tree.withWholeKey(at: slot, of: view) { #expect([UInt8](copying: $0) == keys[slot]) }
                let cell = try view.cell(at: slot)
                try view.advance(&read, to: cell)
                #expect(try read == view.inlineKey(of: cell))
            }
            for first in [0, keys.count / 2, keys.count] where level == 0 {
                var slot = first
                try view.forEachKey(from: first) { cell, key in
                    let expected = try view.inlineKey(of: cell)
                    #expect(cell.slot == slot && [UInt8](copying: key) == expected)
                    slot += 1
                    return slot - first < 40
                }
                #expect(slot == min(first + 40, keys.count))
            }
        }
    }

    /// `NodeView.replacing` copies old cells; a `NodeWriter` assembles all cells anew. Both make the same bytes.
    @Test(arguments: Keys.allCases, seeds) func aLeafWithReplacedCellsEqualsANewlyWrittenLeaf(
        _ shape: Keys, seed: UInt64
    )
        throws
    {
        var generator = SeededGenerator(seed: seed)
        let store = MemoryNodeStore(capacity: Self.capacity)
        let buffer = LeafBuffer()
        var changed = 0
        for round in 0..<60 {
            let form = CellForm(isWeighted: round % 2 == 0, maximumSummary: round % 3 == 0 ? 10 : nil)
            let all = shape.make(Int.random(in: 1...200, using: &generator), using: &generator)
            let (old, bytes) = try node(
                all.filter { _ in Bool.random(using: &generator) }, level: 0, form, in: store)
            if old.isEmpty { continue }
            let isLargeBatch = round % 4 == 0
            var changes: [CellChange] = []
            for key in all where isLargeBatch || Int.random(in: 0..<40, using: &generator) == 0 {
                let slot = old.firstIndex { !$0.lexicographicallyPrecedes(key) } ?? old.count
                let isPresent = slot < old.count && old[slot] == key
                let drops = isPresent && Bool.random(using: &generator)
                if isPresent && !drops { continue }
                let isUpdate = drops && Bool.random(using: &generator)
                let stored = drops && !isUpdate ? nil : try store.storedForm(of: key.span.bytes, form)
                let summaryLength = form.hasSummaries ? Int.random(in: 0...10, using: &generator) : 0
                let summary = [UInt8](repeating: 7, count: summaryLength)
                changes.append(CellChange(slot: slot, drops: drops, key: stored, weight: 9, summary: summary))
            }
            let view = try NodeView(bytes.span.bytes, node: 1, level: 0, form)
            var writer = NodeWriter(level: 0, form)
            try writer.append(view, changes)
            let fits = writer.slotCount > 0 && writer.byteCount <= Self.capacity && !changes.isEmpty
            let result = try view.replacing(changes, capacity: Self.capacity, in: buffer)
            #expect(result == (fits ? writer.node() : nil), "round \(round), seed \(seed)")
            if result != nil { changed += 1 }
        }
        #expect(changed > 5)
    }

    @Test(arguments: Keys.allCases, seeds) func cellsAreDividedIntoNodesThatFit(_ shape: Keys, seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let store = MemoryNodeStore(capacity: Self.capacity)
        let form = CellForm(isWeighted: false, maximumSummary: nil)
        for level in [0, 1] {
            let keys = shape.make(Int.random(in: 1...2000, using: &generator), using: &generator)
            var writer = NodeWriter(level: level, form)
            for key in keys {
                let stored = try store.storedForm(of: key.span.bytes, form)
                if level == 0 {
                    writer.appendLeafCell(stored, weight: 1, RawSpan())
                } else {
                    writer.appendBranchCell(child: 1, Measure(count: 1, weight: 1), RawSpan(), stored)
                }
            }
            for fillsNodes in [false, true] {
                let cuts = writer.cuts(capacity: Self.capacity, fillsNodes: fillsNodes)
                #expect(cuts.flatMap { Array($0.slots) } == Array(0..<writer.slotCount))
                for cut in cuts {
                    let bytes = writer.node(cut)
                    let node = try NodeView(bytes.span.bytes, node: 1, level: level, form)
                    #expect(node.bytes.byteCount == cut.byteCount && cut.byteCount <= Self.capacity)
                    for slot in cut.slots {
                        let isLeftOut = level > 0 && slot == cut.slots.lowerBound
                        let expected = isLeftOut ? .empty : writer.storedKey(at: slot)
                        let stored = try node.storedKey(at: slot - cut.slots.lowerBound)
                        #expect(stored.bytes == expected.bytes && stored.isLong == expected.isLong)
                    }
                }
                // All nodes except the last one are more than two thirds full if `fillsNodes`; otherwise their lengths
                // differ by less than half a node.
                let sizes = cuts.dropLast().map(\.byteCount)
                if fillsNodes {
                    let filled = NodeLayout.filledLength(behind: 2, capacity: Self.capacity)
                    #expect(sizes.allSatisfy { $0 <= filled && $0 > filled - Self.capacity / 4 })
                } else if let least = sizes.min(), let most = sizes.max() {
                    #expect(most - least < Self.capacity / 2, "\(cuts.map(\.byteCount))")
                }
            }
        }
    }

    /// A search doesn't find a key whose shared length is too small. The check reports it.
    @Test func theCheckReportsATooSmallSharedLength() throws {
        let store = MemoryNodeStore(capacity: 256)
        for (shared, rest) in [(1, [98]), (0, [97, 98])] as [(UInt8, [UInt8])] {
            let cells: [UInt8] = [0, 97] + [shared] + rest
            store.write(1, [1, 0, 2, 0, 2, 0, UInt8(cells.count), 0] + cells)
            let root = TreeRoot(node: 1, measure: Measure(count: 2, weight: 2), isWeighted: false)
            let tree = CountedTree(in: store, root: root)
            #expect(tree.check().count == (shared == 1 ? 0 : 1))
            let key: [UInt8] = [97, 98]
            #expect(try tree.rank(of: key.span.bytes).isPresent == (shared == 1))
        }
    }

    /// Searches require that a node has the same number of bytes of each long key.
    @Test func theCheckReportsALongKeyWithTooFewBytesInItsCell() throws {
        let store = MemoryNodeStore(capacity: 256)
        var tree = CountedTree(in: store)
        try tree.insert([UInt8](repeating: 97, count: 300))
        #expect(tree.check() == [])
        var bytes: [UInt8] = []
        try store.read(tree.root.node) { bytes = [UInt8](copying: $0) }
        // Moves the end of the cell, and removes the last byte of its key in the cell.
        bytes[4] -= 1
        bytes.remove(at: bytes.count - NodeLayout.longKeyReferenceLength - 1)
        store.write(tree.root.node, bytes)
        #expect(!tree.check().isEmpty)
    }

    /// The key of the leaf is longer than a node may be.
    @Test func insertingIntoALeafWithAnOversizedKeyThrows() {
        let store = MemoryNodeStore(capacity: 256)
        store.write(1, [1, 0, 1, 0, 0x2D, 1, 0] + [UInt8](repeating: 97, count: 300))
        let root = TreeRoot(node: 1, measure: Measure(count: 1, weight: 1), isWeighted: false)
        for key in [[98], [96]] as [[UInt8]] {
            var tree = CountedTree(in: ForkNodeStore(over: store), root: root)
            #expect(throws: TreeError.self) { try tree.insert(key) }
        }
    }

    /// The second cell's shared length is truncated, greater than the first key's length, or valid.
    @Test func aTruncatedOrTooGreatSharedLengthThrows() throws {
        let form = CellForm(isWeighted: false, maximumSummary: nil)
        for last in [[255], [255, 1], [255, 255, 255], [255, 1, 0], [1, 98]] as [[UInt8]] {
            let cells: [UInt8] = [0, 97] + last
            let bytes: [UInt8] = [1, 0, 2, 0, 2, 0, UInt8(cells.count), 0] + cells
            let node = try NodeView(bytes.span.bytes, node: 1, level: 0, form)
            let key = Result { try node.inlineKey(of: try node.cell(at: 1)) }
            #expect((try? key.get()) == (last == [1, 98] ? [97, 98] : last == [255, 1, 0] ? [97] : nil), "\(last)")
        }
    }

    /// The last cell claims to share more bytes with an earlier key than that key has.
    @Test func aWalkThrowsOnATooLargeSharedLength() {
        let store = MemoryNodeStore(capacity: 256)
        let root = TreeRoot(node: 1, measure: Measure(count: 3, weight: 3), isWeighted: false)
        for last in [[2, 99], [200, 99], [255, 200, 1, 99]] as [[UInt8]] {
            let cells: [UInt8] = [0, 97, 0, 98] + last
            store.write(1, [1, 0, 3, 0, 2, 0, 4, 0, UInt8(cells.count), 0] + cells)
            let tree = CountedTree(in: store, root: root)
            for first in 0..<3 {
                var seen = 0
                #expect(throws: TreeError.self) {
                    try tree.walk(from: first) { _ in
                        seen += 1
                        return true
                    }
                }
                #expect(seen == 2 - first)
            }
        }
    }
}
