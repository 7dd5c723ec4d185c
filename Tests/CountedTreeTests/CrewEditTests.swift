import Foundation
import Synchronization
import FetchIndexPlatform
import FetchIndexTestSupport
import Testing

@testable import FetchIndexCountedTree

/// Batches of edits that two threads may apply together.
@Suite struct CrewEditTests {
    @Test(arguments: 1...12 as ClosedRange<UInt64>, [256, 300, 4072])
    func aTreeEditedWithACrewAgreesWithASortedArray(seed: UInt64, capacity: Int) throws {
        var generator = SeededGenerator(seed: seed)
        let base = MemoryNodeStore(capacity: capacity)
        var model = SortedArray()
        var tree = CountedTree(in: base, isWeighted: seed % 2 == 0, summarizer: seed % 3 == 0 ? nil : Numbers())
        for round in 0..<4 { try applyBatch(&tree, &model, &generator, "seed \(seed), \(round)", counts: [1500]) }
        let reads = Reads()
        for round in 0..<8 {
            let fork = ForkNodeStore(over: ReadableByThreads(base, reads))
            var edited = tree.reopened(in: fork)
            try Crew.withHelper { crew in
                try applyBatch(
                    &edited, &model, &generator, "seed \(seed), round \(round)", counts: [300, 1000, 4000], with: crew)
            }
            try fork.publish(to: base)
            tree = edited.reopened(in: base)
            #expect(try tree.contents() == model, "seed \(seed), round \(round)")
            #expect(tree.check() == [], "seed \(seed), round \(round)")
        }
        #expect(capacity > 300 || reads.offers > 0, "seed \(seed): no work was shared")
        for key in model.keys { try tree.remove(key) }
        #expect(base.nodeCount == 0, "seed \(seed): nodes are left behind")
    }

    /// The store fails after a number of reads. The edit throws the store's error, and the base is unchanged.
    @Test(arguments: [0, 1, 7, 40, 200]) func anEditWithACrewThrowsTheErrorOfTheStore(readsBeforeFailure: Int) throws {
        var generator = SeededGenerator(seed: 5)
        let base = MemoryNodeStore(capacity: 256)
        var model = SortedArray()
        var tree = CountedTree(in: base)
        try applyBatch(&tree, &model, &generator, "seed 5", counts: [3000])
        let reads = Reads(before: readsBeforeFailure)
        let edits = model.keys.map { TreeEdit($0, .remove) }
        try Crew.withHelper { crew in
            var edited = tree.reopened(in: ForkNodeStore(over: ReadableByThreads(base, reads)))
            #expect(throws: Reads.Failure.self) { try edited.apply(edits, with: crew) }
        }
        #expect(try tree.contents() == model)
    }
}

/// Counts reads and fails after a given number of them. Also counts requests for a store for another thread.
private final class Reads: Sendable {
    struct Failure: Error {}

    private let left: Atomic<Int>
    private let asked = Atomic(0)

    init(before failure: Int = .max) { left = Atomic(failure) }

    var offers: Int { asked.load(ordering: .relaxed) }

    func noteRead() throws {
        if left.subtract(1, ordering: .relaxed).newValue < 0 { throw Failure() }
        // Yields, so that the helper can get a part of the work: the calling thread alone might be quick enough to do
        // all of it.
        sched_yield()
    }

    func noteOffer() { asked.add(1, ordering: .relaxed) }
}

/// A node store that two threads may read, because its base isn't written meanwhile.
private final class ReadableByThreads: NodeStore {
    private let base: MemoryNodeStore
    private let reads: Reads

    init(_ base: MemoryNodeStore, _ reads: Reads) {
        self.base = base
        self.reads = reads
    }

    var capacity: Int { base.capacity }
    var nextNode: NodeNumber { base.nextNode }

    func read(_ node: NodeNumber, _ body: (RawSpan) throws -> Void) throws {
        try reads.noteRead()
        try base.read(node, body)
    }

    func another() -> (any NodeStore)? {
        reads.noteOffer()
        return ReadableByThreads(base, reads)
    }

    func write(_ node: NodeNumber, _ bytes: consuming [UInt8]) { preconditionFailure("A fork wrote to its base.") }
    func allocate() -> NodeNumber { preconditionFailure("A fork wrote to its base.") }
    func free(_ node: NodeNumber) { preconditionFailure("A fork wrote to its base.") }
}
