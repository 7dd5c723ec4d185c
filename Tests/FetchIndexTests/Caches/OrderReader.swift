import FetchIndex
import FetchIndexTestSupport
import Testing

/// A store of items with a cache "c", and exact readers of the cache's order. A reader can be made to fail after it has
/// got its change batch.
struct OrderReader {
    struct Failed: Error {}

    static let model = Model(entities: [
        Entity(
            "Item",
            [
                AttributeDescription("code", .integer, isOptional: false, isUnique: true),
                AttributeDescription("group", .integer), AttributeDescription("size", .integer),
            ])
    ])
    static let definition = OrderDefinition(
        entity: "Item", sortKeys: [SortKey("size")], sectionKey: .attribute("group"))

    let store: LiveStore
    var container: PersistentContainer { store.container }
    var options: PersistentContainer.OrderOptions {
        var options = PersistentContainer.OrderOptions(cacheName: "c")
        options.needsExactChange = true
        return options
    }

    /// Makes a store with twenty items, and lets a first reader read their order.
    init() throws {
        store = try LiveStore(Self.model)
        try put((0..<20).map { ($0, $0 % 3, $0) })
        try container.withOrder(Self.definition, options) { #expect($0.outcome == .rebuilt(.first)) }
    }

    func put(_ items: [(code: Int, group: Int, size: Int)]) throws {
        let writer = try BatchWriter(container, entity: "Item", key: "code")
        try write(items, writer)
        try writer.commit()
    }

    func write(_ items: [(code: Int, group: Int, size: Int)], _ writer: BatchWriter) throws {
        for (code, group, size) in items {
            let values = [code, group, size].map { Value.integer(Int64($0)) }
            if let object = try writer.object(key: values[0]) {
                try writer.update(object, values)
            } else {
                try writer.insert(values)
            }
        }
    }

    func newWriter() throws -> BatchWriter { try BatchWriter(container, entity: "Item", key: "code") }

    /// Writes an item and commits it with `commit(bringing:cacheName:telling:)`. Returns the number of row events that
    /// the reader gets; nil for a rebuild. If `failing`, the reader fails.
    func commit(_ item: (Int, Int, Int), _ writer: BatchWriter, failing: Bool = false) throws -> Int? {
        try write([item], writer)
        var count: Int?
        do {
            try writer.commit(bringing: Self.definition, cacheName: "c") { outcome in
                count = events(outcome)
                if failing { throw Failed() }
            }
        } catch is Failed {}
        return count
    }

    /// Reads the order, and returns the outcome that the reader gets. If `failing`, the reader fails after that.
    func read(failing: Bool = false) throws -> FetchOutcome {
        var outcome: FetchOutcome?
        do {
            try container.withOrder(Self.definition, options) { order in
                outcome = order.outcome
                if failing { throw Failed() }
            }
        } catch is Failed {}
        return try #require(outcome)
    }

    func rows() throws -> [[ObjectID]] {
        try container.withOrder(Self.definition, .init()) { order in
            var rows = [[ObjectID]](repeating: [], count: order.sectionCount)
            try order.forEachRow { rows[$0.path.section].append($0.id) }
            return rows
        }
    }

    /// The number of row events in an outcome; nil if the order was rebuilt or computed.
    func events(_ outcome: FetchOutcome) -> Int? {
        switch outcome {
        case .hit: 0
        case .caughtUp(let change): change.rows.count
        case .pending, .rebuilt, .computed: nil
        }
    }

    /// Trims the whole log, so that a cache that is behind can't catch up.
    func trimLog() throws {
        let context = container.newContext()
        try context.deleteHistory(before: context.commit + 1)
    }
}
