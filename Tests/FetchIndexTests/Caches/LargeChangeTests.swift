import FetchIndexModels
import FetchIndexTestSupport
import Testing

@testable import FetchIndex

/// Changes of most rows: an exact reader's cache is built anew, and compared with the old order.
@Suite struct LargeChangeTests {
    private static let count = 24_000

    private static let model = Model(entities: [
        Entity(
            "Maker",
            [
                AttributeDescription("code", .integer, isOptional: false, isUnique: true),
                AttributeDescription("name", .string),
            ], relationships: [RelationshipDescription("items", toMany: "Item", inverse: "maker")]),
        Entity(
            "Item",
            [
                AttributeDescription("code", .integer, isOptional: false, isUnique: true),
                AttributeDescription("group", .integer), AttributeDescription("size", .integer),
            ], relationships: [RelationshipDescription("maker", toOne: "Maker", inverse: "items")]),
    ])

    private static let definitions = [
        OrderDefinition(entity: "Item", sortKeys: [SortKey("size")], sectionKey: .attribute("group")),
        OrderDefinition(entity: "Item", sortKeys: [SortKey("code")]),
        OrderDefinition(
            entity: "Item", predicate: try? FetchPredicate("size % 3 != 0"),
            sortKeys: [SortKey("size", ascending: false)]),
        OrderDefinition(
            entity: "Item", sortKeys: [SortKey("maker.name"), SortKey("size")], sectionKey: .attribute("maker.name")),
        OrderDefinition(
            entity: "Item", sortKeys: [SortKey("size")], sectionKey: .relationship("maker", name: "name")),
    ]

    private let store: LiveStore
    private var container: PersistentContainer { store.container }

    init() throws {
        store = try LiveStore(Self.model)
        let context = store.container.newContext()
        let makers = try (0..<30).map { code in
            let maker = try context.insert("Maker")
            maker["code"] = .integer(Int64(code))
            maker["name"] = .string("maker \(code % 20)")
            return maker
        }
        var random = SeededGenerator(seed: 3)
        for code in 0..<Self.count {
            let item = try context.insert("Item")
            item["code"] = .integer(Int64(code))
            item["group"] = .integer(Int64(code % 7))
            item["size"] = .integer(.random(in: 0..<5000, using: &random))
            item.relate("maker", to: makers[code % 30])
        }
        try context.save()
    }

    private func options(_ definition: Int, exact: Bool = true) -> PersistentContainer.OrderOptions {
        var options = PersistentContainer.OrderOptions(cacheName: "c\(definition)")
        options.needsExactChange = exact
        return options
    }

    private func rows(_ order: FetchedOrder) throws -> [[ObjectID]] {
        var rows = [[ObjectID]](repeating: [], count: order.sectionCount)
        try order.forEachRow { rows[$0.path.section].append($0.id) }
        return rows
    }

    /// Opens each cache as its exact reader. Returns the outcomes and the rows.
    private func read() throws -> [(outcome: FetchOutcome, rows: [[ObjectID]])] {
        try Self.definitions.enumerated().map { index, definition in
            try container.withOrder(definition, options(index)) { ($0.outcome, try rows($0)) }
        }
    }

