import FetchIndex
import Foundation
import FetchIndexModels
import FetchIndexTestSupport
import Testing

/// Changes of a model that has a hierarchy of entities.
@Suite struct HierarchyModelTests {
    private static let base = [
        AttributeDescription("code", .integer, isUnique: true), AttributeDescription("name", .string),
    ]

    private let store = Works()

    private func model(
        _ base: [AttributeDescription] = base, indexes: [Index] = [], removed: [String] = [], with others: Entity...
    ) -> Model {
        Model(entities: [Entity("Base", base, indexes: indexes, removed: removed)] + others)
    }

    private func insert(_ entity: String, _ codes: Range<Int>, _ container: PersistentContainer) throws {
        let context = container.newContext()
        for code in codes {
            let object = try context.insert(entity)
            object["code"] = .integer(Int64(code))
            object["name"] = .string("name \(code)")
        }
        try context.save()
    }

    private func codes(_ entity: String, _ format: String? = nil, in container: PersistentContainer) throws -> [Value] {
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: entity)
        request.predicate = try format.map { try FetchPredicate($0) }
        request.sortKeys = [SortKey("code")]
        return try withExtendedLifetime(context) { try context.fetch(request).map { $0["code"] } }
    }

    @Test func subentitiesAreAddedToAStoreWithoutAMigration() throws {
        try insert("Base", 0..<3, store.open(model()))
        let second = model(with: Entity("One", [AttributeDescription("own", .string)], superentity: "Base"))
        let container = try store.open(second)
        try insert("One", 3..<6, container)
        // The new entity Deep is a subentity of the subentity One, which this model declares without its own attribute.
        let third = try store.open(
            model(
                with: Entity("Two", [], superentity: "Base"), Entity("One", [], superentity: "Base"),
                Entity("Deep", [AttributeDescription("deep", .integer)], superentity: "One")))
        try insert("Deep", 6..<9, third)
        #expect(try third.model().entity(named: "Deep")?.attributes.map(\.name) == ["code", "name", "own", "deep"])
        #expect(try codes("Base", in: third) == (0..<9).map { .integer($0) })
        #expect(try codes("One", in: third) == (3..<9).map { .integer($0) })
        #expect(try codes("Base", "name == 'name 7'", in: third) == [.integer(7)])
        #expect(try third.check { _, _ in }.isEmpty)
    }

    @Test func aSubentityMayBeDeclaredWithoutItsSuperentity() throws {
        try insert("One", 0..<3, store.open(model(with: Entity("One", [], superentity: "Base"))))
        let alone = try store.open(Model(entities: [Entity("One", Self.base)]))
        try insert("One", 3..<5, alone)
        #expect(try alone.model().entity(named: "One")?.superentity == "Base")
        #expect(try codes("Base", in: alone).count == 5)
    }

    @Test func anEntityWithObjectsCannotGetASuperentity() throws {
        try insert("One", 0..<3, store.open(Model(entities: [Entity("One", Self.base), Entity("Base", Self.base)])))
        #expect(throws: StoreError.self) {
            try store.open(model(with: Entity("One", [], superentity: "Base")), .automatic)
        }
        #expect(throws: StoreError.self) { try store.open(nil).dropEntity(named: "None") }
    }

    @Test func aModelThatChangesABaseEntityMustDeclareItsSubentities() throws {
        let declared = Entity("One", [], superentity: "Base")
        let container = try store.open(model(with: declared))
        try insert("Base", 0..<2, container)
        try insert("One", 2..<4, container)
        let added = Self.base + [AttributeDescription("price", .integer, defaultValue: .integer(7))]
        #expect {
            try store.open(model(added), .automatic)
        } throws: { error in
            "\(error)".contains("One is a subentity of this entity in the store: a model that changes the superentity")
        }
        let changed = try store.open(model(added, with: declared))
        #expect(try codes("Base", "price == 7", in: changed) == (0..<4).map { .integer($0) })
        #expect(throws: StoreError.self) { try changed.dropEntity(named: "Base") }
        // The attribute is removed from both entities.
        let removed = try store.open(model(Self.base, removed: ["price"], with: declared))
        #expect(try removed.model().entities.allSatisfy { $0.attributes.map(\.name) == ["code", "name"] })
        // A type is changed in both entities, by a pass over the records of each.
        let text = [AttributeDescription("code", .string, isUnique: true), AttributeDescription("name", .string)]
        let converted = try store.open(model(text, with: declared), .automatic)
        #expect(try codes("Base", in: converted) == (0..<4).map { .string("\($0)") })
        #expect(try codes("Base", "code == '3'", in: converted) == [.string("3")])
        #expect(try converted.check { _, _ in }.isEmpty)
    }

    @Test func uniquenessIsAddedOnlyIfValuesAreUniqueInTheWholeHierarchy() throws {
        let plain = [AttributeDescription("code", .integer), AttributeDescription("name", .string)]
        let declared = Entity("One", [], superentity: "Base")
        let container = try store.open(model(plain, with: declared))
        try insert("Base", 0..<3, container)
        try insert("One", 2..<4, container)
        #expect {
            try store.open(model(with: declared), .automatic)
        } throws: { error in
            guard case StoreError.cannotMigrate(_, "code", _, let objects) = error else { return false }
            return objects.count == 1
        }
        let context = container.newContext()
        let twice = try context.fetch(FetchRequest<ManagedObject>(entityName: "One"))[0]
        twice["code"] = .integer(9)
        try context.save()
        let unique = try store.open(model(with: declared), .automatic)
        #expect(try codes("Base", in: unique) == [0, 1, 2, 3, 9].map { .integer($0) })
        #expect(throws: ValidationError.self) { try insert("Base", 9..<10, unique) }
        #expect(try unique.check { _, _ in }.isEmpty)
    }

    @Test func anIndexIncludesTheObjectsOfLaterSubentities() throws {
        let index = [Index(["name"])]
        let first = try store.open(model(indexes: index))
        try insert("Base", 0..<1000, first)
        let wanted = model(indexes: index, with: Entity("One", [], superentity: "Base"))
        #expect(throws: StoreError.self) { try store.open(wanted) }
        #expect(try first.plan(for: wanted).verdict == .pass)
        let container = try store.open(wanted, .automatic)
        try insert("One", 1000..<2000, container)
        #expect(try codes("Base", "name == 'name 1234'", in: container) == [.integer(1234)])
        #expect(try codes("One", "name == 'name 1234'", in: container) == [.integer(1234)])
        let plan = try container.plan(
            OrderDefinition(entity: "Base", predicate: try FetchPredicate("name == 'name 1234'")))
        #expect(plan.rowsRead == 1)
        #expect(try container.check { _, _ in }.isEmpty)
        let statistics = try #require(try container.cacheStatistics().first)
        #expect(statistics.isFresh && statistics.rowCount == 2000)
    }

    @Test func aMaintainedCacheIncludesTheObjectsOfSubentities() throws {
        let container = try store.open(model(with: Entity("One", [], superentity: "Base")))
        try insert("Base", 0..<5, container)
        let definition = OrderDefinition(entity: "Base", sortKeys: [SortKey("name")])
        try container.withOrder(definition, .init(cacheName: "kept")) { _ in }
        try container.setMaintained(true, cacheNamed: "kept")
        try insert("One", 5..<9, container)
        try container.withOrder(definition, .init(cacheName: "kept")) { order in
            #expect(order.outcome == .hit)
            #expect(order.rowCount == 9)
        }
    }

    @Test func aNewSubentityTakesTheDefaultValuesStoredForItsSuperentity() throws {
        func attribute(_ value: Int64) -> AttributeDescription {
            AttributeDescription("n", .integer, defaultValue: .integer(value))
        }
        _ = try store.open(Model(entities: [Entity("Base", [.title, attribute(1)])]))
        let container = try store.open(
            Model(entities: [Entity("Base", [.title, attribute(2)]), Entity("One", [], superentity: "Base")]))
        #expect(try container.model().entities.map { $0.attributes[1].defaultValue } == [.integer(1), .integer(1)])
    }

    @Test func anEntityBecomesAbstractOnlyIfItHasNoObjects() throws {
        let concrete = Model(entities: [Entity("Base", [.title])])
        let abstract = Model(entities: [Entity("Base", [.title], isAbstract: true)])
        let container = try store.open(concrete)
        #expect(try container.plan(for: abstract).steps.map(\.change) == [.changeAbstract(to: true)])
        try container.migrate(to: abstract)
        #expect(try container.model().entities[0].isAbstract)
        #expect(throws: StoreError.abstractEntity("Base")) { try store.insert("Base", [["title": "a"]], container) }
        try container.migrate(to: concrete)
        try store.insert("Base", [["title": "a"]], container)
        #expect(throws: StoreError.self) { try container.migrate(to: abstract) }
        #expect(try container.model().entities[0].isAbstract == false)
    }

    @Test func aSubentityCannotReuseAFormerNameOfAnInheritedAttribute() throws {
        let container = try store.open(Model(entities: [Entity("Base", [.title])]))
        try store.insert("Base", [["title": "b"]], container)
        let name = AttributeDescription("name", .string, renamedFrom: "title")
        let renamed = try store.open(Model(entities: [Entity("Base", [name]), Entity("One", [], superentity: "Base")]))
        try store.insert("One", [["name": "c"]], renamed)
        let request = OrderDefinition(entity: "Base", predicate: try FetchPredicate("title == 'c'"))
        #expect(try renamed.withOrder(request, .init()) { $0.rowCount } == 1)
        #expect(throws: StoreError.self) {
            try store.open(Model(entities: [Entity("Base", [name]), Entity("Two", [.title], superentity: "Base")]))
        }
    }
}
