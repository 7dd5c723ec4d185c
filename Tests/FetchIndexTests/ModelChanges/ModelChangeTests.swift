import FetchIndex
import Foundation
import Observation
import Synchronization
import FetchIndexModels
import FetchIndexPredicates
import FetchIndexTestSupport
import Testing
import FetchIndexValues

/// Programs with older and newer models open the same store.
@Suite struct ModelChangeTests {
    let store = ModelStore()

    @Test func declaringAttributesInAnotherOrderChangesNoValues() throws {
        try store.fill(store.open(ModelStore.first))
        let turned = ModelStore.book([
            AttributeDescription("price", .integer), AttributeDescription("title", .string, isOptional: false),
        ])
        let container = try store.open(turned)
        #expect(try store.values(container, of: "price") == (0..<10).map { .integer($0 * 100) })
        #expect(try store.values(container, of: "title").first == .string("book 0"))
    }

    @Test func anAttributeIsAddedWithoutTouchingRecords() throws {
        try store.fill(store.open(ModelStore.first))
        #expect(try store.opened(store.open(nil), "price") == .rebuilt(.first))
        let commit = try store.open(nil).newContext().commit
        let second = ModelStore.book([
            AttributeDescription("pages", .integer, isOptional: false, defaultValue: .integer(7)),
            AttributeDescription("title", .string, isOptional: false), AttributeDescription("price", .integer),
            AttributeDescription("note", .string),
        ])
        let container = try store.open(second)
        #expect(try container.newContext().commit == commit)
        #expect(try store.values(container, of: "pages") == Array(repeating: .integer(7), count: 10))
        #expect(try store.values(container, of: "note") == Array(repeating: .null, count: 10))
        // The cache doesn't depend on the new attribute, so it stays valid.
        #expect(try store.opened(container, "price") == .hit)
        // Predicates, sort keys and new objects see the default value.
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.predicate = try FetchPredicate("pages == 7 AND note == NIL")
        #expect(try context.count(for: request) == 10)
        let new = try context.insert("Book")
        new["title"] = "new"
        #expect(new["pages"] == .integer(7))
        try context.save()
        #expect(try context.count(for: request) == 11)
        // An object that is changed keeps the default value.
        let object = try #require(try context.fetch(request).first)
        object["price"] = .integer(1)
        try context.save()
        #expect(try store.values(container, of: "pages") == Array(repeating: .integer(7), count: 11))
        #expect(try container.check { _, _ in } == [])
    }

    @Test func aRequiredAttributeWithoutADefaultValueNeedsAValuesClosure() throws {
        try store.fill(store.open(ModelStore.first))
        let second = ModelStore.book(
            ModelStore.first.entities[0].attributes + [
                AttributeDescription("isbn", .string, isOptional: false)
            ])
        #expect(throws: StoreError.self) { try store.open(second) }
        #expect(throws: StoreError.self) { try store.open(second, .automatic) }
        let plan = try store.open(nil).plan(for: second)
        #expect(plan.verdict == .decision)
        #expect(plan.steps.map(\.change) == [.addAttribute("isbn", .string)])
        let container = try store.open(nil)
        try container.migrate(to: second) { _, old in
            ["isbn": .string("isbn of \(old["title"]?.description ?? "")")]
        }
        #expect(try store.values(container, of: "isbn").first == .string("isbn of book 0"))
        #expect(try store.open(nil).check { _, _ in } == [])
    }

    @Test func aRenamedAttributeKeepsItsCachesAndFormerName() throws {
        try store.fill(store.open(ModelStore.first))
        #expect(try store.opened(store.open(nil), "title", where: "title CONTAINS 'book'") == .rebuilt(.first))
        let second = ModelStore.book([
            AttributeDescription("name", .string, isOptional: false, renamedFrom: "title"),
            AttributeDescription("price", .integer),
        ])
        let container = try store.open(second)
        #expect(try container.model().entity(named: "Book")?.attributes.map(\.name) == ["name", "price"])
        #expect(try store.values(container, of: "name").first == .string("book 0"))
        // Requests with the new name and with the former name share the cache.
        let context = container.newContext()
        for name in ["name", "title"] {
            var request = FetchRequest<ManagedObject>(entityName: "Book")
            request.sortKeys = [SortKey(name)]
            request.predicate = try FetchPredicate("\(name) CONTAINS 'book'")
            let controller = try FetchedResultsController(fetchRequest: request, context: context, cacheName: "c title")
            #expect(try controller.performFetch() == .hit, "\(name)")
        }
        // Opening the store again with the same model renames nothing.
        #expect(try store.open(second).plan(for: second).isEmpty)
        // The older program uses the former name.
        let older = try store.open(ModelStore.first)
        #expect(try store.values(older, of: "title").first == .string("book 0"))
        #expect(try container.check { _, _ in } == [])
    }

