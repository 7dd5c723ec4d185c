import FetchIndexPlatform
import FetchIndexTestSupport
import Testing

@testable import FetchIndexCountedTree

@Suite struct TreeBuilderTests {
    @Test(arguments: [0, 1, 2, 5, 40, 300, 5000]) func aBuiltTreeHoldsItsEntriesAndTheirSummaries(count: Int) throws {
        var generator = SeededGenerator(seed: UInt64(count))
        var model = SortedArray()
        let keys = Set((0..<count).map { _ in randomKey(using: &generator) + randomKey(using: &generator) })
        for key in keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            model.keys.append(key)
            model.weights.append(Int.random(in: 1...5, using: &generator))
            model.numbers.append(UInt32.random(in: 0...(.max), using: &generator))
        }
        let store = MemoryNodeStore(capacity: 256)
        var builder = TreeBuilder(in: store, isWeighted: true, summarizer: Numbers())
        for (index, key) in model.keys.enumerated() {
            let summary = Numbers.summary(of: [model.numbers[index]])
            try builder.append(key.span.bytes, weight: model.weights[index], summary: summary.span.bytes)
        }
        var tree = try builder.finish()
        #expect(tree.check() == [])
        #expect(try tree.summary(ofRanks: 0..<tree.count) == Numbers.summary(of: model.numbers))
        #expect(try tree.contents() == model)
        for key in model.keys { try tree.remove(key) }
        #expect(store.nodeCount == 0)
    }

    /// Keys of the greatest length that a cell stores whole, and keys that are a byte shorter or longer.
    @Test func keysAtTheLengthLimitOfACellAreStored() throws {
        let store = MemoryNodeStore(capacity: 256)
        let form = CellForm(isWeighted: false, maximumSummary: nil)
        let longest = NodeLayout.maximumInlineKey(capacity: store.capacity, form)
        var generator = SeededGenerator(seed: 16)
        let keys = (0..<200).map { number in
            let first = [UInt8(number)] + (1..<longest - 1).map { _ in UInt8.random(in: 0...3, using: &generator) }
            return first + [UInt8](repeating: 9, count: number % 3)
        }
        var builder = TreeBuilder(in: store)
        for key in keys { try builder.append(key.span.bytes) }
        let tree = try builder.finish()
        #expect(tree.check() == [])
        #expect(try tree.contents().keys == keys)
    }

    /// Short and long keys follow each other. After each number of keys in turn, adds a key that isn't greater than the
    /// last one.
    @Test func aTreeBuilderThrowsOnKeysOutOfOrder() throws {
        var generator = SeededGenerator(seed: 17)
        let longest = NodeLayout.maximumInlineKey(capacity: 256, CellForm(isWeighted: false, maximumSummary: nil))
        let keys = (0..<120).map { number in
            let length = Bool.random(using: &generator) ? Int.random(in: 1...6, using: &generator) : longest + 3
            return [UInt8(number / 2)] + [UInt8](repeating: UInt8(number % 2), count: length)
        }
        for end in keys.indices.dropFirst() {
            let last = keys[end - 1]
            let wrong = [
                last, Array(last.dropLast()), Array(last.prefix(longest)), [], keys[0],
                last.dropLast() + [UInt8](repeating: 0, count: 90),
            ]
            for key in wrong where !last.lexicographicallyPrecedes(key) {
                var builder = TreeBuilder(in: MemoryNodeStore(capacity: 256))
                for key in keys[..<end] { try builder.append(key.span.bytes) }
                #expect(throws: TreeError.corrupted(node: 0, "its keys do not ascend"), "\(last) \(key)") {
                    try builder.append(key.span.bytes)
                }
            }
            var builder = TreeBuilder(in: MemoryNodeStore(capacity: 256))
            let right = keys[..<end] + [last + [0]]
            for key in right { try builder.append(key.span.bytes) }
            let tree = try builder.finish()
            #expect(tree.check() == [])
            #expect(try tree.contents().keys == Array(right))
        }
    }

    /// The summary is longer than a node.
    @Test func addingAnEntryWithATooLongSummaryThrows() throws {
        var builder = TreeBuilder(in: MemoryNodeStore(capacity: 256), summarizer: Numbers())
        let summary = [UInt8](repeating: 0, count: 300)
        #expect(throws: TreeError.self) { try builder.append([1].span.bytes, summary: summary.span.bytes) }
    }

    @Test func keysInsertedInOrderLeaveFilledNodes() throws {
        let built = MemoryNodeStore(), inserted = MemoryNodeStore()
        var builder = TreeBuilder(in: built)
        var tree = CountedTree(in: inserted)
        for number in 0..<20_000 {
            let key = withUnsafeBytes(of: UInt64(number).bigEndian) { [UInt8]($0) }
            try builder.append(key.span.bytes)
            try tree.insert(key)
        }
        _ = try builder.finish()
        // All but the last two bytes of the keys are the same.
        #expect(built.nodeCount <= 20_000 * 5 / 4060 + 2)
        #expect(inserted.nodeCount <= built.nodeCount + 3)
    }

    /// One key without the common beginning adds at most three nodes: the other keys stay compressed.
    @Test(arguments: [0, 255] as [UInt8]) func aKeyWithoutTheCommonPrefixAddsFewNodes(other: UInt8) throws {
        let store = MemoryNodeStore()
        var tree = CountedTree(in: store)
        let common = [UInt8](repeating: 97, count: 900)
        for number in 0..<600 { try tree.insert(common + [UInt8(number / 256), UInt8(number % 256)]) }
        let before = store.nodeCount
        try tree.insert([other])
        #expect(tree.check() == [])
        #expect(store.nodeCount <= before + 3)
    }

    /// Keys share long beginnings. Their nodes take less than half of the keys' bytes, whether keys are appended,
    /// inserted, or removed and inserted again.
    @Test func keysWithCommonBeginningsTakeLessThanHalfTheirBytes() throws {
        var generator = SeededGenerator(seed: 15)
        let keys = (0..<6000).map { pathKey($0, length: 92) }
        let keyBytes = keys.reduce(0) { $0 + $1.count }
        let built = MemoryNodeStore(), inserted = MemoryNodeStore()
        var builder = TreeBuilder(in: built)
        for key in keys { try builder.append(key.span.bytes) }
        var tree = try builder.finish()
        #expect(built.nodeCount * 4096 < keyBytes / 3)
        var other = CountedTree(in: inserted)
        let shuffled = keys.shuffled(using: &generator)
        for key in shuffled { try other.insert(key) }
        #expect(inserted.nodeCount * 4096 < keyBytes / 2)
        for key in shuffled.prefix(3000) { for _ in 0..<2 { try tree.remove(key) } }
        for key in shuffled.prefix(3000) { try tree.insert(key) }
        #expect(built.nodeCount * 4096 < keyBytes / 2)
        for tree in [tree, other] {
            #expect(tree.check() == [])
            #expect(try tree.contents().keys == keys)
        }
    }

    /// Summaries are so long that two cells nearly fill a node. The level of the tree stays low, because two cells fit.
    @Test func twoCellsOfTheGreatestLengthFitIntoANode() throws {
        var built = CountedTree(in: MemoryNodeStore(capacity: 256), isWeighted: true, summarizer: Wide())
        var builder = TreeBuilder(in: MemoryNodeStore(capacity: 256), isWeighted: true, summarizer: Wide())
        let summary = [UInt8](repeating: 1, count: Wide.length)
        let keys = (0..<60).map { pathKey($0 * 7, length: 60) }
        for key in keys {
            try builder.append(key.span.bytes, summary: summary.span.bytes)
            try built.apply([TreeEdit(key, .insert(), summary: summary)])
        }
        for tree in [try builder.finish(), built] {
            #expect(tree.check() == [])
            #expect(try tree.contents().keys == keys)
            #expect(tree.root.level < 8)
        }
    }

    /// Summaries that all have the same bytes.
    private struct Wide: Summarizer {
        static let length = 85

        final class Sum: RunningSummary {
            func add(_ summary: RawSpan) {}
            func remove(_ summary: RawSpan) -> Bool { true }
            func take() -> [UInt8] { [UInt8](repeating: 1, count: Wide.length) }
        }

        var maximumLength: Int { Self.length }
        func begin() -> any RunningSummary { Sum() }
    }

    /// After a removal, later keys have other bases, so a leaf may need more bytes and be split. The number of nodes
    /// may grow by less than half.
    @Test(arguments: ["names", "paths", "titles"]) func removingATenthOfTheKeysIncreasesTheNodesByLessThanHalf(
        shape: String
    ) throws {
        var generator = SeededGenerator(seed: 7)
        let keys = (0..<20_000).map { number -> [UInt8] in
            switch shape {
            case "names": Array("Smith, Anna\0".utf8) + withUnsafeBytes(of: UInt64(number * 3).bigEndian) { Array($0) }
            case "paths": pathKey(number, length: 60)
            default: Array("a title of a book, number \(100_000 + number / 3)\0\(number % 3)".utf8)
            }
        }
        let store = MemoryNodeStore()
        var builder = TreeBuilder(in: store)
        for key in keys { try builder.append(key.span.bytes) }
        var tree = try builder.finish()
        let built = store.nodeCount
        for key in keys.shuffled(using: &generator).prefix(2000) { try tree.remove(key) }
        #expect(tree.check() == [])
        #expect(store.nodeCount < built * 3 / 2, "\(built) nodes became \(store.nodeCount)")
    }

    @Test func sparseNodesAreMerged() throws {
        var generator = SeededGenerator(seed: 8)
        let keys = (0..<20_000).map { pathKey($0, length: 60) }
        let store = MemoryNodeStore()
        var builder = TreeBuilder(in: store)
        for key in keys { try builder.append(key.span.bytes) }
        var tree = try builder.finish()
        let built = store.nodeCount
        for key in keys.shuffled(using: &generator).dropFirst(1000) { try tree.remove(key) }
        #expect(tree.check() == [] && tree.count == 1000)
        #expect(store.nodeCount < built / 2, "\(built) nodes became \(store.nodeCount)")
    }
}
