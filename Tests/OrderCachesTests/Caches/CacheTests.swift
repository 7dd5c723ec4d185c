import FetchIndexModels
import FetchIndexLMDB
import FetchIndexCountedTree
import Foundation
import FetchIndexRecords
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexOrderCaches

@Suite struct CacheTests {
    let test: TestStore
    let caches: CacheEngine

    init() throws {
        test = try TestStore(model: TestRow.model)
        caches = CacheEngine(test.store)
    }

    func rows() throws -> [UInt64: TestRow] { try test.contents().mapValues { try TestRow($0) } }

    @discardableResult
    func insert(_ rows: TestRow...) throws -> UInt64 {
        try test.write { writer in
            for row in rows {
                let record = try row.record()
                try writer.insert(0, record.span.bytes)
            }
        }
    }

    func update(_ number: UInt64, _ row: TestRow) throws {
        let record = try row.record()
        try test.write { try $0.update(RecordKey(entity: 0, number: number), record.span.bytes) }
    }

    /// Opens a cache between random commits. Each opening must give the rows that sorting and grouping all records
    /// gives, and its change must lead to them from the rows of the last opening.
    @Test(arguments: TestOrder.all) func aCacheFollowsTheStoreExactly(order: TestOrder) throws {
        var generator = SeededGenerator(seed: 21)
        let request = try order.request()
        var shown: [[RecordKey]] = []
        for round in 0..<40 {
            for _ in 0..<Int.random(in: 0...2, using: &generator) { try randomCommit(&generator) }
            let opened = try caches.open("rows", request)
            let context: Comment = "\(order), round \(round), \(opened.outcome)"
            #expect(isEqual(try opened.order.contents(), order.sections(of: try rows())), context)
            let objects = try opened.order.objects()
            try checkRanges(of: opened.order, as: order, &generator, context)
            switch opened.outcome {
            case .hit: #expect(objects == shown, context)
            case .caughtUp(let change): #expect(change.replay(on: shown) == objects && !change.isEmpty, context)
            case .rebuilt(let reason): #expect(reason == .first && round == 0, context)
            case .pending, .computed: Issue.record(context)
            }
            shown = objects
            #expect(try caches.verify("rows", request) == [], context)
        }
    }

    /// Compares the aggregates of random ranges of rows, and of the sections of windows, with those of the records.
    private func checkRanges(
        of opened: SectionedOrder, as order: TestOrder, _ generator: inout SeededGenerator, _ context: Comment
    ) throws {
        let all = try rows()
        let shown = try opened.contents().flatMap(\.rows).compactMap { all[$0] }
        for _ in 0..<4 {
            let bounds = (0..<2).map { _ in Int.random(in: 0...shown.count, using: &generator) }.sorted()
            let range = bounds[0]..<bounds[1]
            #expect(try opened.sums(opened.summary(ofRows: range)) == order.sums(of: Array(shown[range])), context)
            let window = try OrderWindow(opened, offset: range.lowerBound, limit: range.count)
            var next = range.lowerBound
            try window.walkSections { section in
                let own = Array(shown[next..<next + section.count])
                let sums = try opened.sums(section.summary)
                #expect(sums == order.sums(of: own), context)
                next += section.count
                return true
            }
            #expect(throws: (any Error).self) { try opened.summary(ofRows: 0..<shown.count + 1) }
        }
    }

