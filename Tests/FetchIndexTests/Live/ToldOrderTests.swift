import FetchIndex
import OrderCaches
import Records
import TestSupport
import Testing

/// A cache takes an order when its reader is done with it. What a reader misses, because it fails, is told to the next one.
@Suite struct ToldOrderTests {
    private static let model = Model(entities: [
        Entity(
            "Item",
            [
                AttributeDescription("code", .integer, isOptional: false, isUnique: true),
                AttributeDescription("group", .integer), AttributeDescription("size", .integer),
            ])
    ])
    private static let definition = OrderDefinition(
        entity: "Item", sortKeys: [SortKey("size")], sectionKey: .attribute("group"))

    private struct ReaderFailed: Error {}

    private let store: LiveStore
    private var container: PersistentContainer { store.container }
    private var options: PersistentContainer.OrderOptions {
        var options = PersistentContainer.OrderOptions(cacheName: "c")
        options.needsExactChange = true
        return options
    }

    init() throws {
        store = try LiveStore(Self.model)
        try put((0..<20).map { ($0, $0 % 3, $0) })
        try container.withOrder(Self.definition, options) { #expect($0.outcome == .rebuilt(.first)) }
    }

    private func put(_ items: [(code: Int, group: Int, size: Int)]) throws {
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        try write(items, writer)
        try writer.commit()
    }

    private func write(_ items: [(code: Int, group: Int, size: Int)], _ writer: BatchWriter) throws {
        for (code, group, size) in items {
            let values = [code, group, size].map { Value.integer(Int64($0)) }
            if let object = try writer.object(key: values[0]) {
                try writer.update(object, values)
            } else {
                try writer.insert(values)
            }
        }
    }

    /// What a reader gets; where it fails after it.
    private func read(failing: Bool = false) throws -> FetchOutcome {
        var outcome: FetchOutcome?
        do {
            try container.withOrder(Self.definition, options) { order in
                outcome = order.outcome
                if failing { throw ReaderFailed() }
            }
        } catch is ReaderFailed {}
        return try #require(outcome)
    }

    private func rows() throws -> [[ObjectID]] {
        try container.withOrder(Self.definition, .init()) { order in
            var rows = [[ObjectID]](repeating: [], count: order.sectionCount)
            try order.forEachRow { rows[$0.path.section].append($0.id) }
            return rows
        }
    }

    private func events(_ outcome: FetchOutcome) -> Int? {
        switch outcome {
        case .hit: 0
        case .caughtUp(let change): change.rows.count
        case .rebuilt, .computed: nil
        }
    }

    @Test func aReaderThatFailsIsToldAgain() throws {
        try put([(3, 0, 50)])
        #expect(events(try read(failing: true)) == 1)
        try put([(4, 0, 51)])
        #expect(events(try read(failing: true)) == 2)
        #expect(events(try read()) == 2)
        #expect(try read() == .hit)
    }

    @Test func aRebuildIsToldUntilAReaderHasHadIt() throws {
        try put([(3, 0, 50)])
        let context = container.newContext()
        try context.deleteHistory(before: context.commit + 1)
        for _ in 0..<3 { #expect(try read(failing: true) == .rebuilt(.logTooShort)) }
        // A later change does not hide it.
        try put([(4, 0, 51)])
        #expect(try read() == .rebuilt(.logTooShort))
        #expect(try read() == .hit)
    }

    /// The cache takes the state that the reader has had, and nothing of what others have written meanwhile.
    @Test func whatIsWrittenMeanwhileIsToldNext() throws {
        try put([(3, 0, 50)])
        try container.withOrder(Self.definition, options) { order in
            #expect(events(order.outcome) == 1)
            try put([(4, 0, 51), (5, 0, 52)])
        }
        #expect(events(try read()) == 2)
        #expect(try read() == .hit)
    }

    @Test func aReaderWithinAReaderTakesItsOwn() throws {
        try put([(3, 0, 50)])
        try container.withOrder(Self.definition, options) { order in
            #expect(events(order.outcome) == 1)
            try put([(4, 0, 51)])
            #expect(events(try read()) == 2)
        }
        #expect(try read() == .hit)
    }

    /// A writer of the same thread cannot be waited for.
    @Test func anOpenTransactionOfTheReaderLeavesTheCacheBehind() throws {
        try put([(3, 0, 50)])
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        try write([(4, 0, 51)], writer)
        #expect(events(try read()) == 1)
        #expect(events(try read()) == 1)
        try writer.commit()
        #expect(events(try read()) == 2)
        #expect(try read() == .hit)
    }

    @Test func aCommitIsSavedAndToldAgainWhereItsReaderFails() throws {
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        func commit(_ item: (Int, Int, Int), failing: Bool = false) throws -> Int? {
            try write([item], writer)
            var count: Int?
            do {
                try writer.commit(bringing: Self.definition, cacheName: "c") { outcome in
                    count = events(outcome)
                    if failing { throw ReaderFailed() }
                }
            } catch is ReaderFailed {}
            return count
        }
        #expect(try commit((3, 0, 50), failing: true) == 1)
        #expect(try commit((4, 0, 51)) == 2)
        #expect(try commit((5, 0, 52), failing: true) == 1)
        #expect(events(try read()) == 1)
        #expect(try read() == .hit)
        #expect(
            try !writer.commit(bringing: Self.definition, cacheName: "c") { _ in Issue.record("nothing was written") })
    }

    /// A list that takes each batch whose reader did not fail equals the order.
    @Test(arguments: 0..<8 as Range<UInt64>) func batchesOfReadersThatFailLeadToTheOrder(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        var list = try rows()
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        func take(_ outcome: FetchOutcome) throws {
            if Bool.random(using: &random) { throw ReaderFailed() }
            switch outcome {
            case .hit: break
            case .caughtUp(let change): list = try #require(change.replay(on: list))
            case .rebuilt, .computed: list = try rows()
            }
        }
        for step in 0..<60 {
            let items = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                (
                    Int.random(in: 0..<30, using: &random), Int.random(in: 0..<4, using: &random),
                    Int.random(in: 0..<9, using: &random)
                )
            }
            do {
                switch Int.random(in: 0..<5, using: &random) {
                case 0: try put(items)
                case 1:
                    try write(items, writer)
                    try writer.commit(bringing: Self.definition, cacheName: "c") { try take($0) }
                case 2:
                    try write(items, writer)
                    _ = try writer.commit(bringing: Self.definition, cacheName: "c") { outcome, _ in try take(outcome) }
                case 3:
                    try writer.storeTold()
                    try container.withOrder(Self.definition, options) { try take($0.outcome) }
                default:
                    let context = container.newContext()
                    try context.deleteHistory(before: context.commit - 1)
                }
            } catch is ReaderFailed {}
            if step % 10 == 9 {
                try writer.storeTold()
                var isTaken = false
                while !isTaken {
                    do {
                        try container.withOrder(Self.definition, options) { try take($0.outcome) }
                        isTaken = true
                    } catch is ReaderFailed {}
                }
                #expect(try list == rows(), "seed \(seed), step \(step)")
            }
        }
    }
}
