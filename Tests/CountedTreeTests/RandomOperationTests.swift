import FetchIndexPlatform
import FetchIndexTestSupport
import Testing

@testable import FetchIndexCountedTree

private enum Operation: CaseIterable {
    case insert, remove, setWeight, batch, select, selectByWeight, rank, walk, sum
}

/// Random operations on a tree and on a sorted array, with the same results.
@Suite struct RandomOperationTests {
    static let seeds: [UInt64] = Array(1...6)

    @Test(arguments: seeds, [256, 300, 4072]) func aTreeInMemoryAgreesWithASortedArray(seed: UInt64, capacity: Int)
        throws
    {
        let store = MemoryNodeStore(capacity: capacity)
        var model = SortedArray()
        var tree = CountedTree(in: store, isWeighted: seed % 2 == 0, summarizer: seed % 3 == 0 ? nil : Numbers())
        try run(&tree, &model, seed: seed, steps: 1500, growth: 0.7)
        try run(&tree, &model, seed: seed + 100, steps: 2500, growth: 0.25)
        for key in model.keys { try tree.remove(key) }
        #expect(tree.count == 0)
        #expect(store.nodeCount == 0, "seed \(seed): nodes are left behind")
    }

    @Test(arguments: seeds) func aForkOverAForkAgreesWithASortedArrayAndLeavesItsBaseUnchanged(seed: UInt64) throws {
        let base = MemoryNodeStore(capacity: 256)
        var model = SortedArray()
        var tree = CountedTree(in: base, isWeighted: true, summarizer: seed % 2 == 0 ? nil : Numbers())
        try run(&tree, &model, seed: seed, steps: 400, growth: 0.8)

        let fork = ForkNodeStore(over: base)
        var forkModel = model
        var forkTree = tree.reopened(in: fork)
        try run(&forkTree, &forkModel, seed: seed + 1, steps: 400, growth: 0.5)

        let upper = ForkNodeStore(over: fork)
        var upperModel = forkModel
        var upperTree = forkTree.reopened(in: upper)
        try run(&upperTree, &upperModel, seed: seed + 2, steps: 400, growth: 0.3)

        #expect(try tree.contents() == model)
        #expect(try forkTree.contents() == forkModel)
        #expect(tree.check().isEmpty)
        #expect(forkTree.check().isEmpty)

        upper.publish(to: fork)
        #expect(try upperTree.reopened(in: fork).contents() == upperModel)
        let copy = MemoryNodeStore(capacity: 256)
        for node in 1..<base.nextNode { try? base.read(node) { copy.write(node, [UInt8](copying: $0)) } }
        try fork.publish(to: copy)
        let published = upperTree.reopened(in: copy)
        #expect(published.check().isEmpty)
        #expect(try published.contents() == upperModel)
    }

    @Test(arguments: seeds) func aFailedEditInAForkLeavesTheBaseIntact(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let base = MemoryNodeStore(capacity: 256)
        var model = SortedArray()
        var tree = CountedTree(in: base)
        try run(&tree, &model, seed: seed, steps: 300, growth: 0.8)
        for failure in 0..<60 {
            let store = FailingNodeStore(over: base, callsBeforeFailure: failure)
            var forked = tree.reopened(in: store)
            let key = randomKey(using: &generator)
            do {
                try forked.insert(key)
                try forked.remove(key)
            } catch is FailingNodeStore.Failure {}
            #expect(tree.check().isEmpty)
        }
        #expect(try tree.contents() == model)
    }

