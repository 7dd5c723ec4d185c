import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndex

/// A fetch with a limit must find the first objects of the fetch without a limit. For a limit of at most 50,000, a
/// thread that has 256 row keys, or four times the limit if that is more, drops the keys beyond the limit. It then stops
/// making a row key as soon as the key is greater than all kept keys. For small limits, the tests have enough objects
/// for both.
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
            AttributeDescription("rate", .double), AttributeDescription("day", .date),
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
        let titles = ["Äpfel", "apfel", "Zebra", "zebra", "影", "file2", "file10", "", "a\0", "a\0b", "a"]
        for number in 0..<6000 {
            let book = try context.insert("Book")
            book["title"] = number % 11 == 0 ? .null : .string(titles[number * 31 % 11] + "\(number % 97)")
            book["price"] = number % 13 == 0 ? .null : .integer(Int64(number * 7919 % 501))
            book["rate"] = number % 17 == 0 ? .null : .double([0.5, -0.0, 0, .infinity, 7, .nan, -3][number % 7])
            book["day"] =
                number % 19 == 0
                ? .null : .date(Date(timeIntervalSinceReferenceDate: Double(number * 31 % 4000 - 2000)))
            if number % 6 < 5 { book.relate("shelf", to: shelves[number % 6]) }
        }
        try context.save()
    }

    private static let orders: [[SortKey<ManagedObject>]] = [
        [SortKey("title", .descending), SortKey("price")],
        [SortKey("title", .ascending, .localizedStandard("en")), SortKey("rate", .descending)],
        [SortKey("rate"), SortKey("price", .descending), SortKey("title")],
        [SortKey("price")], [SortKey("price", .descending)], [SortKey("title")], [SortKey("rate", .descending)],
        [SortKey("day"), SortKey("title")], [SortKey("day", .descending)],
        [SortKey("shelf.label", .descending), SortKey("price"), SortKey("title")], [],
    ]

    @Test(arguments: orders)
    func aLimitGivesTheFirstObjectsOfTheWholeOrder(sortKeys: [SortKey<ManagedObject>]) throws {
        for format in ["", "price > 3", "shelf.label != 'shelf 1'", "title CONTAINS[cd] 'AP'"] {
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
                request.predicate = format.isEmpty ? nil : try FetchPredicate(format)
                request.sortKeys = sortKeys
                let all = try context.fetch(request).map(\.objectID)
                for (offset, limit) in [(0, 1), (0, 100), (37, 5), (all.count - 2, 10)] {
                    (request.fetchOffset, request.fetchLimit) = (offset, limit)
                    let some = try context.fetch(request).map(\.objectID)
                    #expect(
                        some == Array(all.dropFirst(offset).prefix(limit)),
                        "\(sortKeys), \(format), edited: \(isEdited), from \(offset), \(limit) objects")
                }
                if isEdited { continue }
                for countsAll in [false, true] {
                    var options = PersistentContainer.OrderOptions()
                    options.limitRows(to: 10, countingAll: countsAll)
                    let definition = OrderDefinition(entity: "Book", predicate: request.predicate, sortKeys: sortKeys)
                    try container.withOrder(definition, options) { order in
                        #expect(order.memberCount == (countsAll ? all.count : min(10, all.count)))
                        var first: [ObjectID] = []
                        try order.forEachRow { first.append($0.id) }
                        #expect(first == Array(all.prefix(10)), "\(sortKeys), \(format), counted: \(countsAll)")
                    }
                }
            }
        }
    }

    /// Two entities with different slots have enough objects for several threads. Some records lack values of
    /// attributes that were added later.
    @Test func aLimitGivesTheFirstObjectsOverSeveralThreadsAndEntities() throws {
        let folder = TemporaryFolder()
        let attributes = [AttributeDescription("title", .string), AttributeDescription("price", .integer)]
        func open(adding added: [AttributeDescription]) throws -> PersistentContainer {
            let comic = Entity("Comic", [AttributeDescription("volume", .integer)], superentity: "Book")
            return try PersistentContainer(
                at: URL(fileURLWithPath: folder.path),
                model: Model(entities: [Entity("Book", attributes + added), comic]),
                migration: .freeChanges, durability: .none)
        }
        func insert(_ container: PersistentContainer, _ numbers: Range<Int>, stock: Bool) throws {
            let context = container.newContext()
            for number in numbers {
                let book = try context.insert(number % 2 == 0 ? "Book" : "Comic")
                book["title"] = .string("title \(number * 7919 % 10_007)")
                book["price"] = number % 13 == 0 ? .null : .integer(Int64(number * 31 % 5003))
                if stock { book["stock"] = .integer(Int64(number % 100)) }
            }
            try context.save()
        }
        func check(
            _ container: PersistentContainer, _ keys: [[SortKey<ManagedObject>]], _ formats: [String] = []
        ) throws {
            let context = container.newContext()
            for sortKeys in keys {
                for format in ["", "title CONTAINS '1'", "price > 100"] + formats {
                    var request = FetchRequest<ManagedObject>(entityName: "Book")
                    request.predicate = format.isEmpty ? nil : try FetchPredicate(format)
                    request.sortKeys = sortKeys
                    let all = try context.fetch(request).map(\.objectID)
                    request.fetchLimit = 50
                    let some = try context.fetch(request).map(\.objectID)
                    #expect(all.count > 9000 && some == Array(all.prefix(50)), "\(sortKeys), \(format)")
                    let definition = OrderDefinition(entity: "Book", predicate: request.predicate, sortKeys: sortKeys)
                    // Each entity has 15,000 objects or more. For a request without sort keys, one thread reads about
                    // the first 8,192 objects alone.
                    let limits = sortKeys.isEmpty ? [50, 8200, 50_000] : [50, 50_000]
                    for most in TestSettings.isLong ? [1, 50, 8192, 8200, 20_000, 50_000] : limits {
                        var options = PersistentContainer.OrderOptions()
                        options.limitRows(to: most, countingAll: false)
                        try container.withOrder(definition, options) { order in
                            var first: [ObjectID] = []
                            try order.forEachRow { first.append($0.id) }
                            #expect(first == Array(all.prefix(most)), "\(sortKeys), \(format), \(most) rows")
                        }
                    }
                }
            }
        }
        let keys: [[SortKey<ManagedObject>]] = [
            [SortKey("price")], [SortKey("price", .descending), SortKey("title")], [SortKey("title")],
            [SortKey("title", .descending)], [],
        ]
        do {
            let container = try open(adding: [])
            try insert(container, 0..<30_000, stock: false)
            try check(container, keys)
        }
        let added = try open(adding: [
            AttributeDescription("stock", .integer, defaultValue: .integer(50)),
            AttributeDescription("label", .string, defaultValue: .string("new")),
            AttributeDescription("weight", .double, isOptional: false, defaultValue: .double(1.5)),
        ])
        try insert(added, 30_000..<34_000, stock: true)
        try check(
            added,
            (TestSettings.isLong ? keys : Array(keys.prefix(1))) + [
                [SortKey("stock")], [SortKey("stock", .descending), SortKey("price")],
            ],
            ["stock > 49", "stock == 50 AND label CONTAINS 'w'", "weight == 1.5", "weight + stock > 50"])
        // Old objects have the default value, and new objects have the values that they were given.
        let context = added.newContext()
        for (format, count) in [
            ("stock == 50", 30_040), ("stock > 50", 4 * 490), ("label == 'new'", 34_000), ("label CONTAINS 'x'", 0),
            ("weight < 2", 34_000), ("weight == nil", 0),
        ] {
            var request = FetchRequest<ManagedObject>(entityName: "Book")
            request.predicate = try FetchPredicate(format)
            #expect(try context.fetch(request).count == count, "\(format)")
        }
    }
}
