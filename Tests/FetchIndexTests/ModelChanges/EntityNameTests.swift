import FetchIndex
import FetchIndexModels
import FetchIndexTestSupport
import FetchIndexValues
import Testing

/// Entities that are renamed or dropped.
@Suite struct EntityNameTests {
    let store = ModelStore()

    private static func model(_ publisher: String = "Publisher", from former: String? = nil) -> Model {
        Model(entities: [
            Entity(
                "Book", [AttributeDescription("title", .string)],
                relationships: [RelationshipDescription("publisher", toOne: publisher, inverse: "books")]),
            Entity(
                publisher, [AttributeDescription("name", .string, isUnique: true)],
                relationships: [RelationshipDescription("books", toMany: "Book", inverse: "publisher")],
                indexes: [Index(["name"])], renamedFrom: former),
            Entity("Imprint", [AttributeDescription("since", .integer)], superentity: publisher),
        ])
    }

    private func fill(_ container: PersistentContainer) throws {
        let context = container.newContext()
        for (number, name) in ["Knopf", "Gollancz", "Orbit"].enumerated() {
            let publisher = try context.insert(number == 2 ? "Imprint" : "Publisher")
            publisher["name"] = .string(name)
            for place in 0...number {
                let book = try context.insert("Book")
                book["title"] = .string("\(name) \(place)")
                book.relate("publisher", to: publisher)
            }
        }
        try context.save()
    }

