import FetchIndex
import FetchIndexTestSupport
import Testing

/// The exact reader of a maintained cache gets the changes since its last batch, even if rows and sections depend on
/// related objects.
@Suite struct RelatedOrderReaderTests {
    private static let model = Model(entities: [
        Entity(
            "Author", [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("books", toMany: "Book", inverse: "author")]),
        Entity(
            "Book", [AttributeDescription("size", .integer)],
            relationships: [RelationshipDescription("author", toOne: "Author", inverse: "books")]),
    ])

    private static let definitions = [
        OrderDefinition(
            entity: "Book", sortKeys: [SortKey("author.name"), SortKey("size")],
            sectionKey: .relationship("author", name: "name")),
        OrderDefinition(
            entity: "Book", predicate: try? FetchPredicate("author.name > 'c'"), sortKeys: [SortKey("size")],
            sectionKey: .attribute("author.name")),
    ]

    @Test(arguments: 0..<6 as Range<UInt64>, definitions.indices)
    func replayedBatchesGiveAnOrderThatDependsOnRelatedObjects(seed: UInt64, number: Int) throws {
        let definition = Self.definitions[number]
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let store = try LiveStore(Self.model)
        var options = PersistentContainer.OrderOptions(cacheName: "c")
        options.needsExactChange = true
        func rows() throws -> [[ObjectID]] {
            try store.container.withOrder(definition, .init()) { order in
                var rows = [[ObjectID]](repeating: [], count: order.sectionCount)
                try order.forEachRow { rows[$0.path.section].append($0.id) }
                return rows
            }
        }
        try store.container.withOrder(definition, options) { _ in }
        try store.container.setMaintained(true, cacheNamed: "c")
        let context = store.container.newContext()
        var (authors, books): ([ManagedObject], [ManagedObject]) = ([], [])
        var list = try rows()
        /// The rows at each commit.
        var states: [UInt64: [[ObjectID]]] = [:]
        for step in 0..<40 {
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                switch Int.random(in: 0..<8, using: &random) {
                case 0: authors.append(try context.insert("Author"))
                case 1...2:
                    authors.randomElement(using: &random)?["name"] = .string(
                        String("abcdef".randomElement(using: &random)!))
                case 3 where !books.isEmpty:
                    context.delete(books.remove(at: Int.random(in: books.indices, using: &random)))
                case 4 where !authors.isEmpty && step % 7 == 6:
                    context.delete(authors.remove(at: Int.random(in: authors.indices, using: &random)))
                case 5: books.randomElement(using: &random)?.relate("author", to: authors.randomElement(using: &random))
                default:
                    let book = try context.insert("Book")
                    book["size"] = .integer(.random(in: 0..<9, using: &random))
                    book.relate("author", to: authors.randomElement(using: &random))
                    books.append(book)
                }
            }
            try context.save()
            states[try context.commit] = try rows()
            guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
            let outcome = try store.container.withOrder(definition, options) { $0.outcome }
            switch outcome {
            case .hit: break
            case .caughtUp(let change): list = try #require(change.replay(on: list))
            case .pending, .rebuilt, .computed: Issue.record("\(outcome), seed \(seed), step \(step)")
            }
            #expect(try list == rows(), "seed \(seed), step \(step)")
            let first = try #require(states.keys.randomElement(using: &random))
            let last = try #require(states.keys.filter { $0 >= first }.randomElement(using: &random))
            let change = try store.container.withOrder(definition, .init()) {
                try $0.changes(since: .commit(first), until: .commit(last))
            }
            #expect(
                try change.replay(on: #require(states[first])) == states[last],
                "seed \(seed), from \(first) to \(last)")
        }
    }
}
