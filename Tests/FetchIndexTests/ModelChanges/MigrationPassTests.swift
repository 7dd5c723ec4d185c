import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Migrations that read or rewrite all records of an entity: the values that they may change, and their effect on
/// caches.
@Suite struct MigrationPassTests {
    let store = ModelStore()

    @Test func fetchesFindADefaultValueThatAMigrationPutInPlaceOfNull() throws {
        let container = try store.open(ModelStore.first)
        let context = container.newContext()
        for number in 0..<400 {
            let book = try context.insert("Book")
            book["title"] = .string("\(number)")
            if number % 2 == 0 { book["price"] = .integer(Int64(number)) }
        }
        try context.save()
        #expect(try store.opened(container, "price") == .rebuilt(.first))
        let filled = ModelStore.book([
            AttributeDescription("price", .integer, isOptional: false, defaultValue: .integer(-1))
        ])
        try container.migrate(to: filled)
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.predicate = try FetchPredicate("price == -1")
        let newer = container.newContext()
        #expect(try newer.count(for: request) == 200)
        #expect(try newer.fetch(request).count == 200)
        #expect(try store.opened(container, "price") == .rebuilt(.modelChanged))
        #expect(try newer.count(for: request) == 200)
        #expect(try container.check { _, _ in } == [])
    }

    @Test func theValuesClosureMaySetOnlyAttributesThatTheMigrationChanges() throws {
        let container = try store.open(ModelStore.first)
        try store.fill(container)
        let more = ModelStore.book([AttributeDescription("pages", .integer)])
        #expect(throws: StoreError.unknownAttribute(entity: "Book", attribute: "pagse")) {
            try container.migrate(to: more) { _, _ in ["pagse": 1] }
        }
        #expect(throws: StoreError.self) { try container.migrate(to: more) { _, _ in ["title": "x"] } }
        let context = container.newContext()
        let book = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
        try container.migrate(to: more) { _, old in ["pages": old["price"] ?? .null] }
        #expect(try store.values(container, of: "pages") == (0..<10).map { .integer($0 * 100) })
        // If a context that read the record before the migration could save, it would restore the old record.
        book["title"] = "stale"
        #expect(throws: StoreError.self) { try context.save() }
        #expect(try container.check { _, _ in } == [])
    }

    @Test func aMigrationRefusesTextsThatTheNewTypeCannotRepresent() throws {
        let text = AttributeDescription("code", .string)
        let container = try store.open(ModelStore.book([text]))
        let context = container.newContext()
        let book = try context.insert("Book")
        for (value, type, isKept) in [
            ("00712", ValueType.integer, true), ("712", .integer, true), ("1.50", .double, true),
            ("0.1234567890123456789", .double, false), ("x", .decimal, false), ("2.50", .decimal, true),
        ] {
            book["code"] = .string(value)
            try context.save()
            let folder = TemporaryFolder()
            _ = try container.backup(to: URL(fileURLWithPath: folder.path))
            let copy = try PersistentContainer(at: URL(fileURLWithPath: folder.path), durability: .none)
            var isDone = true
            do { try copy.migrate(to: ModelStore.book([AttributeDescription("code", type)])) } catch StoreError
                .cannotMigrate
            {
                isDone = false
            }
            #expect(isDone == isKept, "\(value) as \(type)")
        }
    }
}
