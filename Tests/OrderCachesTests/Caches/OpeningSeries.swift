import FetchIndexLMDB
import FetchIndexModels
import FetchIndexPlatform
import FetchIndexRecords
import FetchIndexTestSupport
import FetchIndexValues
import Testing

@testable import FetchIndexOrderCaches

/// A random series of events of one cache, with the state that its openings must find.
final class OpeningSeries {
    /// The state that the cache must have after the test's events.
    private enum CacheState {
        case unusable(RebuildReason)
        case of(commit: UInt64)
    }

    private let test: TestStore
    private let caches: CacheEngine
    private let order: TestOrder
    private let cache: CacheRequest
    private let seed: UInt64
    private var generator: SeededGenerator
    private var rows: [UInt64: TestRow] = [:]
    private var state = CacheState.unusable(.first)
    /// The number of changed records of each commit.
    private var changeCounts: [UInt64: Int] = [:]
    /// The rows of the order after each commit, by section.
    private var orders: [UInt64: [[RecordKey]]] = [:]
    private var step = 0
    private(set) var reasons: Set<RebuildReason> = []

    init(_ order: TestOrder, seed: UInt64) throws {
        (self.order, self.seed) = (order, seed)
        test = try TestStore(model: TestRow.model)
        caches = CacheEngine(test.store)
        cache = CacheRequest(name: "rows", order: try order.request())
        generator = SeededGenerator(seed: seed)
        try noteOrder()
    }

    private func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    /// Performs up to two events, and then an opening.
    func perform() throws {
        step += 1
        var events: [OpeningSeriesTests.Event] = []
        for _ in 0..<int(0...2) {
            let event = OpeningSeriesTests.Event.allCases.randomElement(using: &generator) ?? .changeRows
            events.append(event)
            try happen(event)
        }
        let way = OpeningSeriesTests.Way.allCases.randomElement(using: &generator) ?? .open
        try open(way, "\(order), seed \(seed), step \(step): \(events), \(way)")
    }

    // MARK: Events

    private func happen(_ event: OpeningSeriesTests.Event) throws {
        switch event {
        case .changeRows: try write { try self.changeRows(in: $0) }
        case .changeOthers:
            try write { writer in
                let other = try TestRow.model.entities[1].record(["x"])
                try writer.insert(1, other.span.bytes)
            }
        case .trimLog: try test.write { try $0.trimLog(through: $0.state.commit) }
        case .deleteCache:
            try caches.directory.delete("rows")
            state = .unusable(.first)
        case .damageHeader:
            let place = int(0...3)
            try changeHeader(.damaged) { bytes in bytes[bytes.count - 1 - place] ^= 1 }
        case .writeNewerFormat:
            try changeHeader(.formatChanged) { bytes in
                bytes.removeLast(4)
                bytes[0] = 99
                bytes.appendChecksum()
            }
        case .openOther: try openOther()
        }
    }

    private func write(_ body: (StoreWriter) throws -> Void) throws {
        let writer = try test.store.beginWrite()
        try body(writer)
        try writer.commit()
        try noteOrder()
    }

    private func noteOrder() throws {
        orders[try test.store.snapshot().commit] = order.sections(of: rows).map { section in
            section.rows.map { RecordKey(entity: 0, number: $0) }
        }
    }

    /// Changes some rows, each of them at most once.
    private func changeRows(in writer: StoreWriter) throws {
        var count = 0
        for number in rows.keys.sorted().shuffled(using: &generator).prefix(int(0...3)) {
            let object = RecordKey(entity: 0, number: number)
            if int(0...3) == 0 {
                rows[number] = nil
                try writer.delete(object)
                count += 1
            } else {
                let row = TestRow.random(using: &generator)
                rows[number] = row
                let record = try row.record()
                count += try writer.update(object, record.span.bytes) ? 1 : 0
            }
        }
        for _ in 0..<int(0...3) {
            let row = TestRow.random(using: &generator)
            let record = try row.record()
            rows[try writer.insert(0, record.span.bytes).number] = row
            count += 1
        }
        if count > 0 { changeCounts[writer.commit + 1] = count }
    }

    private func header() throws -> [UInt8]? {
        let snapshot = try test.store.snapshot()
        var bytes: [UInt8]?
        let name = Array("rows".utf8)
        _ = try snapshot.view.get(name.span.bytes, in: snapshot.tables.caches) { bytes = [UInt8](copying: $0) }
        return bytes
    }

    private func changeHeader(_ reason: RebuildReason, _ change: (inout [UInt8]) -> Void) throws {
        guard var bytes = try header() else { return }
        // A header that is damaged already stays damaged.
        if case .unusable(.damaged) = state { return }
        change(&bytes)
        let name = Array("rows".utf8)
        try test.write { [bytes] in try $0.view.put(bytes.span.bytes, for: name.span.bytes, in: $0.tables.caches) }
        state = .unusable(reason)
    }

    private func openOther() throws {
        let parts: [(WritableKeyPath<CacheIdentity, String>, RebuildReason)] = [
            (\.predicate, .predicateChanged), (\.sort, .sortChanged), (\.section, .sectionKeyChanged),
            (\.aggregates, .aggregatesChanged), (\.collation, .collationChanged),
        ]
        let (part, reason) = parts[int(0...parts.count - 1)]
        var identity = cache.order.identity
        identity[keyPath: part] += " other"
        let other = OrderRequest(builder: cache.order.builder, identity: identity)
        _ = try caches.open("rows", other)
        state = .unusable(reason)
    }

