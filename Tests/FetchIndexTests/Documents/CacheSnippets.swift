import FetchIndex
import FetchIndexTestSupport
import Testing

// The example of a cache's history in the article "Named caches", word for word.

private enum Caches {
    final class Book: ManagedObject {
        @Attribute("publisher") var publisher: String
    }
}

@Suite struct CacheSnippets {
    @Test func theExampleOfACacheHistoryWorksAsDocumented() throws {
        let container = try PersistentContainer(temporaryWith: Model(Caches.Book.self))
        let definition = OrderDefinition(entity: "Book", sortKeys: [SortKey("publisher")])
        try container.withOrder(definition, .init(cacheName: "by publisher")) { _ in }
        for opening in try container.cacheHistory("by publisher").openings {
            print(opening.date, opening.kind, opening.milliseconds, opening.processName, opening.author)
        }
        #expect(try container.cacheHistory("by publisher").openings.count == 1)
    }
}
