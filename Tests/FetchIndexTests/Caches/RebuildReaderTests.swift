import FetchIndex
import Foundation
import FetchIndexRecords
import Synchronization
import FetchIndexTestSupport
import Testing

/// A rebuilt cache has no batch. Its rebuild is reported until a reader succeeds.
@Suite struct RebuildReaderTests {
    private let reader: OrderReader

    init() throws { reader = try OrderReader() }

    @Test func aRebuildIsReportedUntilAReaderSucceeds() throws {
        try reader.put([(3, 0, 50)])
        try reader.trimLog()
        for _ in 0..<3 { #expect(try reader.read(failing: true) == .rebuilt(.logTooShort)) }
        // A later change does not hide it.
        try reader.put([(4, 0, 51)])
        #expect(try reader.read() == .rebuilt(.logTooShort))
        #expect(try reader.read() == .hit)
    }

    /// The second reader waits for the build of the first.
    @Test func eachOfTwoReadersOfAnUnusableCacheGetsItsRebuild() throws {
        try reader.put([(3, 0, 50)])
        try reader.trimLog()
        let outcomes = Mutex<[FetchOutcome]>([])
        let readers = DispatchGroup()
        // The build is held until both readers have found the cache unusable.
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

    /// A reader got one rebuild; another rebuild comes before it ends.
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

    /// Other writers commit between a commit and the rebuild that it needs.
    @Test func aRebuildAtALaterCommitHidesNoChange() throws {
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
