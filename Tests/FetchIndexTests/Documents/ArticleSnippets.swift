import FetchIndex
import Foundation
import Observation
import FetchIndexTestSupport
import Testing

// Examples of articles and of doc comments, word for word; the code around them declares what they use.

private enum Attributes {
    enum Genre: String, AttributeValue, CaseIterable {
        case novel, essay
    }

    struct Address: CodableAttributeValue {
        var street: String
        var number: Int
    }

    final class Author: ManagedObject {
        @Attribute("name", isUnique: true) var name: String
        @Attribute("genre") var genre = Genre.novel
        @Attribute("address") var address: Address?
        @Attribute("tags") var tags: [String] = []
    }

    final class Edition: ManagedObject {
        @Attribute("isbn") var isbn: String
        @Attribute("edition") var edition: Int
        @Attribute("price") var price: Int?

        override class var uniqueAttributes: [[String]] { [["isbn", "edition"]] }
    }

    static func read(_ id: ObjectID, _ context: ManagedObjectContext) throws {
        let author = try context.existingObject(with: id, as: Author.self)
        let genre: Genre = try author.value(of: "genre")
        let raw = try author.value(of: "genre", as: String.self)
        #expect(genre == .novel)
        #expect(raw == "novel")
        let request = FetchRequest<Author>(
            predicate: try FetchPredicate("genre == 'novel'"), sortKeys: [SortKey(\Author.genre)])
        #expect(try context.fetch(request) == [author])
    }

    static func upsert(_ context: ManagedObjectContext) throws {
        context.onUniqueConflict = .update
        let edition = Edition(context: context)
        (edition.isbn, edition.edition, edition.price) = ("9784150309848", 1, 720)
        try context.save()
    }
}

private enum DocComments {
    final class Book: ManagedObject {
        @Attribute("isbn", isUnique: true) var isbn: String
        @Attribute("price") var price: Int?
        @Attribute("pages") var pages = 0
    }

    static func backUp(_ container: PersistentContainer) throws {
        let backup = try container.backup(to: URL(fileURLWithPath: "/backups/monday"))
        print("commit \(backup.commit) in \(backup.byteCount) bytes")
    }

    static func order(_ container: PersistentContainer) throws {
        let definition = OrderDefinition(entity: "Book", sortKeys: [SortKey("price")])
        try container.withOrder(definition, .init(cacheName: "by price")) { order in
            try order.forEachRow(limit: 50) { row in print(try row.value(of: "title")) }
        }
    }
}

private enum GettingStarted {
    final class Book: ManagedObject {
        @Attribute("title") var title: String
        @Attribute("publisher") var publisher: String
        @Attribute("price") var price: Int
        @Attribute("released") var released: Date?
    }
}

private enum Concurrency {
    nonisolated final class Book: ManagedObject {
        @Attribute("title") var title: String
    }
}

@Suite struct ArticleSnippets {
    typealias Book = FetchIndexTests.Book

    private func container(_ classes: ManagedObject.Type) throws -> PersistentContainer {
        try PersistentContainer(temporaryWith: Model(classes))
    }

    private func readmeBatchJob(_ container: PersistentContainer) throws {
        let definition = OrderDefinition(
            entity: "Book", predicate: try FetchPredicate("price < %d", 2000),
            sortKeys: [SortKey("price", .descending)], sectionKey: .attribute("publisher"))
        try container.withOrder(definition, .init(cacheName: "cheap books")) { order in
            print(order.outcome, order.rowCount)
            try order.forEachRow(from: 1_000_000, limit: 50) { row in print(try row.value(of: "title")) }
        }
    }

    private func insertBooks(_ context: ManagedObjectContext) throws {
        let book = Book(context: context)
        book.title = "虐殺器官"
        book.publisher = "早川書房"
        book.price = 583
        try context.save()
    }

    @Test func theExampleOfAttributesWorksAsDocumented() throws {
        let container = try container(Attributes.Author.self)
        let context = container.newContext()
        let new = Attributes.Author(context: context)
        new.name = "伊藤計劃"
        try context.save()
        try Attributes.read(new.objectID, context)
    }

    @Test func theExampleOfUniqueAttributesWorksAsDocumented() throws {
        let container = try container(Attributes.Edition.self)
        for _ in 0..<2 { try Attributes.upsert(container.newContext()) }
        let context = container.newContext()
        #expect(try context.fetch(FetchRequest<Attributes.Edition>()).map(\.price) == [720])
    }