    func randomCommit(_ generator: inout SeededGenerator) throws {
        try test.write { writer in
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let row = TestRow.random(using: &generator)
                let record = try row.record()
                let object = RecordKey(entity: 0, number: .random(in: 1...20, using: &generator))
                if try writer.record(object, { _ in }) {
                    if Bool.random(using: &generator) {
                        try writer.update(object, record.span.bytes)
                    } else {
                        try writer.delete(object)
                    }
                } else {
                    try writer.insert(0, record.span.bytes)
                }
            }
        }
    }

    @Test func anOpeningReportsAHitACatchUpOrARebuild() throws {
        let request = try TestOrder(hasSections: true).request()
        try insert(TestRow(group: "a", rank: 1), TestRow(group: "b", rank: 2))
        #expect(try caches.open("n", request).outcome == .rebuilt(.first))
        #expect(try caches.open("n", request).outcome == .hit)
        try test.write { writer in
            let other = try TestRow.model.entities[1].record(["x"])
            try writer.insert(1, other.span.bytes)
        }
        #expect(try caches.open("n", request).outcome == .hit, "another entity's changes do not touch it")
        try update(1, TestRow(group: "a", rank: 1, note: 5))
        var expected = OrderChange<RecordKey>()
        expected.rows = [
            .update(
                RecordKey(entity: 0, number: 1), from: RowPath(section: 0, row: 0),
                to: RowPath(section: 0, row: 0))
        ]
        #expect(try caches.open("n", request).outcome == .caughtUp(expected))
        try insert(TestRow(group: "z", rank: 0, isMember: false))
        #expect(try caches.open("n", request).outcome == .hit, "a row outside of the predicate changes nothing")
        #expect(try caches.facts(in: test.store.snapshot()).first?.hits == 2)
    }

    @Test func aChangedPartOfTheFingerprintGivesItsRebuildReason() throws {
        let request = try TestOrder(hasSections: true).request()
        try insert(TestRow(group: "a", rank: 1))
        let changes: [(WritableKeyPath<CacheIdentity, String>, RebuildReason)] = [
            (\.reads, .modelChanged), (\.predicate, .predicateChanged), (\.sort, .sortChanged),
            (\.section, .sectionKeyChanged), (\.collation, .collationChanged), (\.entity, .modelChanged),
        ]
        for (part, reason) in changes {
            var identity = request.identity
            // The stored order reads fewer attributes, all of which still exist.
            identity[keyPath: part] = part == \.reads ? "0:6" : identity[keyPath: part] + " changed"
            let changed = OrderRequest(builder: request.builder, identity: identity)
            #expect(try caches.open("n", changed).outcome == .rebuilt(part == changes[0].0 ? .first : reason))
            #expect(try caches.open("n", changed).outcome == .hit)
            #expect(try caches.open("n", request).outcome == .rebuilt(reason))
        }
    }

    @Test func aTrimmedLogOrTooManyChangesRebuildTheCache() throws {
        let request = try TestOrder(hasSections: true).request()
        try insert(TestRow(group: "a", rank: 1))
        _ = try caches.open("n", request)
        try insert(TestRow(group: "b", rank: 1))
        try test.write { try $0.trimLog(through: 2) }
        #expect(try caches.open("n", request).outcome == .rebuilt(.logTooShort))
        try test.write { writer in
            let record = try TestRow(group: "c", rank: 3).record()
            for _ in 0..<14_000 { try writer.insert(0, record.span.bytes) }
        }
        #expect(try caches.open("n", request).outcome == .rebuilt(.tooManyChanges))
    }

    @Test func theLogIsKeptForTheCacheThatIsFurthestBehind() throws {
        let request = try TestOrder(hasSections: true).request()
        try insert(TestRow(group: "a", rank: 1))
        _ = try caches.open("slow", request)
        _ = try caches.open("quick", request)
        for rank in 2...5 {
            try insert(TestRow(group: "a", rank: Int64(rank)))
            _ = try caches.open("quick", request)
        }
        #expect(try test.store.snapshot().state.logStart == 1)
        #expect(try caches.directory.delete("slow") == 1)
        #expect(try test.store.snapshot().state.logStart == 5)
        #expect(try caches.directory.delete(nil) == 1)
        #expect(try caches.directory.delete("n") == 0)
        let snapshot = try test.store.snapshot()
        #expect(try snapshot.view.statistics(of: snapshot.tables.nodes).entries == 0)
    }

    @Test func aHitOfACacheWithAnOldCommitLetsTheLogBeTrimmed() throws {
        let request = try TestOrder(hasSections: true).request()
        try insert(TestRow(group: "a", rank: 1))
        _ = try caches.open("n", request)
        let other = try TestRow.model.entities[1].record(["x"])
        for _ in 0..<70 { try test.write { try $0.insert(1, other.span.bytes) } }
        #expect(try caches.open("n", request).outcome == .hit)
        #expect(try test.store.snapshot().state.logStart == 71)
    }

    @Test func anOpeningThatCatchesUpDoesNotWaitForAWriter() throws {
        let order = TestOrder(hasSections: true)
        let request = try order.request()
        try insert(TestRow(group: "a", rank: 1))
        _ = try caches.open("n", request)
        try insert(TestRow(group: "b", rank: 0))
        let writer = try test.store.beginWrite()
        let opened = try caches.open("n", request)
        guard case .caughtUp(let change) = opened.outcome else {
            Issue.record("\(opened.outcome)")
            return
        }
        #expect(change.sections == [.insert(to: 0, name: "b")])
        #expect(isEqual(try opened.order.contents(), order.sections(of: try rows())))
        try writer.commit()
        #expect(try caches.open("n", request).outcome == .caughtUp(change), "the cache itself was not changed")
    }

    @Test func anOpeningWhileTheSameStoreObjectWritesStoresNoCache() throws {
        let request = try TestOrder(hasSections: true).request()
        try insert(TestRow(group: "a", rank: 1))
        let writer = try test.store.beginWrite()
        #expect(try caches.open("n", request).outcome == .rebuilt(.first))
        try writer.commit()
        #expect(try caches.open("n", request).outcome == .rebuilt(.first), "the cache itself was not created")
        #expect(try caches.open("n", request).outcome == .hit)
    }

    @Test func anUnreadableLogRebuildsTheCache() throws {
        let request = try TestOrder(hasSections: true).request()
        try insert(TestRow(group: "a", rank: 1))
        _ = try caches.open("n", request)
        try update(1, TestRow(group: "b", rank: 2))
        let log = try test.store.environment.tables([TableDescription("log")], creating: false)[0]
        let key = [UInt8](repeating: 0, count: 7) + [2, 0, 0, 0, 1]
        let junk: [UInt8] = [1, 2, 3]
        try test.write { try $0.view.put(junk.span.bytes, for: key.span.bytes, in: log) }
        #expect(try caches.open("n", request).outcome == .rebuilt(.damaged))
        #expect(try caches.open("n", request).outcome == .hit)
    }

    @Test func aReadOnlyStoreCatchesUpInMemory() throws {
        let order = TestOrder(hasSections: true)
        let request = try order.request()
        try insert(TestRow(group: "a", rank: 1))
        _ = try caches.open("n", request)
        try insert(TestRow(group: "b", rank: 0))
        var options = Store.Options()
        options.isReadOnly = true
        let readOnly = try Store(at: test.path, options: options)
        let opened = try CacheEngine(readOnly).open("n", request)
        #expect(isEqual(try opened.order.contents(), order.sections(of: try rows())))
        #expect(throws: StoreError.readOnly) { _ = try readOnly.beginWrite() }
    }

    @Test func invalidCacheNamesAreRefused() throws {
        let request = try TestOrder(hasSections: true).request()
        #expect(throws: CacheError.invalidName("")) { try caches.open("", request) }
        let long = String(repeating: "名", count: 200)
        #expect(throws: CacheError.invalidName(long)) { try caches.open(long, request) }
        #expect(throws: CacheError.unknown("x")) { try caches.verify("x", request) }
        _ = try caches.open("出版社別 ★", request)
        #expect(try CacheDirectory.names(in: test.store.snapshot()) == ["出版社別 ★"])
    }
}
