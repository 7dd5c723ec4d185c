import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

// The example of aggregates in the article "Sections", word for word.

@Suite struct AggregateSnippets {
    @Test func theExampleOfAggregatesWorksAsDocumented() throws {
        let container = try PersistentContainer(temporaryWith: Model(Book.self))
        let context = container.newContext()
        for (title, price) in [("a", 100), ("b", 300)] {
            let book = Book(context: context)
            (book.title, book.publisher, book.price) = (title, "早川書房", price)
        }
        try context.save()
        var request = FetchRequest<Book>(sortKeys: [SortKey(\.title)])
        request.aggregates = [.sum(\.price), .max(\.released), .count(\.released)]
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("publisher"), cacheName: "prices")
        try controller.performFetch()
        for section in controller.sections { print(section.name, section.aggregate(.sum(\.price))) }
        let average = controller.aggregate(.average(\.price), in: 0..<2)  // of the first two rows
        #expect(average == .double(200))
        #expect(controller.sections[0].aggregate(.count(\.released)) == .integer(0))
    }
}
