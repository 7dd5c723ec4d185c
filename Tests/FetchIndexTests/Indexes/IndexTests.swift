import FetchIndex
import Foundation
import FetchIndexOrderCaches
import FetchIndexTestSupport
import Testing

/// Indexes: orders that writers keep current.
@Suite struct IndexTests {
    final class Book: ManagedObject {
        @Attribute("isbn", isUnique: true) var isbn: Int?
        @Attribute("publisher", indexed: true) var publisher: String?
        @Attribute("price") var price: Int?

        override class var indexes: [Index] { [Index(["publisher", "price:desc"])] }
    }

    static let plain = Model(entities: [
        Entity(
            "Book",
            [
                AttributeDescription("isbn", .integer, isUnique: true), AttributeDescription("publisher", .string),
                AttributeDescription("price", .integer),
            ])
    ])

    static let names = ["index:Book(publisher)", "index:Book(publisher,price:desc)"]

    let folder = TemporaryFolder()

    private func open(_ model: Model?, _ migration: MigrationPolicy = .freeChanges) throws -> PersistentContainer {
        try PersistentContainer(
            at: URL(fileURLWithPath: folder.path), model: model, migration: migration, durability: .none)
    }

    private func fill(_ container: PersistentContainer, _ count: Int = 100) throws {
        let writer = try BatchWriter(container, entity: "Book", key: "isbn")
        for number in 0..<count {
            try writer.insert([
                .integer(Int64(number)), .string("publisher \(number % 10)"), .integer(Int64(number * 7 % 50)),
            ])
        }
        try writer.commit()
    }