    /// Expects that the exact reader of each cache gets the change since its rows before, and gets it once.
    private func expectTheChange(since before: [(outcome: FetchOutcome, rows: [[ObjectID]])]) throws {
        for (index, (old, new)) in zip(before, try read()).enumerated() {
            guard case .caughtUp(let change) = new.outcome else {
                Issue.record("order \(index): \(new.outcome)")
                continue
            }
            #expect(change.replay(on: old.rows) == new.rows, "order \(index)")
        }
        for reading in try read() { #expect(reading.outcome == .hit) }
    }

    private func updateAll(_ random: inout SeededGenerator) throws {
        let makers = try BatchWriter(container, entity: "Maker", key: "code")
        for code in 0..<10 {
            guard let maker = try makers.object(key: .integer(Int64(code))) else { continue }
            try makers.update(maker, [.integer(Int64(code)), .string("maker \((code * 7 + 3) % 20)")])
        }
        try makers.commit()
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        for code in 0..<Self.count {
            guard let object = try writer.object(key: .integer(Int64(code))) else { continue }
            if Int.random(in: 0..<50, using: &random) == 0 {
                try writer.delete(object)
                continue
            }
            try writer.update(
                object, [code, code % 7, .random(in: 0..<5000, using: &random)].map { .integer(Int64($0)) })
        }
        for code in 0..<500 { try writer.insert([Self.count + code, code % 9, 1].map { .integer(Int64($0)) }) }
        try writer.commit()
    }

    @Test func theChangeOfAllRowsLeadsToTheNewRows() throws {
        var random = SeededGenerator(seed: TestSettings.seed)
        let before = try read()
        try updateAll(&random)
        try expectTheChange(since: before)
        for index in Self.definitions.indices {
            #expect(try container.verifyCache("c\(index)") == [], "order \(index)")
        }
    }

    /// Each writer catches a maintained cache up, or rebuilds it if most rows changed. Its exact reader gets the changes
    /// since its last batch all the same.
    @Test func theReaderOfAMaintainedCacheGetsTheChangeOfAllRows() throws {
        var random = SeededGenerator(seed: TestSettings.seed)
        let before = try read()
        for index in Self.definitions.indices { try container.setMaintained(true, cacheNamed: "c\(index)") }
        try updateAll(&random)
        try expectTheChange(since: before)
    }

    /// Updates of rows that aren't in an order leave its cache current after one reading.
    @Test func aChangeOfNonMembersIsReadOnce() throws {
        let definition = OrderDefinition(
            entity: "Item", predicate: try FetchPredicate("group == 9"), sortKeys: [SortKey("code")])
        var options = PersistentContainer.OrderOptions(cacheName: "none")
        options.needsExactChange = true
        try container.withOrder(definition, options) { _ in }
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        for code in 0..<Self.count {
            guard let object = try writer.object(key: .integer(Int64(code))) else { continue }
            try writer.update(object, [code, 1, 1].map { .integer(Int64($0)) })
        }
        try writer.commit()
        #expect(try container.withOrder(definition, options) { $0.outcome } == .hit)
        let transaction = try container.store.lastTransaction()
        #expect(try container.withOrder(definition, options) { $0.outcome } == .hit)
        #expect(try container.store.lastTransaction() == transaction, "the second reading had something to store")
    }

    /// A reader of the change since a point rebuilds a cache that is far behind, and its exact reader still gets the
    /// change.
    @Test func theChangeSinceAPointRenewsCachesAndIsReadAgain() throws {
        var random = SeededGenerator(seed: TestSettings.seed)
        let before = try read()
        let point = StorePoint.commit(try container.newestCommit())
        try updateAll(&random)
        for (index, definition) in Self.definitions.enumerated() {
            let options = options(index, exact: false)
            try container.withOrder(definition, options, since: point) { order, change in
                let after = try rows(order)
                #expect(change.replay(on: before[index].rows) == after, "order \(index)")
            }
            #expect(try container.withOrder(definition, options) { $0.outcome } == .hit, "order \(index)")
        }
        try expectTheChange(since: before)
    }

    /// Another process commits between the reader's snapshot and the build.
    @Test func aCommitBeforeTheBuildLosesNoChange() throws {
        var random = SeededGenerator(seed: TestSettings.seed)
        let before = try read()
        try updateAll(&random)
        let snapshot = try container.store.snapshot()
        let writer = try BatchWriter(container, entity: "Item")
        try writer.insert([Self.count + 7000, 3, 3].map { .integer(Int64($0)) })
        try writer.commit()
        for (index, definition) in Self.definitions.enumerated() {
            let cache = try #require(try container.cacheRequest(definition, options(index)))
            let reading = try container.cacheEngine.open(cache, in: snapshot, writing: .atEnd)
            guard case .caughtUp(let change) = reading.opened.outcome else {
                Issue.record("order \(index): \(reading.opened.outcome)")
                continue
            }
            let order = try FetchedOrder(
                reading.opened, of: cache.order.builder, reading.snapshot, in: container)
            let old = before[index].rows.map { $0.map { RecordKey(entity: 1, number: $0.number) } }
            let new = try rows(order).map { $0.map { RecordKey(entity: 1, number: $0.number) } }
            #expect(change.replay(on: old) == new, "order \(index)")
        }
    }

    /// The reader fails after the cache was built anew. So the next reading reports the same change.
    @Test func aChangeThatAReaderLosesIsReportedAgain() throws {
        struct Failed: Error {}
        var random = SeededGenerator(seed: TestSettings.seed)
        let before = try read()
        try updateAll(&random)
        for (index, definition) in Self.definitions.enumerated() {
            var lost: FetchOutcome?
            #expect(throws: Failed.self) {
                try container.withOrder(definition, options(index)) { order in
                    lost = order.outcome
                    throw Failed()
                }
            }
            // A reader that needn't know each change finds the cache current.
            #expect(try container.withOrder(definition, options(index, exact: false)) { $0.outcome } == .hit)
            let again = try container.withOrder(definition, options(index)) { ($0.outcome, try rows($0)) }
            guard case .caughtUp(let change) = again.0 else {
                Issue.record("order \(index): \(again.0)")
                continue
            }
            #expect(again.0 == lost, "order \(index)")
            #expect(change.replay(on: before[index].rows) == again.1, "order \(index)")
            #expect(try container.withOrder(definition, options(index)) { $0.outcome } == .hit)
        }
    }
}
