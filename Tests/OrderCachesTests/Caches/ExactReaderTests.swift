import FetchIndexLMDB
import FetchIndexModels
import FetchIndexPlatform
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

/// A reader that must receive each change, and that may fail before it has received one.
@Suite struct ExactReaderTests {
    private enum Event: CaseIterable {
        case changeRows
        case maintain
        case stopMaintaining
        case trimLog
        case damageHeader
        case read
        /// The reader fails before the end.
        case readAndFail
    }

    private let test: TestStore
    private let caches: CacheEngine

    init() throws {
        test = try TestStore(model: TestRow.model)
        caches = CacheEngine(test.store)
    }

    private func request(_ order: TestOrder) throws -> CacheRequest {
        CacheRequest(name: "rows", order: try order.request(), needsExactChange: true)
    }

    private func objects(_ order: TestOrder) throws -> [[RecordKey]] {
        order.sections(of: try test.contents().mapValues { try TestRow($0) }).map { section in
            section.rows.map { RecordKey(entity: 0, number: $0) }
        }
    }

    /// Between rebuilds, the changes that the reader has received, applied one after the other, give the current order,
    /// although some readings fail.
    @Test(arguments: TestOrder.all.indices) func aReaderThatFailedIsToldWhatItHasNotReceived(index: Int) throws {
        // Each order has its own series of events.
        let order = TestOrder.all[index]
        var generator = SeededGenerator(seed: 51 + UInt64(index))
        let cache = try request(order)
        var received: [[RecordKey]]?
        var kinds: Set<String> = []
        for step in 0..<80 {
            let event = Event.allCases.randomElement(using: &generator) ?? .read
            let comment = "\(order), seed \(51 + index), step \(step): \(event)"
            switch event {
            case .changeRows: try changeRows(maintaining: cache, &generator)
            case .maintain, .stopMaintaining:
                try test.write { writer in
                    guard try CacheDirectory.names(in: writer).contains("rows") else { return }
                    try CacheDirectory.setMaintained(event == .maintain, "rows", in: writer)
                }
            case .trimLog: try test.write { try $0.trimLog(through: $0.state.commit) }
            case .damageHeader: if step % 3 == 0 { try damageHeader() }
            case .read, .readAndFail:
                let reading = try caches.open(cache, writing: .atEnd)
                let now = try objects(order)
                #expect(try reading.opened.order.objects() == now, "\(comment)")
                var next = now
                switch reading.opened.outcome {
                case .hit:
                    kinds.insert("hit")
                    #expect(received == now, "\(comment)")
                case .caughtUp(let change):
                    kinds.insert("caught up")
                    next = try #require(received.flatMap { change.replay(on: $0) }, "\(comment)")
                    #expect(next == now, "\(comment)")
                case .rebuilt: kinds.insert("rebuilt")
                case .pending, .computed: Issue.record("\(comment): \(reading.opened.outcome)")
                }
                if event == .readAndFail {
                    caches.abandon(reading)
                } else {
                    try caches.end(reading)
                    received = next
                    #expect(try caches.open(cache, writing: .atEnd).opened.outcome == .hit, "\(comment): told twice")
                }
            }
        }
        #expect(kinds.count > 1, "\(order): \(kinds)")
    }

    /// Changes rows. If the cache is maintained, catches it up in the same transaction.
    private func changeRows(maintaining cache: CacheRequest, _ generator: inout SeededGenerator) throws {
        let numbers = try test.contents().keys.sorted()
        try test.write { writer in
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let row = TestRow.random(using: &generator)
                let record = try row.record()
                let object = numbers.randomElement(using: &generator).map { RecordKey(entity: 0, number: $0) }
                switch (Int.random(in: 0..<4, using: &generator), object) {
                case (0, let object?): try writer.delete(object)
                case (1, let object?):
                    if try writer.record(object, { _ in }) { try writer.update(object, record.span.bytes) }
                default: try writer.insert(0, record.span.bytes)
                }
            }
            try writer.seal()
            if CacheDirectory.isMaintained("rows", in: writer) { _ = try caches.open(cache, in: writer, for: .keeping) }
        }
    }

    private func damageHeader() throws {
        let name = Array("rows".utf8)
        try test.write { writer in
            var bytes: [UInt8] = []
            _ = try writer.view.get(name.span.bytes, in: writer.tables.caches) { bytes = [UInt8](copying: $0) }
            guard !bytes.isEmpty else { return }
            bytes[bytes.count - 1] ^= 1
            try writer.view.put(bytes.span.bytes, for: name.span.bytes, in: writer.tables.caches)
        }
    }

    /// The change of a current cache since each commit of the log leads from the order at that commit to the newest
    /// order. It's nil if the cache is missing or isn't current, if the log doesn't reach back, if the commit doesn't
    /// exist yet, or if the log has more changes since the commit than the limit.
    @Test(arguments: TestOrder.all) func theChangeSinceACommitLeadsToTheNewestOrder(order: TestOrder) throws {
        var generator = SeededGenerator(seed: 52)
        let cache = try request(order)
        var orders = [try objects(order)]
        // This cache stays behind, so the log is kept.
        _ = try caches.open(CacheRequest(name: "slow", order: cache.order))
        for _ in 0..<12 {
            try changeRows(maintaining: cache, &generator)
            if orders.count == (try test.store.snapshot().commit) { orders.append(try objects(order)) }
        }
        var snapshot = try test.store.snapshot()
        #expect(try caches.change(of: cache, since: 0, limit: .max, in: snapshot) == nil, "no cache")
        _ = try caches.open(cache)
        snapshot = try test.store.snapshot()
        let newest = Int(snapshot.commit)
        for commit in orders.indices {
            let change = try caches.change(of: cache, since: UInt64(commit), limit: .max, in: snapshot)
            #expect(change?.replay(on: orders[commit]) == orders[newest], "\(order), commit \(commit)")
            let count = try snapshot.changeCount(of: [0], after: UInt64(commit))
            let limited = try caches.change(of: cache, since: UInt64(commit), limit: count - 1, in: snapshot)
            #expect(limited == nil || count == 0, "\(order), commit \(commit)")
        }
        #expect(try caches.change(of: cache, since: UInt64(newest) + 1, limit: .max, in: snapshot) == nil)
        try test.write { try $0.trimLog(through: 5) }
        snapshot = try test.store.snapshot()
        #expect(try caches.change(of: cache, since: 4, limit: .max, in: snapshot) == nil)
        #expect(
            try caches.change(of: cache, since: 5, limit: .max, in: snapshot)?.replay(on: orders[5]) == orders[newest])
        try test.write { writer in
            let record = try TestRow(group: "new", rank: 9).record()
            try writer.insert(0, record.span.bytes)
        }
        #expect(try caches.change(of: cache, since: 5, limit: .max, in: test.store.snapshot()) == nil, "it is behind")
    }
}