    private func request(_ format: String) throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: "Book")
        request.predicate = try FetchPredicate(format: format, argumentArray: [])
        return request
    }

    /// Expects that exactly these indexes exist, that they are current, and that the check finds no defect.
    private func expectKept(
        _ container: PersistentContainer, _ names: [String] = names, _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let caches = try container.cacheStatistics().filter { $0.name.hasPrefix("index:") }
        #expect(caches.map(\.name) == names, comment, sourceLocation: sourceLocation)
        #expect(caches.allSatisfy { $0.isFresh }, comment, sourceLocation: sourceLocation)
        #expect(try container.check { _, _ in } == [], comment, sourceLocation: sourceLocation)
    }

    private func source(_ format: String, _ container: PersistentContainer) throws -> FetchPlan.Source {
        let predicate = try FetchPredicate(format: format, argumentArray: [])
        return try container.plan(OrderDefinition(entity: "Book", predicate: predicate)).source
    }

    @Test func theModelOfAClassHasItsIndexes() throws {
        let container = try PersistentContainer(temporaryWith: Model(Book.self))
        #expect(
            try container.model().entities[0].indexes == [Index(["publisher"]), Index(["publisher", "price:desc"])])
        try expectKept(container)
    }

    @Test func batchWritersBatchRequestsAndSavesMaintainIndexes() throws {
        let container = try open(Model(Book.self))
        try fill(container)
        try expectKept(container, Self.names, "import")
        let context = container.newContext()
        var rows = (0..<20).map { number in
            [Value.integer(Int64(1000 + number)), .string("publisher \(number)"), .null]
        }
        try context.insertRows(into: "Book") { rows.popLast() }
        try expectKept(container, Self.names, "batch insert")
        let update = BatchUpdateRequest(
            entityName: "Book", predicate: try FetchPredicate("publisher == 'publisher 3'"),
            propertiesToUpdate: ["publisher": .string("three")])
        #expect(try context.execute(update) == 11)
        try expectKept(container, Self.names, "batch update")
        let delete = BatchDeleteRequest(entityName: "Book", predicate: try FetchPredicate("price > 40"))
        #expect(try context.execute(delete) > 0)
        try expectKept(container, Self.names, "batch delete")
        let other = try open(nil).newContext()
        for book in try other.fetch(request("publisher == 'three'")) { book["publisher"] = .null }
        try other.save()
        try expectKept(container, Self.names, "another container")
        try context.mergeChanges()
        #expect(try context.count(for: request("publisher == NIL")) > 0)
        #expect(try context.count(for: request("publisher == 'three'")) == 0)
        let writer = try BatchWriter(container, entity: "Book", key: "isbn")
        try writer.insert([.integer(5000), .string("new"), .integer(1)])
        let byPrice = OrderDefinition(entity: "Book", sortKeys: [SortKey("price")])
        _ = try writer.commit(bringing: byPrice, cacheName: "by price")
        try expectKept(container, Self.names, "a batch with a cache")
    }

    @Test func lookupsUseIndexesAfterEachSave() throws {
        let container = try open(Model(Book.self))
        try fill(container)
        let context = container.newContext()
        for round in 0..<30 {
            let book = try #require(try context.fetch(request("isbn == \(round)")).first)
            book["publisher"] = .string("round \(round)")
            try context.save()
            let fresh = container.newContext()
            #expect(
                try source("publisher == 'round \(round)'", container)
                    == .order(name: Self.names[0], attribute: "publisher"))
            #expect(
                try source("publisher == 'round \(round)' AND price >= 10", container)
                    == .order(name: Self.names[1], attribute: "publisher, price"))
            #expect(try fresh.count(for: request("publisher == 'round \(round)'")) == 1)
        }
        try expectKept(container)
    }

    /// Two hundred commits that don't change an entity leave its indexes current.
    @Test func commitsOfOtherEntitiesKeepIndexesCurrent() throws {
        let other = Entity("Other", [AttributeDescription("name", .string)])
        let container = try open(Model(entities: Model(Book.self).entities + [other]))
        try fill(container)
        let context = container.newContext()
        for number in 0..<200 {
            try context.insert("Other")["name"] = .string("\(number)")
            try context.save()
        }
        try expectKept(container)
        #expect(
            try source("publisher == 'publisher 1'", container) == .order(name: Self.names[0], attribute: "publisher"))
    }

    /// The change log is trimmed after each save. A batch writer that was made before an index was added maintains the
    /// index, too.
    @Test func indexesStayCurrentAfterTheLogIsTrimmedAndAfterOlderWritersCommit() throws {
        let other = Entity("Other", [AttributeDescription("name", .string)], indexes: [Index(["name"])])
        let container = try open(Model(entities: Model(Book.self).entities + [other]))
        try fill(container)
        let context = container.newContext()
        let names = Self.names + ["index:Other(name)"]
        for number in 0..<5 {
            try context.insert("Other")["name"] = .string("\(number)")
            try context.save()
            try context.deleteHistory(before: context.commit)
            try expectKept(container, names)
        }
        let writer = try BatchWriter(container, entity: "Book", key: "isbn")
        try writer.insert([.integer(500), .string("a"), .null])
        try writer.commit()
        let entity = try #require(try container.model().entity(named: "Book"))
        try container.migrate(
            to: Model(entities: [
                Entity("Book", entity.attributes, unique: entity.uniqueAttributes, indexes: [Index(["price"])])
            ]))
        try writer.insert([.integer(501), .string("b"), .null])
        try writer.commit()
        try expectKept(container, ["index:Book(price)"] + names)
    }

    @Test func addingAnIndexToAnEntityWithObjectsIsNotAFreeChange() throws {
        try fill(open(Self.plain))
        #expect(throws: StoreError.self) { try open(Model(Book.self)) }
        let plan = try open(nil).plan(for: Model(Book.self))
        #expect(plan.verdict == .pass)
        #expect(
            plan.steps.map(\.change) == [
                .addIndex(Index(["publisher"])), .addIndex(Index(["publisher", "price:desc"])),
            ])
        let container = try open(Model(Book.self), .automatic)
        try expectKept(container)
        // A program that does not declare the indexes maintains them, too.
        let older = try open(Self.plain)
        let context = older.newContext()
        try context.insert("Book")["publisher"] = .string("older")
        try context.save()
        try expectKept(container)
    }

    @Test func addingAnIndexToAnEmptyEntityIsAFreeChange() throws {
        _ = try open(Self.plain)
        let container = try open(Model(Book.self))
        try fill(container)
        try expectKept(container)
    }

    @Test func aRemovedIndexIsNotAddedAgainByAnOlderProgram() throws {
        let container = try open(Model(Book.self))
        try fill(container)
        let entity = Model(Book.self).entities[0]
        try container.migrate(
            to: Model(entities: [
                Entity(
                    "Book", entity.attributes, indexes: [Index(["publisher"])],
                    removedIndexes: [Index(["publisher", "price:desc"])])
            ]))
        try expectKept(container, [Self.names[0]])
        // The store has had this program's model before.
        try expectKept(open(Model(Book.self)), [Self.names[0]])
        #expect(try container.model().entities[0].indexes == [Index(["publisher"])])
    }

    @Test func indexesFollowRenamedConvertedAndRemovedAttributes() throws {
        try fill(open(Model(Book.self)))
        func book(_ attributes: [AttributeDescription], removed: [String] = []) -> Model {
            Model(entities: [Entity("Book", attributes, removed: removed)])
        }
        let renamed = try open(book([AttributeDescription("house", .string, renamedFrom: "publisher")]))
        try expectKept(renamed)
        #expect(
            try source("house == 'publisher 1'", renamed) == .order(name: Self.names[0], attribute: "house"))
        let context = renamed.newContext()
        try context.insert("Book")["house"] = .string("new")
        try context.save()
        try expectKept(renamed)
        let converted = try open(book([AttributeDescription("price", .string)]), .automatic)
        try expectKept(converted, ["index:Book(publisher)", "index:Book(publisher,price~3:desc)"])
        #expect(
            try source("house == 'publisher 1' AND price == '7'", converted)
                == .order(name: "index:Book(publisher,price~3:desc)", attribute: "house, price"))
        let removed = try open(book([AttributeDescription("isbn", .integer)], removed: ["house"]), .automatic)
        try expectKept(removed, [])
        #expect(try removed.model().entities[0].indexes == [])
    }

    @Test func namesOfIndexesAreRefusedAndDroppingTheEntityDeletesItsIndexes() throws {
        let container = try open(Model(Book.self))
        try fill(container)
        #expect(throws: CacheError.invalidName(Self.names[0])) { try container.deleteCache(named: Self.names[0]) }
        #expect(throws: CacheError.invalidName("index:x")) {
            try container.withOrder(OrderDefinition(entity: "Book"), .init(cacheName: "index:x")) { _ in }
        }
        try container.withOrder(OrderDefinition(entity: "Book"), .init(cacheName: "other")) { _ in }
        #expect(try container.deleteCache(named: nil) == 1)
        try expectKept(container)
        try container.dropEntity(named: "Book")
        try expectKept(container, [])
    }

    @Test(arguments: [
        ([Index(["title"])], "Book has no attribute or to-one relationship \"title\" for the index title"),
        ([Index([String]())], "an index of Book needs one key, or several different ones"),
        ([Index(["price", "price:desc"])], "an index of Book needs one key, or several different ones"),
    ])
    func anInvalidIndexIsRefused(indexes: [Index], reason: String) {
        let model = Model(entities: [Entity("Book", [AttributeDescription("price", .integer)], indexes: indexes)])
        #expect(throws: StoreError.invalidModel(reason)) { try open(model) }
    }
}
