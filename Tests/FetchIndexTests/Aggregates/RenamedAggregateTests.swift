import FetchIndex
import FetchIndexTestSupport
import Testing

/// Aggregates of attributes that are renamed or converted.
@Suite struct RenamedAggregateTests {
    private func store() throws -> LiveStore {
        let store = try LiveStore(
            Model(entities: [
                Entity("Item", [AttributeDescription("group", .string), AttributeDescription("price", .integer)])
            ]))
        let writer = try BatchWriter(store.container, entity: "Item")
        for row in 0..<50 { try writer.insert([.string("g\(row % 3)"), .integer(Int64(row))]) }
        try writer.commit()
        return store
    }

    private func fetch(
        _ store: LiveStore, _ aggregates: [Aggregate<ManagedObject>], sums: [Aggregate<ManagedObject>]
    ) throws -> (FetchOutcome, [Value]) {
        var request = FetchRequest<ManagedObject>(entityName: "Item")
        request.sortKeys = [SortKey("group")]
        request.aggregates = aggregates
        let context = store.container.newContext()
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("group"), cacheName: "c")
        let outcome = try controller.performFetch()
        return (outcome, sums.map { controller.aggregate($0, in: 0..<50) })
    }

    @Test func anAggregateMayUseTheFormerNameOfAnAttribute() throws {
        let store = try store()
        #expect(try fetch(store, [.sum("price")], sums: [.sum("price")]) == (.rebuilt(.first), [.integer(1225)]))
        try store.container.migrate(
            to: Model(entities: [
                Entity(
                    "Item",
                    [
                        AttributeDescription("group", .string),
                        AttributeDescription("cost", .integer, renamedFrom: "price"),
                    ])
            ]))
        #expect(
            try fetch(store, [.sum("price")], sums: [.sum("price"), .sum("cost")]) == (
                .hit, [.integer(1225), .integer(1225)]
            ))
        #expect(try fetch(store, [.sum("cost")], sums: [.average("cost")]) == (.hit, [.double(24.5)]))
        #expect(try fetch(store, [.sum("price"), .average("cost")], sums: [.sum("cost")]) == (.hit, [.integer(1225)]))
        #expect(try store.container.verifyCache("c") == [])
    }

    @Test func aCacheIsRebuiltIfAnAggregatedAttributeIsConverted() throws {
        let store = try store()
        _ = try fetch(store, [.sum("price")], sums: [])
        try store.container.migrate(
            to: Model(entities: [
                Entity("Item", [AttributeDescription("group", .string), AttributeDescription("price", .double)])
            ]))
        let (outcome, sums) = try fetch(store, [.sum("price")], sums: [.sum("price")])
        guard case .rebuilt = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(sums == [.double(1225)])
    }
}
