import FetchIndex
import Foundation
import Observation
import TestSupport
import Testing

enum Kind: String, AttributeValue, CaseIterable {
    case novel, essay
}

struct Residence: CodableAttributeValue {
    var street: String
    var number: Int
}

nonisolated final class Author: ManagedObject {
    @Attribute("name", isUnique: true) var name: String
    @Attribute("genre") var genre = Kind.novel
    @Attribute("address") var address: Residence?
    @Attribute("tags") var tags: [String] = []
}

final class Edition: ManagedObject {
    @Attribute("isbn") var isbn: String
    @Attribute("edition") var edition: Int
    @Attribute("price") var price: Int?

    override class var uniqueAttributes: [[String]] { [["isbn", "edition"]] }
}

/// The examples of the documentation, as they stand there but for names that other tests have.
@Suite struct DocumentsTests {
    @Test func attributes() throws {
        let container = try PersistentContainer(temporaryWith: Model(Author.self))
        let context = container.newContext()
        let new = Author(context: context)
        new.name = "伊藤計劃"
        try context.save()
        let id = new.objectID
        let author = try context.existingObject(with: id, as: Author.self)
        let genre: Kind = try author.value(of: "genre")
        let raw = try author.value(of: "genre", as: String.self)
        #expect(genre == .novel)
        #expect(raw == "novel")
        let request = FetchRequest<Author>(
            predicate: try FetchPredicate("genre == 'novel'"), sortKeys: [SortKey(\Author.genre)])
        #expect(try context.fetch(request) == [author])
    }

    @Test func uniqueAttributes() throws {
        let container = try PersistentContainer(temporaryWith: Model(Edition.self))
        for price in [680, 720] {
            let context = container.newContext()
            context.onUniqueConflict = .update
            let edition = Edition(context: context)
            (edition.isbn, edition.edition, edition.price) = ("9784150309848", 1, price)
            try context.save()  // the stored object with this ISBN and edition, if there is one, has the new price now
            #expect(edition.objectID.number == 1)
        }
        let context = container.newContext()
        #expect(try context.fetch(FetchRequest<Edition>()).map(\.price) == [720])
    }

    @MainActor @Test func observation() async throws {
        let container = try PersistentContainer(temporaryWith: Model(Book.self))
        let context = container.newContext()
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Book>(sortKeys: [SortKey(\.title)]), context: context)
        try controller.performFetch()
        for await count in Observations({ controller.fetchedObjects?.count ?? 0 }) {
            print("\(count) books")
            if count == 2 { break }
            (Book(context: context).title, Book(context: context).title) = ("a", "b")
        }
    }

    @Test func workInTheBackground() async throws {
        let container = try PersistentContainer(temporaryWith: Model(Book.self))
        let count = try await container.perform { context in
            let request = FetchRequest<Book>(predicate: try FetchPredicate("price == nil"), sortKeys: [])
            for book in try context.fetch(request) { context.delete(book) }
            try context.save()
            return try context.count(for: FetchRequest<Book>())
        }
        #expect(count == 0)
    }

    @Test func batchJobs() throws {
        let entity = Entity(
            "Book",
            [
                AttributeDescription("isbn", .string, isUnique: true), AttributeDescription("title", .string),
                AttributeDescription("price", .integer), AttributeDescription("publisher", .string),
            ])
        let container = try PersistentContainer(temporaryWith: Model(entities: [entity]))
        let context = container.newContext()
        let rows: [[Value]] = [["1", "虐殺器官", 583, "早川書房"], ["2", "火花", 1200, "文藝春秋"]]
        try context.execute(BatchInsertRequest(entityName: "Book", rows: rows))
        let definition = OrderDefinition(
            entity: "Book", predicate: try FetchPredicate("price < %d", 2000),
            sortKeys: [SortKey("price", .descending)], sectionKey: .attribute("publisher"))
        var options = PersistentContainer.OrderOptions(cacheName: "books by publisher")
        options.wantsChange = true
        var names: [String] = []
        try container.withOrder(definition, options) { order in
            try order.forEachSection { section in
                names.append(section.name)
                return true
            }
            try order.forEachRow(from: 1_000_000, limit: 50) { row in print(try row.value(of: "title")) }
        }
        #expect(names == ["文藝春秋", "早川書房"])

        let delta = [("1", Int64(600)), ("3", 1)]
        let writer = try BatchWriter(container, entity: "Book", key: "isbn", author: "nightly")
        for (isbn, price) in delta {
            guard let book = try writer.object(key: .string(isbn)) else { continue }
            var values = try writer.values(of: book)
            values[2] = .integer(price)
            try writer.update(book, values)
        }
        let outcome = try writer.commit(bringing: definition, cacheName: "books by publisher")
        guard case .caughtUp(let change) = outcome else {
            Issue.record("\(String(describing: outcome))")
            return
        }
        #expect(change.rows.count == 1)
    }

    @Test func aBookIsCheap() throws {
        let container = try PersistentContainer(temporaryWith: Model(Book.self))
        let context = container.newContext()
        let book = Book(context: context)
        (book.title, book.publisher, book.price) = ("虐殺器官", "早川書房", 583)
        try context.save()
        let cheap = FetchRequest<Book>(predicate: try FetchPredicate("price < 1000"), sortKeys: [SortKey(\.title)])
        #expect(try context.fetch(cheap) == [book])
    }
}
