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

    @Test func theExamplesOfAChangeSinceAPointWorkAsDocumented() throws {
        let container = try PersistentContainer(temporaryWith: Model(Caches.Book.self))
        let definition = OrderDefinition(entity: "Book", sortKeys: [SortKey("publisher")])
        let options = PersistentContainer.OrderOptions(cacheName: "by publisher")
        try container.setBookmark(named: "mail")
        let context = container.newContext()
        for publisher in ["a", "b"] { Caches.Book(context: context).publisher = publisher }
        try context.save()
        try container.withOrder(definition, .init(cacheName: "by price"), since: .bookmark("mail")) { order, change in
            for event in change.rows where event.kind != .delete {
                if let row = try order.row(of: event.id) { print(event.kind, row) }
            }
        }
        let commit = try container.withOrder(definition, options, since: .bookmark("mail")) { order, change in
            print(change.rows.count, "changes, now", order.rowCount, "rows")
            return order.commit
        }
        try container.setBookmark(named: "mail", at: .commit(commit))
        #expect(try container.bookmarks().map(\.commit) == [1])
    }
}
