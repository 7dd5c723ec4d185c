import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

// The examples of aggregates in the articles "Sections" and "Fingerprints", word for word.

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

    @Test func theExampleOfComparedOrdersWorksAsDocumented() throws {
        let containers = try [["a", "b"], ["a", "c"]].map { titles in
            let container = try PersistentContainer(temporaryWith: Model(Book.self))
            let writer = try BatchWriter(container, entity: "Book")
            for title in titles { try writer.insert([.string(title), .string("P"), .integer(1), .null]) }
            try writer.commit()
            return container
        }
        let definition = OrderDefinition(entity: "Book", sortKeys: [SortKey("title")], aggregates: [.fingerprint])
        var count = 0
        try containers[0].withOrder(definition, .init()) { first in
            try containers[1].withOrder(definition, .init()) { second in
                try first.forEachDifference(from: second) { row, isInOther in
                    print(isInOther ? "+" : "-", try row.value(of: "title"))
                }
                try first.forEachDifference(from: second) { _, _ in count += 1 }
            }
        }
        #expect(count == 2)
    }
}