    // MARK: Openings

    private func open(_ way: OpeningSeriesTests.Way, _ comment: String) throws {
        let before = try header()
        let (assessment, opened, left) = try perform(way, comment)
        let snapshot = try test.store.snapshot()
        if let opened {
            let objects = try opened.order.objects()
            #expect(objects == orders[snapshot.commit], "\(comment)")
            #expect(try opened.order.check() == [], "\(comment)")
            expect(opened.outcome, of: assessment, way, objects, comment)
        } else {
            let reason = try #require(assessment.unusable, "\(comment)")
            #expect(way.leaves(reason), "\(comment): \(reason)")
            #expect(left == nil || left == reason, "\(comment)")
        }
        if opened == nil || way.writesNothing {
            #expect(try header() == before, "\(comment): the cache changed")
        } else {
            let now = try caches.assess(cache, in: snapshot)
            #expect(now.isCurrent, "\(comment): \(now)")
            state = .of(commit: try #require(now.header, "\(comment)").commit)
            #expect(try caches.verify("rows", cache.order) == [], "\(comment)")
        }
    }

    private func expect(
        _ outcome: OrderOutcome<RecordKey>, of assessment: CacheAssessment, _ way: OpeningSeriesTests.Way,
        _ objects: [[RecordKey]],
        _ comment: String
    ) {
        switch (assessment, outcome) {
        case (.current, .hit): break
        case (.behind, .pending): #expect(way == .keeping || way == .establishing, "\(comment)")
        case (.behind(let header, _), .hit): #expect(orders[header.commit] == objects, "\(comment)")
        case (.behind(let header, _), .caughtUp(let change)):
            #expect(orders[header.commit].flatMap { change.replay(on: $0) } == objects, "\(comment)")
            #expect(!change.isEmpty, "\(comment)")
        case (.unusable(let reason, _), .rebuilt(let told)):
            #expect(told == reason && !way.leaves(reason), "\(comment)")
        default: Issue.record("\(comment): \(outcome) of \(assessment)")
        }
    }

    /// Assesses the cache and opens it. `left` is the reason why a writer left the cache as it is.
    private func perform(
        _ way: OpeningSeriesTests.Way, _ comment: String
    ) throws -> (CacheAssessment, OpenedOrder?, left: RebuildReason?) {
        func assessed(_ reader: StoreReader) throws -> CacheAssessment {
            let assessment = try caches.assess(cache, in: reader)
            try check(assessment, in: reader, comment)
            return assessment
        }
        switch way {
        case .open: return (try assessed(test.store.snapshot()), try caches.open(cache).opened, nil)
        case .inSnapshot:
            let snapshot = try test.store.snapshot()
            return (try assessed(snapshot), try caches.open(cache, in: snapshot, writing: .nothing()).opened, nil)
        case .inReadOnlyStore:
            var options = Store.Options()
            options.isReadOnly = true
            let store = try Store(at: test.path, options: options)
            return (try assessed(test.store.snapshot()), try CacheEngine(store).open(cache).opened, nil)
        case .whileAnotherWrites:
            let writer = try test.store.beginWrite()
            defer { withExtendedLifetime(writer) {} }
            return (try assessed(test.store.snapshot()), try caches.open(cache).opened, nil)
        case .withAllNewest:
            return (try assessed(test.store.snapshot()), try caches.openNewest([cache]).orders["rows"]?.opened, nil)
        case .following: return try open(for: .following, assessed)
        case .keeping: return try open(for: .keeping, assessed)
        case .establishing: return try open(for: .establishing, assessed)
        }
    }

    /// Opens the cache in the transaction of a writer that changes rows itself.
    private func open(
        for purpose: CacheEngine.Purpose, _ assessed: (StoreReader) throws -> CacheAssessment
    ) throws -> (CacheAssessment, OpenedOrder?, left: RebuildReason?) {
        let writer = try test.store.beginWrite()
        try changeRows(in: writer)
        try writer.seal()
        let assessment = try assessed(writer)
        let written = try caches.open(cache, in: writer, for: purpose)
        let snapshot = try writer.commitAndRead()
        try noteOrder()
        if case .unusable(let reason) = written { return (assessment, nil, reason) }
        return (assessment, written.opened?.reopened(in: snapshot), nil)
    }

    /// Compares an assessment with the state that the cache must have.
    private func check(_ assessment: CacheAssessment, in reader: StoreReader, _ comment: String) throws {
        var expected: RebuildReason?
        var changes = 0
        switch state {
        case .unusable(let reason): expected = reason
        case .of(let commit) where commit < reader.state.logStart: expected = .logTooShort
        case .of(let commit):
            changes = changeCounts.reduce(0) { $1.key > commit && $1.key <= reader.commit ? $0 + $1.value : $0 }
        }
        #expect(assessment.unusable == expected, "\(comment)")
        if let expected {
            reasons.insert(expected)
        } else if case .behind(_, let found) = assessment {
            #expect(found == changes && found > 0, "\(comment)")
        } else {
            #expect(changes == 0, "\(comment)")
        }
    }
}
