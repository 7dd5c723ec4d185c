import FetchIndex
import FetchIndexOrderCaches
import FetchIndexTestSupport
import Testing

/// Maintained caches: writers keep them current.
@Suite struct MaintainedCacheTests {
    private func filled() throws -> PersistentContainer {
        let container = try PersistentContainer(temporaryWith: IndexTests.plain)
        let writer = try BatchWriter(container, entity: "Book", key: "isbn")
        for number in 0..<100 {
            try writer.insert([
                .integer(Int64(number)), .string("publisher \(number % 10)"), .integer(Int64(number * 7 % 50)),
            ])
        }
        try writer.commit()
        return container
    }

    private func request(_ format: String) throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.predicate = try FetchPredicate(format: format, argumentArray: [])
        return request
    }

    /// Another request replaces a maintained cache under its name.
    @Test func aReplacedCacheStaysMaintainedForItsNewRequest() throws {
        let container = try filled()
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.sortKeys = [SortKey("price")]
        let controller = try FetchedResultsController(fetchRequest: request, context: context, cacheName: "by price")
        try controller.performFetch()
        try container.setMaintained(true, cacheNamed: "by price")
        let other = OrderDefinition(entity: "Book", sortKeys: [SortKey("price", .descending)])
        try container.withOrder(other, .init(cacheName: "by price")) { _ in }
        controller.fetchedObjects?[3]["price"] = .integer(777)
        try context.save()
        #expect(try container.cacheStatistics().map(\.isFresh) == [true])
        #expect(try container.check { _, _ in } == [])
        withExtendedLifetime(controller) {}
    }

    @Test func aCacheIsKeptCurrentOnlyWhileItIsMaintained() throws {
        let container = try filled()
        let byPrice = OrderDefinition(
            entity: "Book", predicate: try FetchPredicate("price > 5"), sortKeys: [SortKey("price")],
            sectionKey: .attribute("publisher"))
        func isFresh() throws -> Bool? { try container.cacheStatistics().first { $0.name == "by price" }?.isFresh }
        try container.withOrder(byPrice, .init(cacheName: "by price")) { _ in }
        let context = container.newContext()
        func change() throws {
            for book in try context.fetch(request("isbn < 10")) {
                book["price"] = .integer(Int64.random(in: 0..<100))
            }
            try context.save()
        }
        try change()
        #expect(try isFresh() == false)
        try container.setMaintained(true, cacheNamed: "by price")
        #expect(try isFresh() == true)
        for _ in 0..<5 {
            try change()
            #expect(try isFresh() == true)
        }
        #expect(try container.check { _, _ in } == [])
        try container.setMaintained(false, cacheNamed: "by price")
        try change()
        #expect(try isFresh() == false)
        // A cache that was deleted and built again is not maintained.
        try container.setMaintained(true, cacheNamed: "by price")
        try container.deleteCache(named: "by price")
        try container.withOrder(byPrice, .init(cacheName: "by price")) { _ in }
        try change()
        #expect(try isFresh() == false)
        #expect(throws: (any Error).self) { try container.setMaintained(true, cacheNamed: "missing") }
    }
}
