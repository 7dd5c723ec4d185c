import FetchIndex
import Foundation
import FetchIndexRecords
import Synchronization
import FetchIndexTestSupport
import Testing

/// A rebuild has no change batch. It's reported to exact readers until one of them succeeds.
@Suite struct RebuildReaderTests {
    private let reader: OrderReader

    init() throws { reader = try OrderReader() }

    @Test func aRebuildIsReportedUntilAReaderSucceeds() throws {
        try reader.put([(3, 0, 50)])
        try reader.trimLog()
        for _ in 0..<3 { #expect(try reader.read(failing: true) == .rebuilt(.logTooShort)) }
        // A later change doesn't hide the rebuild.
        try reader.put([(4, 0, 51)])
        #expect(try reader.read() == .rebuilt(.logTooShort))
        #expect(try reader.read() == .hit)
    }

    /// Both readers find the cache unusable. One of them builds it while the other one waits.
    @Test func eachOfTwoReadersOfAnUnusableCacheGetsItsRebuild() throws {
        try reader.put([(3, 0, 50)])
        try reader.trimLog()
        let outcomes = Mutex<[FetchOutcome]>([])
        let readers = DispatchGroup()
        // No reader can build for 0.3 s, so that both readers find the cache unusable.
        var build = try reader.container.store.beginBuild(limit: .seconds(1))
        for _ in 0..<2 {
            DispatchQueue.global().async(group: readers) { [container = reader.container] in
                var options = PersistentContainer.OrderOptions(cacheName: "c")
                options.needsExactChange = true
                try? container.withOrder(OrderReader.definition, options) { order in
                    outcomes.withLock { $0.append(order.outcome) }
                    throw OrderReader.Failed()
                }
            }
        }
        usleep(300_000)
        withExtendedLifetime(build) {}
        build = nil
        readers.wait()
        #expect(outcomes.withLock { $0 } == [.rebuilt(.logTooShort), .rebuilt(.logTooShort)])
        #expect(try reader.read() == .rebuilt(.logTooShort))
        #expect(try reader.read() == .hit)
    }

    /// The cache is rebuilt a second time before the reader of the first rebuild ends.
    @Test func theEndOfAReaderDoesNotHideALaterRebuild() throws {
        try reader.put([(3, 0, 50)])
        try reader.trimLog()
        try reader.container.withOrder(OrderReader.definition, reader.options) { order in
            #expect(order.outcome == .rebuilt(.logTooShort))
            try reader.put([(4, 0, 51)])
            try reader.trimLog()
            #expect(try reader.read(failing: true) == .rebuilt(.logTooShort))
        }
        #expect(try reader.read() == .rebuilt(.logTooShort))
        #expect(try reader.read() == .hit)
    }

    /// Another writer commits while `commit(bringing:)` tells its reader of a rebuild. The next reader gets the other
    /// writer's changes.
    @Test func changesCommittedWhileARebuildIsToldAreInTheNextBatch() throws {
        try reader.put([(3, 0, 50)])
        try reader.trimLog()
        let writer = try reader.newWriter()
        try reader.write([(4, 0, 51)], writer)
        try writer.commit(bringing: OrderReader.definition, cacheName: "c") { outcome in
            #expect(outcome == .rebuilt(.logTooShort))
            try reader.put([(5, 0, 52), (6, 0, 53)])
        }
        #expect(reader.events(try reader.read()) == 2)
        #expect(try reader.read() == .hit)
    }
}
