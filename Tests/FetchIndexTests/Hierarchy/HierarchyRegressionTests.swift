import FetchIndex
import Foundation
import FetchIndexModels
import FetchIndexTestSupport
import Testing

/// Bugs that were found in hierarchies.
@Suite struct HierarchyRegressionTests {
    private let store = Works()

    private func entity(
        _ name: String, _ attributes: [AttributeDescription], unique: [[String]] = [], indexes: [Index] = [],
        of superentity: String? = nil, isAbstract: Bool = false
    ) -> Entity {
        Entity(
            name, attributes, unique: unique, indexes: indexes, superentity: superentity, isAbstract: isAbstract)
    }

    private func insert(_ entity: String, _ rows: [[String: Value]], _ container: PersistentContainer) throws {
        let context = container.newContext()
        for row in rows {
            let object = try context.insert(entity)
            for (name, value) in row { object[name] = value }
        }
        try context.save()
    }

    private static let isbn = AttributeDescription("isbn", .string)
    private static let uniqueISBN = AttributeDescription("isbn", .string, isUnique: true)
    private static let title = AttributeDescription("title", .string)

    @Test func aUniqueAttributeThatMovesIntoABaseEntityStaysUnique() throws {
        let below = Model(entities: [
            entity("Base", [Self.title]), entity("Sub", [Self.uniqueISBN], of: "Base"),
        ])
        let container = try store.open(below)
        try insert("Sub", [["isbn": "a"], ["isbn": "b"]], container)
        let above = Model(entities: [
            entity("Base", [Self.title, Self.uniqueISBN]), entity("Sub", [], of: "Base"),
        ])
        #expect(try container.plan(for: above).verdict == .pass)
        #expect(throws: StoreError.self) { try store.open(above) }
        let moved = try store.open(above, .automatic)
        #expect(try moved.check { _, _ in } == [])
        #expect(throws: ValidationError.self) { try insert("Base", [["isbn": "a"]], moved) }
        try insert("Base", [["isbn": "c"]], moved)
        #expect(throws: ValidationError.self) { try insert("Sub", [["isbn": "c"]], moved) }
        // And out of it again: then each entity that declares it has its own values.
        let out = Model(entities: [
            entity("Base", [Self.title, Self.isbn]), entity("Sub", [Self.isbn], of: "Base"),
        ])
        let plain = try store.open(out, .automatic)
        try insert("Base", [["isbn": "a"]], plain)
        #expect(try plain.check { _, _ in } == [])
        #expect {
            try plain.migrate(to: above)
        } throws: { error in
            "\(error)".contains("Sub cannot be migrated: isbn of #1 must be unique, but Base 2 has the same value")
        }
        #expect(try plain.check { _, _ in } == [])
    }

    @Test func listsOfUniqueAttributesMoveInTheSameWay() throws {
        let list = [["isbn", "title"]]
        let below = Model(entities: [
            entity("Base", [Self.title, Self.isbn]), entity("Sub", [], unique: list, of: "Base"),
        ])
        try insert("Sub", [["isbn": "a", "title": "t"]], store.open(below))
        let above = Model(entities: [
            entity("Base", [Self.title, Self.isbn], unique: list), entity("Sub", [], of: "Base"),
        ])
        let moved = try store.open(above, .automatic)
        #expect(throws: ValidationError.self) { try insert("Base", [["isbn": "a", "title": "t"]], moved) }
        #expect(try moved.check { _, _ in } == [])
        try moved.migrate(to: below)
        #expect(try moved.check { _, _ in } == [])
        #expect(throws: ValidationError.self) { try insert("Sub", [["isbn": "a", "title": "t"]], moved) }
    }

    @Test func aPassOverASubentityLeavesTheKeysOfOthers() throws {
        func model(_ pages: ValueType) -> Model {
            let key = AttributeDescription("key", .string, isUnique: true, derivation: "lowercase:(title)")
            return Model(entities: [
                entity("Base", [Self.title, key]),
                entity("One", [AttributeDescription("pages", pages)], of: "Base"),
                entity("Two", [], of: "Base"),
            ])
        }
        let container = try store.open(model(.integer))
        try insert("Base", [["title": "A"]], container)
        try insert("One", [["title": "B", "pages": 3]], container)
        try insert("Two", [["title": "C"]], container)
        let changed = try store.open(model(.string), .automatic)
        #expect(try changed.check { _, _ in } == [])
        for title in ["a", "b", "c"] {
            #expect(throws: ValidationError.self) { try insert("Two", [["title": .string(title)]], changed) }
        }
    }

    @Test func aBatchWriterRefusesObjectsOfOtherEntities() throws {
        let container = try store.open()
        try store.fill(container, 6)
        let context = container.newContext()
        let tome = try #require(try context.fetch(FetchRequest<Tome>(sortKeys: [SortKey(\.code)])).first)
        let writer = try BatchWriter(container, entity: "Periodical", key: "code")
        #expect(throws: RequestError.self) { try writer.values(of: tome.objectID) }
        #expect(throws: RequestError.self) { try writer.update(tome.objectID, [.integer(1)]) }
        #expect(throws: RequestError.self) { try writer.delete(tome.objectID) }
        writer.rollback()
    }

    @Test func anIndexOfABaseEntityOutlivesTheDropOfASubentity() throws {
        let index = [Index(["title"])]
        let model = Model(entities: [
            entity("Base", [Self.title], indexes: index), entity("One", [], of: "Base"), entity("Two", [], of: "Base"),
        ])
        var container = try store.open(model)
        for name in ["Base", "One", "Two"] {
            try insert(name, (0..<400).map { ["title": .string("\(name) \($0)")] }, container)
        }
        try container.dropEntity(named: "Two")
        // The container's program declares it.
        container = try store.open(nil)
        #expect(try container.check { _, _ in } == [])
        let plan = try container.plan(
            OrderDefinition(entity: "Base", predicate: try FetchPredicate("title == 'One 3'")))
        #expect(plan.rowsRead == 1)
        try insert("One", [["title": "new"]], container)
        let statistics = try #require(try container.cacheStatistics().first)
        #expect(statistics.isFresh)
        #expect(statistics.rowCount == 801)
    }

    @Test func aFollowedOrderHearsOfANewSubentity() throws {
        let first = Model(entities: [entity("Base", [Self.title]), entity("One", [], of: "Base")])
        let container = try store.open(first)
        try insert("One", [["title": "b"]], container)
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Base")
        request.sortKeys = [SortKey("title")]
        let controller = try FetchedResultsController(fetchRequest: request, context: context, cacheName: "all")
        try controller.performFetch()
        let second = Model(entities: first.entities + [entity("Two", [], of: "Base")])
        try insert("Two", [["title": "a"]], store.open(second))
        #expect(
            throws: StoreError.modelMismatch(
                entity: "Base", "it has other subentities than before; use a new context")
        ) { try context.mergeChanges() }
        #expect(controller.fetchedObjects?.count == 1)
        let fresh = container.newContext()
        #expect(try fresh.count(for: request) == 2)
        withExtendedLifetime((context, controller)) {}
    }

    @Test(arguments: [false, true])
    func aMaintainedCacheHasTheObjectsOfANewSubentity(hasSubentity: Bool) throws {
        let one = hasSubentity ? [entity("One", [], of: "Base")] : []
        let container = try store.open(Model(entities: [entity("Base", [Self.title])] + one))
        try insert("Base", [["title": "b"]], container)
        var own = OrderDefinition(entity: "Base", sortKeys: [SortKey("title")])
        let all = own
        own.includesSubentities = false
        for (definition, name) in [(all, "all"), (own, "own")] {
            try container.withOrder(definition, .init(cacheName: name)) { _ in }
            try container.setMaintained(true, cacheNamed: name)
        }
        let second = try store.open(
            Model(entities: [entity("Base", [Self.title])] + one + [entity("Two", [], of: "Base")]))
        try insert("Two", [["title": "a"]], second)
        for (definition, name, count) in [(all, "all", 2), (own, "own", 1)] {
            try second.withOrder(definition, .init(cacheName: name)) { order in
                #expect(order.outcome == .hit, "\(name)")
                #expect(order.rowCount == count, "\(name)")
            }
            #expect(try second.verifyCache(name) == [])
        }
    }

    @Test func aFormerNameOfASuperentityIsNotGivenToAnotherAttribute() throws {
        let container = try store.open(Model(entities: [entity("Base", [Self.title])]))
        try insert("Base", [["title": "b"]], container)
        let name = AttributeDescription("name", .string, renamedFrom: "title")
        let renamed = try store.open(Model(entities: [entity("Base", [name]), entity("One", [], of: "Base")]))
        try insert("One", [["name": "c"]], renamed)
        let request = OrderDefinition(entity: "Base", predicate: try FetchPredicate("title == 'c'"))
        #expect(try renamed.withOrder(request, .init()) { $0.rowCount } == 1)
        #expect(throws: StoreError.self) {
            try store.open(Model(entities: [entity("Base", [name]), entity("Two", [Self.title], of: "Base")]))
        }
    }

    @Test func abstractnessIsAChangeLikeOthers() throws {
        let concrete = Model(entities: [entity("Base", [Self.title])])
        let abstract = Model(entities: [entity("Base", [Self.title], isAbstract: true)])
        let container = try store.open(concrete)
        #expect(try container.plan(for: abstract).steps.map(\.change) == [.changeAbstract(to: true)])
        try container.migrate(to: abstract)
        #expect(try container.model().entities[0].isAbstract)
        #expect(throws: StoreError.abstractEntity("Base")) { try insert("Base", [["title": "a"]], container) }
        try container.migrate(to: concrete)
        try insert("Base", [["title": "a"]], container)
        #expect(throws: StoreError.self) { try container.migrate(to: abstract) }
        #expect(try container.model().entities[0].isAbstract == false)
    }

    @Test func anIndexOfAnAbstractEntityIsAPassOverItsSubentities() throws {
        func model(_ indexes: [Index]) -> Model {
            Model(entities: [
                entity("Base", [Self.title], indexes: indexes, isAbstract: true), entity("One", [], of: "Base"),
            ])
        }
        let container = try store.open(model([]))
        #expect(try container.plan(for: model([Index(["title"])])).verdict == .free)
        try insert("One", [["title": "a"]], container)
        #expect(try container.plan(for: model([Index(["title"])])).verdict == .pass)
    }

    @Test func objectsOfUnknownClassesAreThoseOfTheBaseClass() throws {
        try store.fill(try store.open(), 3)
        // A program that knows the base class alone.
        let container = try store.open(Model(Work.self))
        let context = container.newContext()
        let inserted = try context.insert("Tome")
        #expect(inserted is Work)
        inserted["code"] = .integer(77)
        try context.save()
        #expect(try context.fetch(FetchRequest<Work>(sortKeys: [SortKey(\.code)])).map(\.code) == [0, 1, 2, 77])
        // Asking for an object as one of the base class does not decide its class.
        let other = store.folder
        let tomes = try PersistentContainer(at: URL(fileURLWithPath: other.path), durability: .none)
        let second = tomes.newContext()
        let id = try second.objectID(of: "Tome", number: 1)
        #expect(throws: ContextError.self) { try second.existingObject(with: id, as: Work.self) }
        #expect(try second.fetch(FetchRequest<Tome>(sortKeys: [SortKey(\.code)])).count == 3)
        withExtendedLifetime((context, second)) {}
    }

    @Test func aNewSubentityHasTheDefaultValuesOfItsSuperentity() throws {
        func attribute(_ value: Int64) -> AttributeDescription {
            AttributeDescription("n", .integer, defaultValue: .integer(value))
        }
        _ = try store.open(Model(entities: [entity("Base", [Self.title, attribute(1)])]))
        let container = try store.open(
            Model(entities: [entity("Base", [Self.title, attribute(2)]), entity("One", [], of: "Base")]))
        #expect(try container.model().entities.map { $0.attributes[1].defaultValue } == [.integer(1), .integer(1)])
    }
}
