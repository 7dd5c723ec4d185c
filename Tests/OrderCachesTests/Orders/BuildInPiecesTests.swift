import FetchIndexModels
import FetchIndexCountedTree
import Foundation
import FetchIndexRecords
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexOrderCaches

/// Builds in several transactions, between which other writers can change the store.
@Suite struct BuildInPiecesTests {
    let test: TestStore
    let caches: CacheEngine
    let order = TestOrder(hasSections: true)

    init() throws {
        test = try TestStore(model: TestRow.model)
        caches = CacheEngine(test.store)
        var generator = SeededGenerator(seed: 71)
        let records = try (0..<20_000).map { _ in try TestRow.random(using: &generator, ranks: 100_000).record() }
        try test.write { writer in for record in records { try writer.insert(0, record.span.bytes) } }
    }

    private func request(progress: @escaping (Int, Int) -> Void = { _, _ in }) throws -> OrderRequest {
        var request = try order.request()
        request.builder.memoryBudget = 0
        request.builder.progress = progress
        return request
    }

    private func expectRight(_ opened: TestOpened, _ comment: Comment = "") throws {
        let rows = try test.contents().mapValues { try TestRow($0) }
        #expect(isEqual(try opened.order.contents(), order.sections(of: rows)), comment)
        #expect(try caches.verify("rows", request()) == [], comment)
        #expect(try CacheDirectory.strayCaches(in: test.store.snapshot()) == [], comment)
        #expect(try test.store.snapshot().markedBuild() == nil, comment)
    }

    private func insert(_ row: TestRow) throws {
        let record = try row.record()
        try test.write { try $0.insert(0, record.span.bytes) }
    }

    @Test func aBuildInManyTransactionsGivesTheCorrectOrder() throws {
        let opened = try caches.open("rows", request())
        #expect(opened.outcome == .rebuilt(.first))
        try expectRight(opened)
        for _ in 0..<3 { try expectRight(caches.rebuild("rows", request(), .requested)) }
        #expect(try caches.open("rows", request()).outcome == .hit)
        // Cache numbers of earlier builds are used again.
        #expect(try CacheDirectory.number(of: "rows", in: test.store.snapshot()).map { $0 <= 2 } == true)
    }

    @Test func writersAreNotBlockedWhileACacheIsBuilt() throws {
        var written = 0
        let opened = try caches.open(
            "rows",
            request { _, _ in
                do { try insert(TestRow(group: "g\(written)", rank: 7)) } catch { Issue.record(error) }
                written += 1
            })
        // Only the first thread reports progress. If the other threads are quicker, it may report only the end.
        #expect(written > 0)
        #expect(opened.outcome == .rebuilt(.first))
        try expectRight(opened)
        #expect(try caches.open("rows", request()).outcome == .hit)
    }

    @Test func anEntityAddedDuringABuildDoesNotStopIt() throws {
        var isDone = false
        let other = Model(entities: [Entity("Third", [AttributeDescription("a", .integer)])])
        let opened = try caches.open(
            "rows",
            request { _, _ in
                if isDone { return }
                isDone = true
                do { _ = try Store(at: test.path, model: other) } catch { Issue.record(error) }
            })
        #expect(isDone)
        try expectRight(opened)
    }

    @Test func aCacheBuiltDuringAnotherBuildOfTheSameThreadIsNotStored() throws {
        var outcome: OrderOutcome<RecordKey>?
        let opened = try caches.open(
            "rows",
            request { _, _ in
                if outcome != nil { return }
                do { outcome = try caches.open("other", order.request()).outcome } catch { Issue.record(error) }
            })
        #expect(outcome == .rebuilt(.first))
        try expectRight(opened)
        #expect(try CacheDirectory.names(in: test.store.snapshot()) == ["rows"])
    }

    @Test func simultaneousOpeningsBuildOrHitTheCache() async throws {
        let store = test.store
        let outcomes = await withTaskGroup(of: String.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    do {
                        var request = try TestOrder(hasSections: true).request()
                        request.builder.memoryBudget = 0
                        return "\(try CacheEngine(store).open("rows", request).outcome)"
                    } catch {
                        return "\(error)"
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.filter { $0 == "\(OrderOutcome<RecordKey>.rebuilt(.first))" }.count >= 1)
        #expect(
            outcomes.allSatisfy { $0 == "hit" || $0 == "\(OrderOutcome<RecordKey>.rebuilt(.first))" }, "\(outcomes)")
        try expectRight(caches.open("rows", request()))
    }