    @MainActor @Test func theExampleOfChangeBatchesWorksAsDocumented() async throws {
        var list: [[ObjectID]]
        let container = try container(Book.self)
        let context = container.newContext()
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Book>(sortKeys: [SortKey(\.title)]), context: context)
        try controller.performFetch()
        list = controller.snapshot.objectIDs
        #expect(list == [[]])
        Task {
            try insertBooks(context)
            try insertBooks(context)
        }
        await follow(controller)
        #expect(controller.fetchedObjects?.count == 2)
    }

    @MainActor private func follow(_ controller: FetchedResultsController<Book>) async {
        let counting = Task {
            for await count in Observations({ controller.fetchedObjects?.count ?? 0 }) {
                print("\(count) books")
            }
        }
        while controller.fetchedObjects?.count != 2 { await Task.yield() }
        counting.cancel()
    }

    @Test func theExampleOfConcurrencyWorksAsDocumented() async throws {
        let container = try container(Book.self)
        let count = try await container.perform { context in
            let request = FetchRequest<Book>(predicate: try FetchPredicate("price == nil"), sortKeys: [])
            for book in try context.fetch(request) { context.delete(book) }
            try context.save()
            return try context.count(for: FetchRequest<Book>())
        }
        #expect(count == 0)
    }

    @Test func theExampleOfBatchJobsWorksAsDocumented() throws {
        let entity = Entity(
            "Book",
            [
                AttributeDescription("isbn", .string, isUnique: true), AttributeDescription("title", .string),
                AttributeDescription("price", .integer), AttributeDescription("publisher", .string),
            ])
        let container = try PersistentContainer(temporaryWith: Model(entities: [entity]))
        let rows: [[Value]] = [["1", "虐殺器官", 583, "早川書房"], ["2", "火花", 1200, "文藝春秋"]]
        let context = container.newContext()
        try context.execute(BatchInsertRequest(entityName: "Book", rows: rows))

        let definition = OrderDefinition(
            entity: "Book", predicate: try FetchPredicate("price < %d", 2000),
            sortKeys: [SortKey("price", .descending)], sectionKey: .attribute("publisher"))
        var options = PersistentContainer.OrderOptions(cacheName: "books by publisher")
        options.needsExactChange = true
        try container.withOrder(definition, options) { order in
            if case .caughtUp(let change) = order.outcome { print(change) }
            try order.forEachSection { section in
                print(section.name, section.count)
                return true
            }
            try order.forEachRow(from: 1_000_000, limit: 50) { row in print(try row.value(of: "title")) }
        }

        let delta = [("1", Int64(600)), ("3", 1)]
        let writer = try BatchWriter(container, entity: "Book", key: "isbn", author: "nightly")
        for (isbn, price) in delta {
            guard let book = try writer.object(key: .string(isbn)) else { continue }
            var values = try writer.values(of: book)
            values[2] = .integer(price)
            try writer.update(book, values)
        }
        if let outcome = try writer.commit(bringing: definition, cacheName: "books by publisher") { print(outcome) }
        struct PublisherIsGone: Error {}
        writer.beforeCommit = { preview in
            let books = try preview.order(definition, cacheName: "books by publisher")
            let summary = try books.order.summary(of: books.change)
            if summary.sections.contains(where: { $0.to == nil }) { throw PublisherIsGone() }
        }
        try DocComments.order(container)
        try container.withOrder(definition, options) { #expect($0.outcome == .hit) }
    }

    @Test func theExampleOfGettingStartedWorksAsDocumented() async throws {
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path)
        let container = try PersistentContainer(at: url, model: Model(Book.self))
        let context = container.newContext()

        let book = Book(context: context)
        book.title = "虐殺器官"
        book.publisher = "早川書房"
        book.price = 583
        try context.save()

        var request = FetchRequest<Book>()
        request.sortKeys = [SortKey(\.publisher), SortKey(\.price)]
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("publisher"),
            cacheName: "books by publisher")
        let outcome = try controller.performFetch()

        for section in controller.sections {
            print(section.name, section.count)
            for book in section.objects.prefix(3) { print("   ", book.title, book.price) }
        }
        print(controller.indexPath(forObject: book) as Any)
        #expect(outcome == .rebuilt(.first))
        let printing = Task {
            for await change in controller.changes {
                for event in change.sections { print(event) }
                for event in change.rows { print(event) }
            }
        }
        printing.cancel()
    }

    @Test func theExampleOfControllersWorksAsDocumented() throws {
        let context = try container(Book.self).newContext()
        try insertBooks(context)
        let request = FetchRequest<Book>(sortKeys: [SortKey(\.publisher)])
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("publisher"), cacheName: "by publisher")
        try controller.performFetch()
        for section in controller.sections { print(section.name, section.count) }
    }

    @Test func theExampleOfPredicatesWorksAsDocumented() throws {
        let context = try container(Book.self).newContext()
        try insertBooks(context)
        var request = FetchRequest<Book>()
        request.predicate = try FetchPredicate("publisher == %@ AND price < %d", "早川書房", 2000)
        request.predicate = FetchPredicate(\Book.price < 2000 && (\Book.title).contains("影", .caseInsensitive))
        request.predicate = try FetchPredicate(#Predicate<Book> { $0.price < 2000 && $0.title.contains("影") })
        #expect(try context.fetch(request) == [])
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
