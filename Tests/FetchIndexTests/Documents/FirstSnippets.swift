import FetchIndex
import FetchIndexTestSupport
import Testing

// The examples in the doc comments of `ManagedObjectContext.first` and `object(where:is:)`, word for word.

private enum First {
    final class Book: ManagedObject {
        @Attribute("isbn", isUnique: true) var isbn: String
        @Attribute("price") var price = 0
    }

    static func read(_ context: ManagedObjectContext, _ isbn: String, _ predicate: FetchPredicate) throws {
        let book = try context.object(where: \Book.isbn, is: isbn) ?? Book(context: context)
        book.isbn = isbn
        let cheapest = try context.first(Book.self, where: predicate, sortedBy: [SortKey(\.price)])
        #expect(cheapest === book)
    }
}

@Suite struct FirstSnippetTests {
    @Test func oneObjectIsFoundOrInserted() throws {
        let context = try PersistentContainer(temporaryWith: Model([First.Book.self])).newContext()
        for _ in 0..<2 { try First.read(context, "1", FetchPredicate(value: true)) }
        #expect(context.insertedObjects.count == 1)
    }
}