    private func run(
        _ tree: inout CountedTree, _ model: inout SortedArray, seed: UInt64, steps: Int, growth: Double
    ) throws {
        var generator = SeededGenerator(seed: seed)
        for step in 0..<steps {
            let key =
                Bool.random(using: &generator) || model.keys.isEmpty
                ? randomKey(using: &generator) : model.keys.randomElement(using: &generator) ?? []
            var operation = Operation.allCases.randomElement(using: &generator) ?? .rank
            if Bool.random(using: &generator) {
                operation = Double.random(in: 0..<1, using: &generator) < growth ? .insert : .remove
            }
            let context: Comment = "seed \(seed), step \(step), \(operation) of \(key.count) bytes"
            try apply(operation, key, &tree, &model, &generator, context)
            #expect(tree.count == model.keys.count, context)
            #expect(tree.weight == model.weights.reduce(0, +), context)
            if step % 10 == 0 { #expect(tree.check() == [], context) }
        }
        #expect(try tree.contents() == model, "seed \(seed)")
        #expect(tree.check() == [], "seed \(seed)")
    }

    private func apply(
        _ operation: Operation, _ key: [UInt8], _ tree: inout CountedTree, _ model: inout SortedArray,
        _ generator: inout SeededGenerator, _ context: Comment
    ) throws {
        let isWeighted = tree.root.isWeighted
        let expected = model.rank(of: key)
        switch operation {
        case .insert:
            let weight = isWeighted ? Int.random(in: 0...9, using: &generator) : 1
            let number = randomNumber(for: tree, &generator)
            let edit = TreeEdit(key, .insert(weight: weight), summary: summary(of: number, for: tree))
            let outcome = try !tree.apply([edit])[0].wasPresent
            #expect(outcome == model.insert(key, weight: weight, number: number), context)
        case .remove:
            let outcome = try tree.remove(key)
            #expect(outcome == (model.remove(key) != nil), context)
        case .setWeight where isWeighted && tree.summarizer == nil:
            let isSet = try tree.apply([TreeEdit(key, .update(weight: 33))])[0].wasPresent
            #expect(isSet == expected.isPresent, context)
            if expected.isPresent { model.weights[expected.rank] = 33 }
        case .sum:
            let bounds = (0..<2).map { _ in Int.random(in: 0...model.keys.count, using: &generator) }
            let range = min(bounds[0], bounds[1])..<max(bounds[0], bounds[1])
            let sum = tree.summarizer == nil ? [] : Numbers.summary(of: model.numbers[range])
            #expect(try tree.summary(ofRanks: range) == sum, context)
        case .batch: try applyBatch(&tree, &model, &generator, context)
        case .rank, .setWeight:
            let rank = try tree.rank(of: key.span.bytes)
            #expect(rank.before.count == expected.rank, context)
            #expect(rank.isPresent == expected.isPresent, context)
            #expect(rank.before.weight == model.weights.prefix(expected.rank).reduce(0, +), context)
            let prefix = try tree.prefix(before: key.span.bytes)
            let sum = tree.summarizer == nil ? [] : Numbers.summary(of: model.numbers[..<expected.rank])
            #expect(prefix.count == expected.rank && prefix.summary == sum, context)
        case .select:
            guard !model.keys.isEmpty else { return }
            let rank = Int.random(in: 0..<model.keys.count, using: &generator)
            try tree.entry(at: rank) { entry, _ in
                #expect([UInt8](copying: entry.key) == model.keys[rank] && entry.weight == model.weights[rank], context)
            }
        case .selectByWeight:
            guard tree.weight > 0 else { return }
            let weight = Int.random(in: 0..<tree.weight, using: &generator)
            try tree.entry(atWeight: weight) { entry, before in
                #expect([UInt8](copying: entry.key) == model.keys[before.count], context)
                #expect(before.weight <= weight, context)
                #expect(weight < before.weight + entry.weight, context)
            }
        case .walk:
            let rank = Int.random(in: -1...model.keys.count, using: &generator)
            let isInside = model.keys.indices.contains(rank)
            let forward = try tree.contents(from: rank)
            #expect(forward.keys == (isInside ? Array(model.keys[rank...]) : []), context)
            let backward = try tree.contents(from: rank, .backward)
            #expect(backward.keys == (isInside ? model.keys[...rank].reversed() : []), context)
        }
    }
}

/// A node store whose calls fail after a given number of them.
final class FailingNodeStore: NodeStore {
    struct Failure: Error {}

    private let fork: ForkNodeStore
    private var callsLeft: Int

    init(over base: any NodeStore, callsBeforeFailure: Int) {
        fork = ForkNodeStore(over: base)
        callsLeft = callsBeforeFailure
    }

    var capacity: Int { fork.capacity }
    var nextNode: NodeNumber { fork.nextNode }

    private func count() throws {
        if callsLeft == 0 { throw Failure() }
        callsLeft -= 1
    }

    func read(_ node: NodeNumber, _ body: (RawSpan) throws -> Void) throws {
        try count()
        try fork.read(node, body)
    }

    func write(_ node: NodeNumber, _ bytes: consuming [UInt8]) throws {
        try count()
        fork.write(node, bytes)
    }

    func allocate() throws -> NodeNumber {
        try count()
        return fork.allocate()
    }

    func free(_ node: NodeNumber) throws {
        try count()
        fork.free(node)
    }
}
