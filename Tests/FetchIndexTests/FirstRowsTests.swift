import Foundation
import TestSupport
import Testing

@testable import FetchIndex

/// A fetch with a limit drops keys beyond those that it wants, and finishes none of them. Its objects are the first of a fetch
/// without limit. Keys are dropped from 4,096 of a thread on, so the tests have more.
@Suite struct FirstRowsTests {
    private let folder = TemporaryFolder()
    private let container: PersistentContainer

    private static let shelf = Entity(
        "Shelf", [AttributeDescription("label", .string)],
        relationships: [RelationshipDescription("books", toMany: "Book", inverse: "shelf")])
    private static let book = Entity(
        "Book",
        [
            AttributeDescription("title", .string), AttributeDescription("price", .integer),
            AttributeDescription("rate", .double),
        ], relationships: [RelationshipDescription("shelf", toOne: "Shelf", inverse: "books")])

    init() throws {
        container = try PersistentContainer(
            at: URL(fileURLWithPath: folder.path), model: Model(entities: [Self.shelf, Self.book]), durability: .none)
        let context = container.newContext()
        let shelves = try (0..<5).map { number in
            let shelf = try context.insert("Shelf")
            shelf["label"] = .string("shelf \(number * 7 % 5)")
            return shelf
        }
        let titles = ["Äpfel", "apfel", "Zebra", "zebra", "影", "file2", "file10", ""]
        for number in 0..<6000 {
            let book = try context.insert("Book")
            book["title"] = number % 11 == 0 ? .null : .string(titles[number * 31 % 8] + "\(number % 97)")
            book["price"] = number % 13 == 0 ? .null : .integer(Int64(number * 7919 % 501))
            book["rate"] = .double([0.5, -0.0, 0, .infinity, 7][number % 5])
            if number % 6 < 5 { book.relate("shelf", to: shelves[number % 6]) }
        }
        try context.save()
    }

    @Test(arguments: [
        [SortKey<ManagedObject>("title", .descending), SortKey("price")],
        [SortKey("title", .ascending, .localizedStandard("en")), SortKey("rate", .descending)],
        [SortKey("rate"), SortKey("price", .descending), SortKey("title")],
        [SortKey("price")], [SortKey("shelf.label", .descending), SortKey("price"), SortKey("title")],
    ])
    func theFirstObjectsAreThoseOfAll(sortKeys: [SortKey<ManagedObject>]) throws {
        for format in ["TRUEPREDICATE", "price > 3", "shelf.label != 'shelf 1'", "title CONTAINS[cd] 'AP'"] {
            let context = container.newContext()
            for isEdited in [false, true] {
                if isEdited {
                    let request = FetchRequest<ManagedObject>(entityName: "Book")
                    for (index, book) in try context.fetch(request).enumerated() where index % 400 == 0 {
                        if index % 800 == 0 { book["price"] = .integer(Int64(index)) } else { context.delete(book) }
                    }
                    for price in [-5, 250, 1000] { try context.insert("Book")["price"] = .integer(Int64(price)) }
                }
                var request = FetchRequest<ManagedObject>(entityName: "Book")
                request.predicate = try FetchPredicate(format)
                request.sortKeys = sortKeys
                let all = try context.fetch(request).map(\.objectID)
                for (offset, limit) in [(0, 1), (0, 100), (37, 5), (all.count - 2, 10)] {
                    (request.fetchOffset, request.fetchLimit) = (offset, limit)
                    let some = try context.fetch(request).map(\.objectID)
                    #expect(
                        some == Array(all.dropFirst(offset).prefix(limit)),
                        "\(sortKeys), \(format), edited: \(isEdited), from \(offset), \(limit) objects")
                }
            }
        }
    }
}
