import FetchIndex
import Foundation
import TestSupport
import Testing

/// The README's example in Swift, as it stands there but for what it prints.
@Suite struct ReadmeTests {
    @Test func theExampleRuns() throws {
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path)
        let book = Entity(
            "Book",
            [
                AttributeDescription("title", .string), AttributeDescription("publisher", .string),
                AttributeDescription("price", .integer),
            ])
        let container = try PersistentContainer(at: url, model: Model(entities: [book]))

        let writer = try BatchWriter(container, entity: "Book")
        try writer.insert(["虐殺器官", "早川書房", 583])
        try writer.commit()

        let definition = OrderDefinition(
            entity: "Book", predicate: try FetchPredicate("price < %d", 2000),
            sortKeys: [SortKey("price", .descending)], sectionKey: .attribute("publisher"))
        for outcome in [OrderOutcome.rebuilt(.first), .hit] {
            try container.withOrder(definition, .init(cacheName: "books by publisher")) { order in
                #expect(order.outcome == outcome)
                try order.forEachSection { section in
                    #expect(section.name == "早川書房" && section.count == 1)
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