    /// The nodes of an unfinished build, such as a killed process leaves, are not reported as damage.
    @Test func theNextBuildRemovesTheNodesOfAnUnfinishedBuild() throws {
        let pieces = PieceNodeStore(test.store, pieceLength: 1 << 16)
        _ = try request().builder.build(from: try test.store.snapshot(), in: pieces)
        let left = try #require(try test.store.snapshot().markedBuild())
        #expect(try LMDBNodeStore.inspectNodes(of: left, in: test.store.snapshot()).count > 10)
        #expect(try CacheDirectory.strayCaches(in: test.store.snapshot()) == [])
        #expect(try test.store.snapshot().check() == [])

        // This build writes its nodes in one transaction.
        _ = try caches.open("small", order.request())
        #expect(try test.store.snapshot().markedBuild() == nil)
        let numbers = try LMDBNodeStore.caches(in: test.store.snapshot())
        #expect(numbers == [try CacheDirectory.number(of: "small", in: test.store.snapshot())])
        try expectRight(caches.open("rows", request()))
    }

    @Test func aBuildFailsIfItsMarkWasRemoved() throws {
        let pieces = PieceNodeStore(test.store, pieceLength: 1 << 16)
        let order = try request().builder.build(from: try test.store.snapshot(), in: pieces)
        try test.write { try $0.markBuild(nil) }
        #expect(order.rowCount > 0)
        #expect(throws: DamagedOrder.self) { try test.write { _ = try pieces.finish(in: $0) } }
    }

    /// After a build that fails, and after a build that is discarded, openings give the right order, and nothing of
    /// these builds is left.
    @Test func openingsAreRightAfterAFailedAndADiscardedBuild() throws {
        _ = try caches.open("rows", request())
        let shape = try OrderShape(hasSections: true)
        var failing = try request()
        failing.builder = OrderBuilder(entity: 0, shape: shape, dependencies: [0]) { _ in FailingPlacer() }
        #expect(throws: FailingPlacer.Failed.self) { try caches.rebuild("rows", failing, .requested) }
        try expectRight(caches.open("rows", request()))

        let pieces = PieceNodeStore(test.store, pieceLength: 1 << 16)
        _ = try request().builder.build(from: try test.store.snapshot(), in: pieces)
        try pieces.discard()
        try expectRight(caches.open("rows", request()))
    }

    private final class FailingPlacer: RowPlacer {
        struct Failed: Error {}

        func copy() -> any RowPlacer { self }
        func keepRecords(of block: inout RecordBlock, within bound: [UInt8]) {}

        func place(
            _ object: RecordKey, _ record: RawSpan, in state: (any RecordState)?, _ placement: inout RowPlacement
        ) throws -> Bool { throw Failed() }
        func keepMembers(of block: inout RecordBlock) throws { throw Failed() }
        func placeMember(_ record: RawSpan, _ placement: inout RowPlacement) throws { throw Failed() }
    }

    @Test func aBuildFailsAndLeavesNoCacheIfItsEntityIsDroppedMeanwhile() throws {
        var isDropped = false
        let request = try request { _, _ in
            if isDropped { return }
            isDropped = true
            do { try test.write { try $0.dropEntity(0) } } catch { Issue.record(error) }
        }
        #expect(throws: StoreError.unknownEntity("Row")) { try caches.open("rows", request) }
        #expect(isDropped)
        #expect(try CacheDirectory.names(in: test.store.snapshot()) == [])
        #expect(try LMDBNodeStore.caches(in: test.store.snapshot()) == [])
        #expect(throws: StoreError.unknownEntity("Row")) { try caches.open("rows", request) }
    }

    /// More rows are inserted during the build than the maximum with which a cache is caught up. Catching up would
    /// block other writers for too long, so the build starts again.
    @Test func aBuildStartsAgainIfTooMuchHasChanged() throws {
        let more = try TestRow(group: "g", rank: 1).record()
        var calls = 0
        let opened = try caches.open(
            "rows",
            request { done, total in
                calls += done == total ? 1 : 0
                guard calls == 1, done == total else { return }
                do {
                    try test.write { writer in for _ in 0..<26_000 { try writer.insert(0, more.span.bytes) } }
                } catch { Issue.record(error) }
            })
        #expect(calls == 2)
        try expectRight(opened)
    }

    /// Writers during the build must keep the log since its beginning, although no cache needs it.
    @Test func aBuildKeepsTheLogSinceItsBeginning() throws {
        _ = try caches.open("other", order.request())
        var isHeld = false
        let opened = try caches.open(
            "rows",
            request { _, _ in
                do {
                    isHeld = isHeld || test.store.commitBeingBuilt() == 1
                    try insert(TestRow(group: "g", rank: 7))
                    let writer = try test.store.beginWrite()
                    _ = try caches.open(
                        CacheRequest(name: "other", order: order.request()), in: writer, for: .following)
                    try writer.commit()
                    #expect(try test.store.snapshot().logReaches(back: 1))
                } catch { Issue.record(error) }
            })
        #expect(isHeld)
        try expectRight(opened)
        #expect(test.store.commitBeingBuilt() == nil)
    }
}
