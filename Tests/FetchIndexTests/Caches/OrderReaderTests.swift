import FetchIndex
import FetchIndexTestSupport
import Testing

/// A cache that isn't maintained advances after its exact reader has received a change batch. If the reader fails, the
/// next reader gets the changes again.
@Suite struct OrderReaderTests {
    private let reader: OrderReader

    init() throws { reader = try OrderReader() }

    @Test func aBatchIsDeliveredAgainAfterItsReaderFailed() throws {
        try reader.put([(3, 0, 50)])
        #expect(reader.events(try reader.read(failing: true)) == 1)
        try reader.put([(4, 0, 51)])
        #expect(reader.events(try reader.read(failing: true)) == 2)
        #expect(reader.events(try reader.read()) == 2)
        #expect(try reader.read() == .hit)
    }

    /// The cache advances only to the state that the reader got.
    @Test func changesWrittenDuringAReadAreInTheNextBatch() throws {
        try reader.put([(3, 0, 50)])
        try reader.container.withOrder(OrderReader.definition, reader.options) { order in
            #expect(reader.events(order.outcome) == 1)
            try reader.put([(4, 0, 51), (5, 0, 52)])
        }
        #expect(reader.events(try reader.read()) == 2)
        #expect(try reader.read() == .hit)
    }

    @Test func aNestedReaderGetsAllUnreadChanges() throws {
        try reader.put([(3, 0, 50)])
        try reader.container.withOrder(OrderReader.definition, reader.options) { order in
            #expect(reader.events(order.outcome) == 1)
            try reader.put([(4, 0, 51)])
            #expect(reader.events(try reader.read()) == 2)
        }
        #expect(try reader.read() == .hit)
    }

    /// If the reading updated the cache, it would wait for the open writer of its own thread.
    @Test func readingDuringAnOpenTransactionDoesNotUpdateTheCache() throws {
        try reader.put([(3, 0, 50)])
        let writer = try reader.newWriter()
        try reader.write([(4, 0, 51)], writer)
        #expect(reader.events(try reader.read()) == 1)
        #expect(reader.events(try reader.read()) == 1)
        try writer.commit()
        #expect(reader.events(try reader.read()) == 2)
        #expect(try reader.read() == .hit)
    }

    @Test func aCommitWhoseReaderFailsIsSavedAndDeliveredAgain() throws {
        let writer = try reader.newWriter()
        #expect(try reader.commit((3, 0, 50), writer, failing: true) == 1)
        #expect(try reader.commit((4, 0, 51), writer) == 2)
        #expect(try reader.commit((5, 0, 52), writer, failing: true) == 1)
        #expect(reader.events(try reader.read()) == 1)
        #expect(try reader.read() == .hit)
        #expect(
            try !writer.commit(bringing: OrderReader.definition, cacheName: "c") { _ in
                Issue.record("nothing was written")
            })
    }

    /// Each batch whose reader succeeds is applied to a list. The list must equal the order.
    @Test(arguments: 0..<16 as Range<UInt64>) func replayedBatchesGiveTheOrderEvenIfReadersFail(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        var list = try reader.rows()
        let writer = try reader.newWriter()
        func take(_ outcome: FetchOutcome) throws {
            if Bool.random(using: &random) { throw OrderReader.Failed() }
            switch outcome {
            case .hit: break
            case .caughtUp(let change): list = try #require(change.replay(on: list))
            case .pending, .rebuilt, .computed: list = try reader.rows()
            }
        }
        for step in 0..<60 {
            if step % 10 == 5, Bool.random(using: &random) {
                try reader.container.setMaintained(Bool.random(using: &random), cacheNamed: "c")
            }
            let items = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                (
                    Int.random(in: 0..<30, using: &random), Int.random(in: 0..<4, using: &random),
                    Int.random(in: 0..<9, using: &random)
                )
            }
            do {
                switch Int.random(in: 0..<5, using: &random) {
                case 0: try reader.put(items)
                case 1:
                    try reader.write(items, writer)
                    try writer.commit(bringing: OrderReader.definition, cacheName: "c") { try take($0) }
                case 2:
                    try reader.write(items, writer)
                    _ = try writer.commit(bringing: OrderReader.definition, cacheName: "c") { outcome, _ in
                        try take(outcome)
                    }
                case 3:
                    try writer.storeTold()
                    try reader.container.withOrder(OrderReader.definition, reader.options) { try take($0.outcome) }
                default:
                    let context = reader.container.newContext()
                    try context.deleteHistory(before: context.commit - 1)
                }
            } catch is OrderReader.Failed {}
            if step % 10 == 9 {
                try writer.storeTold()
                var isTaken = false
                while !isTaken {
                    do {
                        try reader.container.withOrder(OrderReader.definition, reader.options) { try take($0.outcome) }
                        isTaken = true
                    } catch is OrderReader.Failed {}
                }
                #expect(try list == reader.rows(), "seed \(seed), step \(step)")
            }
        }
    }
}
