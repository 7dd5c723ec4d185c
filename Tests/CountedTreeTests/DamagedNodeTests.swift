import FetchIndexPlatform
import FetchIndexTestSupport
import Testing

@testable import FetchIndexCountedTree

@Suite struct DamagedNodeTests {
    /// One byte of one node at a time has its highest and lowest bit flipped, for all bytes of all nodes. Operations
    /// return or throw, and don't trap.
    @Test(arguments: [false, true]) func operationsOnNodesWithFlippedBitsDoNotTrap(hasSummaries: Bool) throws {
        var generator = SeededGenerator(seed: 9)
        let store = MemoryNodeStore(capacity: 256)
        var tree = CountedTree(in: store, isWeighted: true, summarizer: hasSummaries ? Numbers() : nil)
        var keys: [[UInt8]] = []
        let summary = hasSummaries ? Numbers.summary(of: [700]) : []
        for _ in 0..<60 {
            let key = randomKey(using: &generator, longest: 400)
            keys.append(key)
            try tree.apply([TreeEdit(key, .insert(weight: 2), summary: summary)])
        }
        var defectsFound = 0
        for node in 1..<store.nextNode {
            var bytes: [UInt8] = []
            try? store.read(node) { bytes = [UInt8](copying: $0) }
            for offset in bytes.indices {
                let fork = ForkNodeStore(over: store)
                var damaged = bytes
                damaged[offset] ^= 0x81
                fork.write(node, damaged)
                var forked = tree.reopened(in: fork)
                if !forked.check().isEmpty { defectsFound += 1 }
                _ = forked.dump()
                _ = try? forked.contents()
                for key in keys.prefix(8) {
                    _ = try? forked.rank(of: key.span.bytes)
                    _ = try? forked.apply([TreeEdit(key, .update(weight: 5), summary: summary)])
                    _ = try? forked.remove(key)
                    _ = try? forked.apply([TreeEdit(key, .insert(weight: 2), summary: summary)])
                }
                for rank in stride(from: 0, to: max(0, forked.count), by: 7) {
                    _ = try? forked.entry(at: rank) { _, _ in }
                    _ = try? forked.summary(ofRanks: rank / 2..<rank)
                }
            }
        }
        #expect(defectsFound > 300)
    }

    @Test func theCheckReportsTruncatedNodes() throws {
        let store = MemoryNodeStore(capacity: 256)
        var tree = CountedTree(in: store)
        for number in UInt8(0)...200 { try tree.insert([number, 1, 2, 3]) }
        for node in 1..<store.nextNode {
            var bytes: [UInt8] = []
            try? store.read(node) { bytes = [UInt8](copying: $0) }
            for length in 0..<bytes.count {
                let fork = ForkNodeStore(over: store)
                fork.write(node, [UInt8](bytes.prefix(length)))
                #expect(!tree.reopened(in: fork).check().isEmpty, "node \(node), length \(length)")
            }
        }
    }

    /// Both children of each branch are the same node, so that 41 nodes look like 2^40 leaves. Operations must not
    /// visit them all.
    @Test(arguments: [1, 0] as [UInt8]) func aTreeWithRepeatedChildrenIsReportedAsDamaged(count: UInt8) {
        let store = MemoryNodeStore(capacity: 256)
        store.write(1, [1, 0, 1, 0, 2, 0, 0, 97])
        for level in UInt8(1)...40 {
            let counted = level == 1 ? count : 1
            let cell = [level, 0, 0, 0, 0, 0, 0, 0, counted, 0, 0, 0, 0, 0, 0, 0, 0]
            store.write(NodeNumber(level) + 1, [2, level, 2, 0, 17, 0, 34, 0] + cell + cell)
        }
        let root = TreeRoot(node: 41, level: 40, measure: Measure(count: 3, weight: 3), isWeighted: false)
        let tree = CountedTree(in: store, root: root)
        #expect(tree.dump().contains("node 1 again"))
        #expect(!tree.check().isEmpty)
        #expect(throws: TreeError.self) { try tree.contents() }
        #expect(throws: TreeError.self) { try tree.contents(from: 2, .backward) }
    }

    /// A damaged branch has a separator that is longer than a node. Splits would move it up to ever higher levels if
    /// the edit didn't throw.
    @Test func insertingBelowABranchWithATooLongSeparatorThrows() throws {
        let store = MemoryNodeStore(capacity: 256)
        var tree = CountedTree(in: store)
        for number in UInt8(0)..<50 { try tree.insert([number, 97]) }
        store.write(2, [1, 0, 1, 0, 2, 0, 0, 99])
        var cells: [UInt8] = []
        for (child, count) in [(1, 50), (2, 1)] as [(UInt64, UInt64)] {
            cells.appendNumber(child)
            cells.appendNumber(count)
            cells.append(0)
        }
        store.write(3, [2, 1, 2, 0, 17, 0, 78, 1] + cells + repeatElement(98, count: 300))
        let measure = Measure(count: 51, weight: 51)
        var damaged = CountedTree(in: store, root: TreeRoot(node: 3, level: 1, measure: measure, isWeighted: false))
        #expect(throws: TreeError.self) { try damaged.insert([70, 97]) }
    }

    @Test func theDumpShowsTheRootAndAnEntryOfATree() throws {
        var tree = CountedTree(in: MemoryNodeStore(capacity: 256), isWeighted: true)
        for letter in "abcdefghijklmnopqrstuvwxyz".utf8 {
            try tree.insert([letter, 0], weight: Int(letter))
        }
        let dump = tree.dump()
        #expect(dump.hasPrefix("tree of 26 entries, weight 2847\n  branch"))
        #expect(dump.contains("a\\00 weight 97"))
    }
}
