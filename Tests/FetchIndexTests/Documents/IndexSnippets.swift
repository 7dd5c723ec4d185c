import FetchIndex
import FetchIndexTestSupport
import Testing

// The examples of the article "Indexes and derived attributes", word for word.

private enum Indexes {
    final class Book: ManagedObject {
        @Attribute("isbn", isUnique: true) var isbn: String
        @Attribute("publisher", indexed: true) var publisher: String?
        @Attribute("price") var price: Int?

        override class var indexes: [Index] { [Index(["publisher", "price:desc"])] }
    }

    final class Line: ManagedObject {
        @Attribute("name") var name: String?
        @Attribute("price") var price: Int?
        @Attribute("count") var count = 1
        @Attribute("total", derivedBy: "price * count") var total: Int?
        @Attribute("sortName", indexed: true, derivedBy: "canonical:(name)") var sortName: String?
    }
}

@Suite struct IndexSnippets {
    @Test func theExampleOfIndexesWorksAsDocumented() throws {
        let container = try PersistentContainer(temporaryWith: Model(Indexes.Book.self, Indexes.Line.self))
        let context = container.newContext()
        for number in 0..<40 {
            let book = Indexes.Book(context: context)
            book.isbn = "\(number)"
            book.publisher = number % 8 == 0 ? "早川書房" : "other"
            book.price = number * 100
        }
        let line = Indexes.Line(context: context)
        line.name = "Über"
        line.price = 3
        line.count = 4
        try context.save()
        let predicate = try FetchPredicate("publisher == '早川書房' AND price > 1000")
        let plan = try container.plan(OrderDefinition(entity: "Book", predicate: predicate))
        #expect(plan.source == .order(name: "index:Book(publisher,price:desc)", attribute: "publisher, price"))
        #expect(plan.rowsRead == 3)
        #expect(line.total == 12)
        #expect(line.sortName == "uber")
        withExtendedLifetime(context) {}
    }
}
