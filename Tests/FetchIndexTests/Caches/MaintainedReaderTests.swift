import FetchIndex
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// Writers keep a maintained cache current. Its exact reader still gets their changes, or a rebuild, and gets them
/// again after a failure.
@Suite struct MaintainedReaderTests {
    private let reader: OrderReader

    init() throws { reader = try OrderReader() }

    @Test func aBatchOfAMaintainedCacheIsDeliveredAgainAfterItsReaderFailed() throws {
        try reader.container.setMaintained(true, cacheNamed: "c")
        let writer = try reader.newWriter()
        #expect(try reader.commit((3, 0, 50), writer, failing: true) == 1)
        #expect(try reader.commit((4, 0, 51), writer) == 2)
        #expect(try reader.commit((5, 0, 52), writer, failing: true) == 1)
        try reader.put([(6, 0, 53)])
        #expect(reader.events(try reader.read(failing: true)) == 2)
        #expect(reader.events(try reader.read()) == 2)
        #expect(try reader.read() == .hit)
        // Writers keep the cache current; its reader still gets their changes.
        try reader.put([(7, 0, 54)])
        try reader.put([(8, 0, 55)])
        #expect(reader.events(try reader.read()) == 2)
        #expect(try reader.read() == .hit)
        try reader.put([(9, 0, 56)])
        try reader.trimLog()
        #expect(try reader.read(failing: true) == .rebuilt(.logTooShort))
        #expect(try reader.read() == .rebuilt(.logTooShort))
        #expect(try reader.read() == .hit)
        #expect(try reader.container.cacheStatistics().map(\.isFresh) == [true])
    }

    @Test func deliveredChangesAreNotDeliveredAgainOnceTheCacheIsMaintained() throws {
        let writer = try reader.newWriter()
        try reader.write([(3, 0, 50)], writer)
        _ = try writer.commit(bringing: OrderReader.definition, cacheName: "c") { outcome, _ in
            #expect(reader.events(outcome) == 1)
        }
        try reader.container.setMaintained(true, cacheNamed: "c")
        try writer.storeTold()
        try reader.put([(4, 0, 51)])
        #expect(reader.events(try reader.read()) == 1)
    }

    @Test func changesAreDeliveredWhenACacheStartsOrStopsBeingMaintained() throws {
        try reader.put([(2, 0, 49)])
        try reader.container.setMaintained(true, cacheNamed: "c")
        try reader.put([(3, 0, 50)])
        #expect(reader.events(try reader.read()) == 2)
        try reader.put([(3, 0, 51)])
        try reader.container.setMaintained(false, cacheNamed: "c")
        try reader.put([(4, 0, 51)])
        #expect(reader.events(try reader.read()) == 2)
        #expect(try reader.read() == .hit)
    }

    /// Within its limit, the log keeps what the exact reader of a maintained cache hasn't received. After the cache is
    /// no longer maintained (`isStopped`), commits may trim the log: the reader gets a change batch if the log still
    /// reaches back to the last batch, otherwise a rebuild.
    @Test(arguments: [false, true]) func theLogIsRetainedForAnExactReaderOnlyWhileItsCacheIsMaintained(isStopped: Bool)
        throws
    {
        let folder = TemporaryFolder()
        var storeOptions = Store.Options()
        storeOptions.keptLogBytes = 2_000
        let container = try PersistentContainer(path: folder.path, model: OrderReader.model, options: storeOptions)
        func read(exactly: Bool = true) throws -> FetchOutcome {
            var options = reader.options
            options.needsExactChange = exactly
            return try container.withOrder(OrderReader.definition, options) { $0.outcome }
        }
        func write(_ count: Int) throws {
            let writer = try BatchWriter(container, entity: "Item")
            for _ in 0..<count {
                let code = try container.store.snapshot().commit
                try writer.insert([.integer(Int64(code)), .integer(1), .integer(2)])
                try writer.commit()
                // This reader needs no exact change. It advances a cache that isn't maintained, so that the log can be
                // trimmed.
                _ = try read(exactly: false)
            }
        }
        #expect(try read() == .rebuilt(.first))
        try container.setMaintained(true, cacheNamed: "c")
        try write(2)
        if isStopped { try container.setMaintained(false, cacheNamed: "c") }
        #expect(reader.events(try read()) == 2)
        try container.setMaintained(true, cacheNamed: "c")
        try write(2)
        if isStopped { try container.setMaintained(false, cacheNamed: "c") }
        try write(200)
        let outcome = try read()
        if isStopped { #expect(outcome == .rebuilt(.logTooShort)) } else { #expect(reader.events(outcome) == 202) }
        #expect(try read() == .hit)
        try container.setMaintained(true, cacheNamed: "c")
        try write(200)
        #expect(reader.events(try read()) == 200)
    }
}
