import FetchIndex
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// `withOrder(_:_:since:until:_:)`: an order with its exact change since a point.
@Suite struct OrderSinceTests {
    private static let definition = OrderDefinition(
        entity: "Item", sortKeys: [SortKey("size")], sectionKey: .attribute("group"))

    private func rows(_ order: FetchedOrder) throws -> [[ObjectID]] {
        var rows = [[ObjectID]](repeating: [], count: order.sectionCount)
        try order.forEachRow { rows[$0.path.section].append($0.id) }
        return rows
    }

    private func options(exact: Bool) -> PersistentContainer.OrderOptions {
        var options = PersistentContainer.OrderOptions(cacheName: "c")
        options.needsExactChange = exact
        return options
    }

    /// A body gets the order and its change since a point. The cache stays behind, and the next body gets the change again.
    @Test func anOrderIsOpenedWithItsChangeSinceAPoint() throws {
        let store = try LiveStore(ItemSeries.model)
        let container = store.container
        var random = SeededGenerator(seed: TestSettings.seed)
        var series = ItemSeries(container)
        let first = try series.commit(&random)
        try container.setBookmark(named: "mail")
        try container.withOrder(Self.definition, options(exact: true)) { _ in }
        let before = try container.cacheStatistics()
        let last = try series.commit(&random)
        let expected = try container.withOrder(Self.definition, .init()) {
            (try rows($0), try $0.changes(since: .commit(first)))
        }
        for cache in [options(exact: true), options(exact: false), .init()] {
            let rowCount = try container.withOrder(Self.definition, cache, since: .bookmark("mail")) { order, change in
                #expect(order.commit == last && change == expected.1 && !change.isEmpty)
                let shown = try rows(order)
                #expect(shown == expected.0)
                return order.rowCount
            }
            #expect(rowCount == expected.0.joined().count)
        }
        #expect(try container.cacheStatistics().map(\.isFresh) == [false])
        #expect(before.map(\.isFresh) == [true])
        struct Stop: Error {}
        var count = 0
        #expect(throws: Stop.self) {
            try container.withOrder(Self.definition, options(exact: true), since: .bookmark("mail")) { _, _ in
                count += 1
                throw Stop()
            }
        }
        #expect(count == 1)
        #expect(throws: StoreError.logTooShort(commit: last + 1)) {
            try container.withOrder(Self.definition, .init(), since: .commit(last + 1)) { _, _ in }
        }
        #expect(throws: StoreError.logTooShort(commit: last)) {
            try container.withOrder(Self.definition, .init(), since: .commit(last), until: .commit(first)) { _, _ in }
        }
        try container.withOrder(Self.definition, options(exact: true)) { order in
            #expect(order.outcome == .caughtUp(expected.1), "nobody has read the change by the cache's own reader")
        }
    }
}
