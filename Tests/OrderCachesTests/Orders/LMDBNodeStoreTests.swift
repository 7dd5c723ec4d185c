import FetchIndexLMDB
import FetchIndexPlatform
import FetchIndexCountedTree
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

/// Trees in a store's nodes table: random operations compared with a sorted array, in transactions, with small and
/// large nodes and some long keys.
@Suite struct LMDBNodeStoreTests {
    @Test(arguments: [1, 2, 3] as [UInt64], [256, 4076]) func aTreeInAStoreAgreesWithASortedArray(
        seed: UInt64, capacity: Int
    ) throws {
        var generator = SeededGenerator(seed: seed)
        let test = try TestStore(model: TestRow.model)
        var model: [[UInt8]] = []
        var root = TreeRoot(isWeighted: false)
        var nextNode: NodeNumber = 1
        for transaction in 0..<12 {
            try test.write { writer in
                let nodes = LMDBNodeStore(writingIn: writer, cache: 7, nextNode: nextNode, capacity: capacity)
                // Every other transaction works in a fork and publishes it.
                let fork = ForkNodeStore(over: nodes)
                var tree = CountedTree(in: transaction % 2 == 0 ? nodes : fork, root: root)
                for _ in 0..<120 { try change(&tree, &model, growth: transaction < 7 ? 0.7 : 0.2, &generator) }
                if transaction % 2 == 1 { try fork.publish(to: nodes) }
                root = tree.root
                nextNode = tree.store.nextNode
            }
            let snapshot = try test.store.snapshot()
            let nodes = LMDBNodeStore(in: snapshot, cache: 7, nextNode: nextNode, capacity: capacity)
            let tree = CountedTree(in: nodes, root: root)
            var visited: Set<NodeNumber> = []
            let context: Comment = "seed \(seed), transaction \(transaction)"
            #expect(tree.check(visiting: &visited) == [], context)
            #expect(try LMDBNodeStore.inspectNodes(of: 7, in: snapshot, reachable: visited).defects == [], context)
            var keys: [[UInt8]] = []
            try tree.walk(from: 0) { entry in
                keys.append([UInt8](copying: entry.key))
                return true
            }
            #expect(keys == model, context)
            for (rank, key) in model.enumerated() {
                let found = try tree.rank(of: key.span.bytes)
                #expect(found.isPresent, context)
                #expect(found.before.count == rank, context)
            }
        }
    }

    private func change(
        _ tree: inout CountedTree, _ model: inout [[UInt8]], growth: Double, _ generator: inout SeededGenerator
    ) throws {
        let isLong = Int.random(in: 0..<15, using: &generator) == 0
        let length = Int.random(in: 0...(isLong ? 6000 : 5), using: &generator)
        let new = (0..<length).map { _ in UInt8.random(in: 97...100, using: &generator) }
        let isInsert = Double.random(in: 0..<1, using: &generator) < growth
        let key = isInsert ? new : model.randomElement(using: &generator) ?? new
        let rank = model.firstIndex { !$0.lexicographicallyPrecedes(key) } ?? model.count
        let isPresent = rank < model.count && model[rank] == key
        if isInsert {
            #expect(try tree.insert(key) == !isPresent)
            if !isPresent { model.insert(key, at: rank) }
        } else {
            #expect(try tree.remove(key) == isPresent)
            if isPresent { model.remove(at: rank) }
        }
    }

    /// If a node has an overflow page of its own, a change of another node doesn't write it.
    @Test func aNodeThatIsAtLeastAQuarterFullHasItsOwnPage() throws {
        let test = try TestStore(model: TestRow.model)
        guard try test.store.environment.information().pageSize == 4096 else { return }
        func node(keyLength: Int, _ nodes: LMDBNodeStore) throws -> [UInt8] {
            var tree = CountedTree(in: nodes)
            for letter in [98, 97] as [UInt8] { try tree.insert([UInt8](repeating: letter, count: keyLength)) }
            #expect(tree.count == 2)
            #expect(tree.check() == [])
            var bytes: [UInt8] = []
            try nodes.read(tree.root.node) { bytes = [UInt8](copying: $0) }
            return bytes
        }
        try test.write { writer in
            let nodes = LMDBNodeStore(writingIn: writer, cache: 1, nextNode: 1)
            #expect(try node(keyLength: 450, nodes).count == 910)
            #expect(try writer.view.statistics(of: writer.tables.nodes).overflowPages == 0)
            let filled = try node(keyLength: 600, nodes)
            #expect(filled[9..<609].allSatisfy { $0 == 97 } && filled[610..<1210].allSatisfy { $0 == 98 })
            #expect(filled.count > 2000 && filled[1210...].allSatisfy { $0 == 0 })
            #expect(try writer.view.statistics(of: writer.tables.nodes).overflowPages == 1)
        }
    }

    @Test func damagedNodesAndNumbersOutOfRangeThrow() throws {
        let test = try TestStore(model: TestRow.model)
        try test.write { writer in
            let nodes = LMDBNodeStore(writingIn: writer, cache: 1, nextNode: 1)
            try nodes.write(nodes.allocate(), [1, 2, 3])
        }
        let snapshot = try test.store.snapshot()
        let nodes = LMDBNodeStore(in: snapshot, cache: 1, nextNode: 2)
        try nodes.read(1) { #expect([UInt8](copying: $0) == [1, 2, 3]) }
        for node: NodeNumber in [0, 2, 1 << 40 | 1, .max] {
            #expect(throws: TreeError.self) { try nodes.read(node) { _ in } }
        }
        try test.write { writer in
            let flipped: [UInt8] = [1, 2, 4, 0, 0, 0, 0]
            try writer.view.put(flipped.span.bytes, for: LMDBNodeStore.key(1, 1), in: writer.tables.nodes)
        }
        let writer = try test.store.beginWrite()
        let later = LMDBNodeStore(writingIn: writer, cache: 1, nextNode: 2)
        #expect(throws: TreeError.self) { try later.read(1) { _ in } }
    }
}
