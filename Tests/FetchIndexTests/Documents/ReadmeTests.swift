import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

private enum Readme {
    final class Book: ManagedObject {
        @Attribute("title") var title: String
        @Attribute("publisher") var publisher: String
        @Attribute("price") var price: Int
    }
}

/// The README's examples in Swift: one test compiles them word for word, and the others run similar code.
@Suite struct ReadmeTests {
    /// The README's Swift blocks, one after the other, compile as one file of a user's program, of ten lines.
    @Test(.enabled(if: UserProgram.canBeCompiled)) func theReadmesSwiftCompilesAsOneProgram() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        let blocks = text.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        let program = blocks.joined(separator: "\n")
        let lines = program.split(separator: "\n").filter { !$0.allSatisfy(\.isWhitespace) }
        #expect((5...10).contains(lines.count), "\(lines.count) lines")
        #expect(try UserProgram(program).complaints() == "")
    }

    @MainActor @Test func theReadmesExampleRuns() async throws {
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path)
        let container = try PersistentContainer(at: url, model: Model(Book.self))
        let context = container.newContext()
        context.automaticallyMergesChanges = true

        let book = Book(context: context)
        (book.title, book.publisher, book.price) = ("虐殺器官", "早川書房", 583)
        try context.save()

        let printing = Task { try await example(context) }
        while try container.cacheStatistics().isEmpty { await Task.yield() }
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Book>(sortKeys: [SortKey(\.title)]), context: context)
        try controller.performFetch()
        var changes = controller.changes.makeAsyncIterator()
        book.price = 1000
        try context.save()
        let first = RowPath(section: 0, row: 0)
        #expect(await changes.next()?.rows == [.update(book.objectID, from: first, to: first)])
        printing.cancel()
        try await printing.value
    }

    @MainActor private func example(_ context: ManagedObjectContext) async throws {
        let books = try FetchedResultsController(
            fetchRequest: FetchRequest<Book>(sortKeys: [SortKey(\.title)]), context: context,
            sectionKey: .prefix(\.title, 1), cacheName: "books by letter")
        print(try books.performFetch(), books.sections.map(\.name))  // rebuilt (first); after that, a hit
        for await change in books.changes { print(change) }
    }

    @Test func anOrderIsReadWithoutAContext() throws {
        let folder = TemporaryFolder()
        let book = Entity(
            "Book",
            [
                AttributeDescription("title", .string), AttributeDescription("publisher", .string),
                AttributeDescription("price", .integer),
            ])
        let container = try PersistentContainer(
            at: URL(fileURLWithPath: folder.path), model: Model(entities: [book]))
        let writer = try BatchWriter(container, entity: "Book")
        try writer.insert(["虐殺器官", "早川書房", 583])
        try writer.commit()
        let definition = OrderDefinition(
            entity: "Book", predicate: try FetchPredicate("price < %d", 2000),
            sortKeys: [SortKey("price", .descending)], sectionKey: .attribute("publisher"))
        for outcome in [FetchOutcome.rebuilt(.first), .hit] {
            try container.withOrder(definition, .init(cacheName: "books by publisher")) { order in
                #expect(order.outcome == outcome)
                try order.forEachSection { section in
                    #expect(section.name == "早川書房")
                    #expect(section.count == 1)
                    return true
                }
                try order.forEachRow(limit: 50) { row in
                    let title = try row.value(of: "title")
                    #expect(title == "虐殺器官")
                }
            }
        }
        #expect(try container.cacheStatistics().map(\.isFresh) == [true])
    }
}
