import FetchIndexCountedTree
import FetchIndexModels
import FetchIndexRecords
import FetchIndexPlatform
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

/// Caches that are caught up before the changes are written.
@Suite struct PrepareTests {
    let test: TestStore
    let caches: CacheEngine

    init() throws {
        test = try TestStore(model: TestRow.model, threads: 2)
        caches = CacheEngine(test.store)
        try test.write { writer in
            var generator = SeededGenerator(seed: 31)
            for _ in 0..<2000 {
                let record = try TestRow.random(using: &generator).record()
                try writer.insert(0, record.span.bytes)
            }
        }
    }

    private func rows() throws -> [UInt64: TestRow] { try test.contents().mapValues { try TestRow($0) } }

    /// Changes of different objects: updates and deletions.
    private func randomChanges(_ count: Int, _ generator: inout SeededGenerator) throws -> [RecordChange] {
        let stored = try test.contents()
        return try stored.keys.sorted().shuffled(using: &generator).prefix(count).map { number in
            let isDeletion = Int.random(in: 0..<8, using: &generator) == 0
            return RecordChange(
                object: RecordKey(entity: 0, number: number), old: stored[number],
                new: isDeletion ? nil : try TestRow.random(using: &generator).record())
        }
    }

    /// Prepares a cache with a crew.
    private func prepare(
        _ cache: CacheRequest, for changes: [RecordChange], in snapshot: Snapshot
    ) throws -> CacheEngine.PreparedOrders {
        var prepared = CacheEngine.PreparedOrders()
        try Crew.withHelper { prepared = caches.prepare([cache], for: changes, in: snapshot, with: $0) }
        return prepared
    }

    /// Writes `changes`, and opens the cache in the same transaction. The engine takes `known` for the changes, instead
    /// of reading them from the log, unless `prepared` has the cache's new order already. Such an order is opened
    /// before its change is computed (`pending`); it then gets the change that `prepared` computes.
    private func write(
        _ changes: [RecordChange], bringing cache: CacheRequest, known: [RecordChange],
        _ prepared: CacheEngine.PreparedOrders
    ) throws -> OpenedOrder {
        let writer = try test.store.beginWrite()
        let first = writer.commit
        for change in changes {
            if let new = change.new {
                try writer.update(change.object, new.span.bytes)
            } else {
                try writer.delete(change.object)
            }
        }
        try writer.seal()
        let written = try caches.open(
            [cache], in: writer, for: .following,
            known: CacheEngine.KnownChanges(since: first, known, prepared: prepared))
        let snapshot = try writer.commitAndRead()
        var opened = try #require(written[cache.name]?.opened).reopened(in: snapshot)
        if let change = prepared.changes()[cache.name] { opened.take(change) }
        return opened
    }

    @Test(arguments: TestOrder.all) func aPreparedOrderAgreesWithTheRecords(order: TestOrder) throws {
        var generator = SeededGenerator(seed: 32)
        let cache = CacheRequest(name: "rows", order: try order.request())
        var shown = try caches.open("rows", cache.order).order.objects()
        for (round, count) in [1, 100, 300, 900, 1200].enumerated() {
            let context: Comment = "\(order), round \(round)"
            let changes = try randomChanges(count, &generator)
            let prepared = try prepare(cache, for: changes, in: test.store.snapshot())
            // The opening gets no known changes, so the right rows show that it uses the prepared order.
            let opened = try write(changes, bringing: cache, known: [], prepared)
            #expect(isEqual(try opened.order.contents(), order.sections(of: try rows())), context)
            let objects = try opened.order.objects()
            switch opened.outcome {
            case .caughtUp(let change): #expect(change.replay(on: shown) == objects, context)
            case .hit: #expect(objects == shown, context)
            case .pending, .rebuilt, .computed: Issue.record("it was not caught up: \(context)")
            }
            shown = objects
            #expect(try caches.verify("rows", cache.order) == [], context)
        }
    }

    @Test func anOrderPreparedFromAnOlderStateIsNotUsed() throws {
        var generator = SeededGenerator(seed: 33)
        let order = TestOrder(hasSections: true)
        let cache = CacheRequest(name: "rows", order: try order.request())
        _ = try caches.open("rows", cache.order)
        let stale = try prepare(cache, for: randomChanges(300, &generator), in: test.store.snapshot())
        #expect(stale.orders.count == 1)
        let others = try randomChanges(50, &generator)
        _ = try write(others, bringing: cache, known: others, CacheEngine.PreparedOrders())
        let changes = try randomChanges(300, &generator)
        let opened = try write(changes, bringing: cache, known: changes, stale)
        #expect(isEqual(try opened.order.contents(), order.sections(of: try rows())))
        #expect(try caches.verify("rows", cache.order) == [])
    }

    /// The prepared changes expect a row that doesn't exist. This is found only when the order change is computed,
    /// after the nodes were published.
    @Test(arguments: [1, 400]) func aMissingRowLeavesTheChangePendingUntilARebuild(count: Int) throws {
        var generator = SeededGenerator(seed: 35)
        let order = TestOrder(hasSections: true)
        let cache = CacheRequest(name: "rows", order: try order.request())
        _ = try caches.open("rows", cache.order)
        let changes = try randomChanges(count, &generator)
        var told = changes
        var row = TestRow(group: "g", rank: 77)
        let old = try row.record()
        row.note = 1
        told[0] = RecordChange(object: told[0].object, old: old, new: try row.record())
        let prepared = try prepare(cache, for: told, in: test.store.snapshot())
        #expect(prepared.orders.count == 1)
        let opened = try write(changes, bringing: cache, known: told, prepared)
        #expect(opened.outcome == .pending && opened.change == nil)
        #expect(prepared.changes().isEmpty)
        try caches.rebuild(cache, of: opened, limit: nil)
        let rebuilt = try caches.open("rows", cache.order)
        #expect(rebuilt.outcome == .hit)
        #expect(isEqual(try rebuilt.order.contents(), order.sections(of: try rows())))
        #expect(try caches.verify("rows", cache.order) == [])
        // The cache has been replaced since the opening, so the second rebuild does nothing.
        _ = try caches.rebuild("rows", cache.order, .requested)
        let commit = try test.store.lastTransaction()
        try caches.rebuild(cache, of: opened, limit: nil)
        #expect(try test.store.lastTransaction() == commit)
    }

    @Test func onlyCurrentCachesOfChangedEntitiesArePrepared() throws {
        var generator = SeededGenerator(seed: 34)
        let cache = CacheRequest(name: "rows", order: try TestOrder(hasSections: true).request())
        func isPrepared(_ changes: [RecordChange]) throws -> Bool {
            try !prepare(cache, for: changes, in: test.store.snapshot()).orders.isEmpty
        }
        let changes = try randomChanges(5, &generator)
        #expect(try !isPrepared(changes), "the cache does not exist yet")
        _ = try caches.open("rows", cache.order)
        #expect(try isPrepared(changes))
        let other = RecordChange(object: RecordKey(entity: 1, number: 1), old: nil, new: [])
        #expect(try !isPrepared([other]))
        try test.write { _ = try $0.delete(changes[0].object) }
        #expect(try !isPrepared(try randomChanges(5, &generator)), "the cache is behind")
    }
}