    @Test func theNameOfARemovedAttributeCanBeUsedAgain() throws {
        try store.fill(store.open(ModelStore.first))
        #expect(try store.opened(store.open(nil), "price") == .rebuilt(.first))
        #expect(try store.opened(store.open(nil), "title") == .rebuilt(.first))
        let second = ModelStore.book([AttributeDescription("title", .string, isOptional: false)], removed: ["price"])
        let container = try store.open(second)
        #expect(try container.model().entity(named: "Book")?.attributes.map(\.name) == ["title"])
        #expect(try store.opened(container, "title") == .hit)
        #expect(throws: StoreError.unknownAttribute(entity: "Book", attribute: "price")) {
            try store.opened(container, "price")
        }
        // The older program still declares the removed attribute.
        let error = #expect(throws: StoreError.self) { try store.open(ModelStore.first) }
        #expect(
            error?.description
                == "the stored entity Book differs from the model's: its attribute price was removed by a newer model"
        )
        let again = ModelStore.book([
            AttributeDescription("title", .string, isOptional: false), AttributeDescription("price", .double),
        ])
        #expect(throws: StoreError.self) { try store.open(again) }
        let third = try store.open(again, .automatic)
        #expect(try store.values(third, of: "price") == Array(repeating: .null, count: 10))
        #expect(try store.opened(third, "price") == .rebuilt(.modelChanged))
        #expect(try third.check { _, _ in } == [])
    }

    @Test func anUndeclaredAttributeKeepsItsValues() throws {
        try store.fill(store.open(ModelStore.first))
        let part = ModelStore.book([AttributeDescription("title", .string, isOptional: false)])
        let container = try store.open(part)
        let context = container.newContext()
        for book in try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")) { book["title"] = "x" }
        try context.save()
        #expect(try store.values(store.open(ModelStore.first), of: "price") == (0..<10).map { .integer($0 * 100) })
    }

    @Test func aMigrationConvertsAnAttributeToAnotherType() throws {
        try store.fill(store.open(ModelStore.first))
        #expect(try store.opened(store.open(nil), "title") == .rebuilt(.first))
        #expect(try store.opened(store.open(nil), "price") == .rebuilt(.first))
        let second = ModelStore.book([
            AttributeDescription("title", .string, isOptional: false), AttributeDescription("price", .string),
        ])
        let error = #expect(throws: StoreError.self) { try store.open(second) }
        #expect(error?.description.contains("migration: .automatic") == true)
        let container = try store.open(second, .automatic)
        #expect(try store.values(container, of: "price") == (0..<10).map { .string("\($0 * 100)") })
        #expect(try store.opened(container, "title") == .hit, "the cache doesn't depend on the price")
        #expect(try store.opened(container, "price") == .rebuilt(.modelChanged))
        #expect(try container.check { _, _ in } == [])
    }

    @Test func aFailedMigrationNamesObjectsAndLeavesTheStoreUnchanged() throws {
        let container = try store.open(ModelStore.first)
        try store.fill(container)
        let context = container.newContext()
        let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
        objects[3]["price"] = .null
        try context.save()
        let numeric = ModelStore.book([
            AttributeDescription("title", .integer, isOptional: false), AttributeDescription("price", .integer),
        ])
        let required = ModelStore.book([
            AttributeDescription("title", .string, isOptional: false),
            AttributeDescription("price", .integer, isOptional: false),
        ])
        let unique = ModelStore.book([
            AttributeDescription("title", .string, isOptional: false),
            AttributeDescription("price", .integer, isUnique: true),
        ])
        objects[4]["price"] = .integer(900)
        try context.save()
        let commit = try container.newContext().commit
        #expect(
            throws: StoreError.cannotMigrate(
                entity: "Book", attribute: "title", "is not an integer", objects: objects.prefix(5).map(\.objectID))
        ) { try container.migrate(to: numeric) }
        #expect(
            throws: StoreError.cannotMigrate(
                entity: "Book", attribute: "price", "is required, and is null", objects: [objects[3].objectID])
        ) { try container.migrate(to: required) }
        #expect(
            throws: StoreError.cannotMigrate(
                entity: "Book", attribute: "price",
                "must be unique, but object 5 has the same value", objects: [objects[9].objectID])
        ) { try container.migrate(to: unique) }
        #expect(try container.newContext().commit == commit)
        #expect(try container.model() == ModelStore.first)
        #expect(try container.check { _, _ in } == [])
        // If the new required attribute has a default value, the value replaces null.
        let filled = ModelStore.book([
            AttributeDescription("title", .string, isOptional: false),
            AttributeDescription("price", .integer, isOptional: false, defaultValue: .integer(-1)),
        ])
        try container.migrate(to: filled)
        #expect(try store.values(store.open(nil), of: "price")[3] == .integer(-1))
    }

    @Test func migrationsAddAndRemoveUniqueness() throws {
        let container = try store.open(ModelStore.first)
        try store.fill(container)
        let unique = ModelStore.book([
            AttributeDescription("title", .string, isOptional: false, isUnique: true),
            AttributeDescription("price", .integer),
        ])
        try container.migrate(to: unique)
        let context = container.newContext()
        let double = try context.insert("Book")
        double["title"] = "book 3"
        #expect(throws: ValidationError.self) { try context.save() }
        try context.rollback()
        #expect(try container.check { _, _ in } == [])
        _ = try store.open(ModelStore.first, .automatic)
        #expect(try container.model() == unique, "an older program changes nothing")
        try container.migrate(to: ModelStore.first)
        #expect(try container.model() == ModelStore.first)
        let again = container.newContext()
        let third = try again.insert("Book")
        third["title"] = "book 3"
        try again.save()
        #expect(try container.check { _, _ in } == [])
    }

    /// The model is migrated twice while a context is open: to a model in which the context can save, and to a model in
    /// which it can't.
    @Test func afterAModelChangeAnOpenContextWorksOrThrowsModelMismatch() throws {
        let container = try store.open(ModelStore.first)
        try store.fill(container)
        let context = container.newContext()
        let book = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
        let other = try store.open(nil)
        try other.migrate(
            to: ModelStore.book(
                ModelStore.first.entities[0].attributes + [
                    AttributeDescription("pages", .integer, isOptional: false, defaultValue: .integer(7))
                ]))
        book["price"] = .integer(5)
        try context.save()
        #expect(try store.values(other, of: "pages").first == .integer(7))
        try other.migrate(
            to: ModelStore.book([
                AttributeDescription("title", .string, isOptional: false), AttributeDescription("price", .double),
            ]))
        #expect(book["price"] == .integer(5), "the context still reads its old snapshot")
        book["price"] = .integer(6)
        let error = #expect(throws: StoreError.self) { try context.save() }
        #expect(
            error?.description
                == "the stored entity Book differs from the model's: its attribute price is double in a newer model, and integer in this one"
        )
        #expect(try store.values(other, of: "price").first == .double(5))
    }

    /// The file in the folder Stores has format version 4.
    @Test func theFirstTransactionUpgradesAStoreOfVersion4() throws {
        let stored = try #require(
            Bundle.module.url(forResource: "version4", withExtension: "mdb", subdirectory: "Stores"))
        try FileManager.default.createDirectory(atPath: store.folder.path, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: stored.path, toPath: store.folder.path + "/data.mdb")
        // LMDB 0.9 wrote the file.
        try PersistentContainer.upgrade(at: URL(fileURLWithPath: store.folder.path))
        let container = try store.open(nil)
        #expect(try container.check { _, _ in } == [])
        #expect(try container.information().format == 4)
        let statistics = try container.cacheStatistics()
        #expect(statistics.map(\.name) == ["by price"])
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.sortKeys = [SortKey("title")]
        func outcome(_ container: PersistentContainer) throws -> FetchOutcome {
            try FetchedResultsController(
                fetchRequest: request, context: container.newContext(), sectionKey: .attribute("price"),
                cacheName: "by price"
            ).performFetch()
        }
        #expect(try outcome(container) == .rebuilt(.formatChanged))
        #expect(try outcome(container) == .hit)
        #expect(try container.information().format > 12, "the first transaction raises the version")
        let renamed = try store.open(
            ModelStore.book([
                AttributeDescription("name", .string, renamedFrom: "title"),
                AttributeDescription("pages", .integer, isOptional: false, defaultValue: .integer(1)),
            ]))
        #expect(try outcome(renamed) == .hit)
        #expect(try store.values(renamed, of: "name") == [.string("影との戦い"), .string("虐殺器官"), .string("ハーモニー")])
        #expect(try store.values(renamed, of: "released")[2] == .null)
        #expect(try renamed.check { _, _ in } == [])
    }
}