    private func open(_ entity: String, _ sort: String, _ name: String, _ container: PersistentContainer) throws
        -> (FetchOutcome, [String])
    {
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: entity)
        request.sortKeys = try SortKey<ManagedObject>.list(parsing: sort)
        let controller = try FetchedResultsController(fetchRequest: request, context: context, cacheName: name)
        let outcome = try controller.performFetch()
        return (outcome, controller.fetchedObjects?.map { "\($0.entity.name) \($0.objectID)" } ?? [])
    }

    @Test func aRenamedEntityKeepsItsObjectsCachesAndLinks() throws {
        let container = try store.open(Self.model())
        try fill(container)
        let names = try open("Publisher", "name:desc", "names", container).1
        let titles = try open("Book", "publisher.name,title", "titles", container).1
        let plan = try container.plan(for: Self.model("House", from: "Publisher"))
        #expect(plan.steps.map(\.description) == ["House: rename Publisher to this name (free: no record changes)"])
        let renamed = try store.open(Self.model("House", from: "Publisher"))
        let (outcome, houses) = try open("House", "name:desc", "names", renamed)
        #expect(outcome == .hit)
        #expect(houses == names.map { $0.replacing("Publisher", with: "House") })
        #expect(try open("Book", "publisher.name,title", "titles", renamed) == (.hit, titles))
        #expect(try renamed.check { _, _ in } == [])
        #expect(try renamed.plan(for: Self.model("House", from: "Publisher")).isEmpty)
        #expect(try renamed.namedCaches().first { $0.name == "names" }?.contents?.request.entity == "House")
        // Objects can be saved and found, and the index is maintained.
        let context = renamed.newContext()
        let house = try context.insert("House")
        house["name"] = .string("Tor")
        try context.save()
        #expect(try context.object(of: "House", where: "name", is: .string("Tor")) === house)
        #expect(try renamed.check { _, _ in } == [])
    }

    /// A predicate compares with the names that entities have now.
    @Test func aCacheThatUsesNamesOfEntitiesIsUnusable() throws {
        let container = try store.open(Self.model())
        try fill(container)
        func open(_ entity: String) throws -> FetchOutcome {
            let request = FetchRequest<ManagedObject>(
                entityName: entity, predicate: try FetchPredicate("entity == 'Publisher'"), sortKeys: [SortKey("name")])
            let context = container.newContext()
            return try FetchedResultsController(fetchRequest: request, context: context, cacheName: "own")
                .performFetch()
        }
        #expect(try open("Publisher") == .rebuilt(.first))
        try container.migrate(to: Self.model("House", from: "Publisher"))
        #expect(try container.namedCaches().first { $0.name == "own" }?.state == .unusable(.modelChanged))
        #expect(try open("House") == .rebuilt(.modelChanged))
    }

    @Test func aProgramThatKnowsTheOldNameIsRefused() throws {
        let old = try store.open(Self.model())
        try fill(old)
        let context = old.newContext()
        let book = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
        let new = try store.open(Self.model("House", from: "Publisher"))
        book["title"] = .string("other")
        #expect(throws: StoreError.modelMismatch(entity: "Publisher", "it is called House now")) { try context.save() }
        let error = #expect(throws: StoreError.self) { try store.open(Self.model()) }
        #expect(error.map { "\($0)" }?.contains("it is called House now") == true)
        #expect(try new.model().entities.map(\.name) == ["Book", "House", "Imprint"])
    }

    @Test func anEntityIsRenamedAgainAndBack() throws {
        let container = try store.open(Self.model())
        try fill(container)
        let names = try open("Publisher", "name", "names", container).1
        try container.migrate(to: Self.model("House", from: "Publisher"))
        try container.migrate(to: Self.model("Company", from: "House"))
        try container.migrate(to: Self.model("Publisher", from: "Company"))
        #expect(try open("Publisher", "name", "names", container) == (.hit, names))
        #expect(try container.check { _, _ in } == [])
        // A new entity of a name that another one had gets caches of its own.
        try container.migrate(to: Self.model("House", from: "Publisher"))
        let added = Model(
            entities: Self.model("House").entities + [Entity("Publisher", [AttributeDescription("name", .string)])])
        let both = try store.open(added)
        #expect(try open("Publisher", "name", "names", both) == (.rebuilt(.modelChanged), []))
        #expect(try open("House", "name", "names", both).0 == .rebuilt(.modelChanged))
        #expect(try both.check { _, _ in } == [])
    }

    @Test func aRenamingIdentifierThatLastsThroughVersionsIsFollowed() throws {
        let container = try store.open(Self.model())
        try fill(container)
        try container.migrate(to: Self.model("House", from: "Publisher"))
        // The next versions still name the first name, as Core Data's models do, or are older.
        let next = try Self.model("Company", from: "Publisher").replacing(container.model())
        try container.migrate(to: next)
        #expect(try container.model().entities.map(\.name) == ["Book", "Company", "Imprint"])
        try container.migrate(to: Self.model().replacing(container.model()))
        #expect(try container.model().entities.map(\.name) == ["Book", "Publisher", "Imprint"])
        #expect(try container.newContext().count(for: FetchRequest<ManagedObject>(entityName: "Publisher")) == 3)
    }

    @Test func removedEntitiesAreDroppedWithTheirObjectsCachesAndRelationships() throws {
        let container = try store.open(Self.model())
        try fill(container)
        _ = try open("Publisher", "name", "names", container)
        _ = try open("Book", "title", "titles", container)
        let books = Entity("Book", [AttributeDescription("title", .string)])
        let incomplete = Model(entities: [books], removed: ["Publisher"])
        let error = #expect(throws: StoreError.self) { try container.migrate(to: incomplete) }
        #expect(error.map { "\($0)" }?.contains("cannot be dropped while its subentity Imprint stays") == true)
        let model = Model(entities: [books], removed: ["Publisher", "Imprint", "Unknown"])
        #expect(throws: StoreError.self) { try store.open(model) }
        #expect(
            try container.plan(for: model).steps.map(\.description) == [
                "Book: remove publisher (pass: its links are deleted)",
                "Publisher: remove books (pass: its links are deleted)",
                "Imprint: remove books (pass: its links are deleted)",
                "Imprint: drop the entity (pass: its objects are deleted)",
                "Publisher: drop the entity (pass: its objects are deleted)",
            ])
        let migrated = try store.open(model, .automatic)
        #expect(try migrated.model().entities.map(\.name) == ["Book"])
        #expect(try migrated.namedCaches().map(\.name).sorted() == ["titles"])
        #expect(try open("Book", "title", "titles", migrated).1.count == 6)
        #expect(try migrated.check { _, _ in } == [])
        // A program that removes an entity which a newer program has added again leaves it alone.
        _ = try store.open(Model(entities: [Entity("Publisher", [AttributeDescription("name", .string)])]))
        _ = try store.open(model, .automatic)
        #expect(try migrated.model().entities.map(\.name) == ["Book", "Publisher"])
        #expect(throws: StoreError.self) {
            try store.open(Model(entities: [Entity("Book", [])], removed: ["Book"]))
        }
    }

    @Test func aClassNamesTheFormerEntity() throws {
        final class Volume: ManagedObject {
            @Attribute("title") var title: String
            @Attribute("price") var price: Int?

            override class var renamedFrom: String? { "Book" }
        }
        try store.fill(store.open(ModelStore.first))
        let context = try store.open(Model(Volume.self)).newContext()
        #expect(try context.fetch(FetchRequest<Volume>()).last?.title == "book 9")
    }
}
