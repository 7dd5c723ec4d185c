import FetchIndex
import Foundation
import FetchIndexModels
import FetchIndexTestSupport
import Testing

@Suite struct HierarchyTests {
    let store = Works()

    @Test func subclassesInheritTheAttributesOfTheirBaseClass() throws {
        let model = Works.model
        let manga = try #require(model.entity(named: "Manga"))
        #expect(manga.superentity == "Tome")
        #expect(manga.attributes.map(\.name) == ["code", "title", "publisher", "pages", "artist"])
        #expect(model.entity(named: "Work")?.isAbstract == true)
        #expect(manga.isAbstract == false)
        let container = try store.open()
        let stored = try container.model()
        #expect(Set(stored.entities) == Set(model.entities))
        // Entities that are declared without classes also inherit attributes.
        let declared = Model(entities: [
            Entity("Tome", [AttributeDescription("pages", .integer)], superentity: "Work"),
            Entity("Work", [AttributeDescription("title", .string)]),
        ])
        #expect(declared.entities[0].attributes.map(\.name) == ["title", "pages"])
    }

    @Test func aFetchFindsObjectsOfSubentitiesUnlessExcluded() throws {
        let container = try store.open()
        try store.fill(container, 30)
        let context = container.newContext()
        var request = FetchRequest<Work>(sortKeys: [SortKey(\.code)])
        let all = try context.fetch(request)
        #expect(all.map(\.code) == Array(0..<30))
        #expect(all.allSatisfy { type(of: $0) == [Tome.self, Manga.self, Periodical.self][$0.code % 3] })
        #expect(all.map(\.objectID.entityName).prefix(3) == ["Tome", "Manga", "Periodical"])
        #expect((all[1] as? Manga)?.artist == "artist 1")
        #expect(try context.count(for: request) == 30)
        request.includesSubentities = false
        #expect(try context.fetch(request).isEmpty)
        #expect(try context.count(for: request) == 0)

        var tomes = FetchRequest<Tome>(sortKeys: [SortKey(\.title), SortKey(\.code)])
        tomes.predicate = try FetchPredicate("pages > 5")
        let expected = (0..<30).filter { ($0 % 3 == 0 && $0 > 0) || ($0 % 3 == 1 && $0 > 5) }
        #expect(Set(try context.fetch(tomes).map(\.code)) == Set(expected))
        #expect(try context.count(for: tomes) == expected.count)
        tomes.includesSubentities = false
        #expect(Set(try context.fetch(tomes).map(\.code)) == Set(expected.filter { $0 % 3 == 0 }))
        // Unsaved objects are evaluated by the attributes of their own entities.
        let manga = Manga(context: context)
        (manga.code, manga.pages) = (1000, 400)
        tomes.includesSubentities = true
        #expect(try context.count(for: tomes) == expected.count + 1)
        #expect(try context.fetch(tomes).contains { $0 === manga })
    }

    @Test func idsInAFetchOfABaseEntityNameTheSubentities() throws {
        let container = try store.open()
        try store.fill(container, 9)
        let context = container.newContext()
        var request = FetchRequest<Work>(sortKeys: [SortKey(\.code)])
        request.resultType = .dictionaries
        request.propertiesToFetch = ["code", "title"]
        guard case .dictionaries(let rows) = try context.execute(request) else { return #expect(Bool(false)) }
        #expect(rows.compactMap { $0["code"] } == (0..<9).map { .integer($0) })
        request.resultType = .objectIDs
        guard case .objectIDs(let ids) = try context.execute(request) else { return #expect(Bool(false)) }
        #expect(ids.map(\.entityName) == (0..<9).map { ["Tome", "Manga", "Periodical"][$0 % 3] })
        let again = try context.existingObject(with: ids[1], as: Work.self)
        #expect(again is Manga)
        let uri = try #require(ids[2].uriRepresentation)
        #expect(try context.existingObject(with: try #require(ObjectID(uriRepresentation: uri))) is Periodical)
    }

    @Test func aCacheIncludesTheObjectsOfSubentities() throws {
        let container = try store.open()
        try store.fill(container, 60)
        var definition = OrderDefinition(
            entity: "Work", sortKeys: [SortKey("title")], sectionKey: .attribute("publisher"))
        func outcome() throws -> FetchOutcome {
            try container.withOrder(definition, .init(cacheName: "all")) { order in
                #expect(order.rowCount == (definition.includesSubentities ? 60 : 0))
                return order.outcome
            }
        }
        #expect(try outcome() == .rebuilt(.first))
        #expect(try outcome() == .hit)
        let context = container.newContext()
        let periodical = try #require(try context.fetch(FetchRequest<Periodical>(sortKeys: [SortKey(\.code)])).first)
        periodical.publisher = "another"
        try context.save()
        guard case .caughtUp(let change) = try outcome() else { return #expect(Bool(false)) }
        #expect(change.rows.map(\.id) == [periodical.objectID])
        #expect(change.rows.map(\.id.entityName) == ["Periodical"])
        #expect(try container.verifyCache("all").isEmpty)
        #expect(try container.cacheStatistics().first?.isFresh == true)
        // A row's values are read by the attributes of its own entity.
        try container.withOrder(definition, .init(cacheName: "all")) { order in
            try order.forEachRow { row in
                let code = try row.value(of: "code")
                #expect(try row.value(at: 0) == code)
                guard case .integer(let number) = code else { return }
                #expect(row.entity.name == ["Tome", "Manga", "Periodical"][Int(number) % 3])
            }
        }
        // A request without subentities is another request.
        definition.includesSubentities = false
        #expect(try outcome() == .rebuilt(.modelChanged))
        #expect(try container.verifyCache("all").isEmpty)
    }

    @Test func uniqueValuesAreUniqueAmongTheEntitiesOfAHierarchy() throws {
        let container = try store.open()
        try store.fill(container, 6)
        let context = container.newContext()
        let tome = Tome(context: context)
        tome.code = 2
        // A periodical has code 2.
        #expect(throws: ValidationError.self) { try context.save() }
        context.onUniqueConflict = .update
        #expect(throws: ValidationError.self) { try context.save() }
        context.onUniqueConflict = .error
        context.delete(tome)
        let rows: [[Value]] = [[.integer(5), .string("no manga"), .null, .null, .null]]
        #expect(throws: StoreError.notUnique(entity: "Manga", attribute: "code", value: "5")) {
            try context.execute(
                BatchInsertRequest(entityName: "Manga", rows: rows).updatingOnConflict)
        }
        let writer = try BatchWriter(container, entity: "Periodical", key: "code")
        #expect(try writer.object(key: .integer(2)) != nil)
        #expect(try writer.object(key: .integer(3)) == nil)
        writer.rollback()
        // A value is free once the object of another entity gives it up.
        let periodical = try #require(
            try context.fetch(FetchRequest<Work>(predicate: FetchPredicate("code == 2"), sortKeys: [])).first)
        periodical.code = 900
        let taken = Manga(context: context)
        taken.code = 2
        try context.save()
        #expect(try container.check { _, _ in }.isEmpty)
        let found = try context.fetch(FetchRequest<Work>(predicate: FetchPredicate("code == 2"), sortKeys: []))
        #expect(found == [taken])
    }

    @Test func anObjectOfAnAbstractEntityCannotBeStored() throws {
        let container = try store.open()
        let context = container.newContext()
        let work = try context.insert("Work")
        work["code"] = .integer(1)
        #expect(throws: StoreError.abstractEntity("Work")) { try context.save() }
        #expect(throws: StoreError.abstractEntity("Work")) {
            try BatchWriter(container, entity: "Work").insert([.integer(1)])
        }
    }

    @Test func batchRequestsIncludeSubentitiesUnlessExcluded() throws {
        let container = try store.open()
        try store.fill(container, 30)
        let context = container.newContext()
        var update = BatchUpdateRequest(
            entityName: "Tome", predicate: try FetchPredicate("code < 10"),
            propertiesToUpdate: ["publisher": .string("new")])
        update.includesSubentities = false
        #expect(try context.execute(update) == 4)
        update.includesSubentities = true
        #expect(try context.execute(update) == 3)
        let request = FetchRequest<Work>(
            predicate: try FetchPredicate("publisher == 'new'"), sortKeys: [SortKey(\.code)])
        #expect(try context.fetch(request).map(\.code) == [0, 1, 3, 4, 6, 7, 9])
        var delete = BatchDeleteRequest(entityName: "Work", predicate: try FetchPredicate("code < 20"))
        delete.includesSubentities = false
        #expect(try context.execute(delete) == 0)
        delete.includesSubentities = true
        #expect(try context.execute(delete) == 20)
        #expect(try container.check { _, _ in }.isEmpty)
    }

    @Test func invalidHierarchiesAreRefused() {
        func refused(_ entities: Entity...) -> Bool {
            do { try Model(entities: entities).validate() } catch ModelError.invalid { return true } catch {}
            return false
        }
        let name = AttributeDescription("name", .string)
        #expect(refused(Entity("A", [name], superentity: "B")))
        #expect(refused(Entity("A", [name], superentity: "A")))
        #expect(refused(Entity("A", [name], superentity: "B"), Entity("B", [name], superentity: "A")))
        #expect(refused(Entity("A", [name]), Entity("B", [AttributeDescription("name", .integer)], superentity: "A")))
        #expect(!refused(Entity("A", [name]), Entity("B", [], superentity: "A")))
    }

    @Test func objectsOfUndeclaredSubentitiesAreOfTheBaseClass() throws {
        try store.fill(try store.open(), 3)
        // This program declares the base class alone.
        let container = try store.open(Model(Work.self))
        let context = container.newContext()
        let inserted = try context.insert("Tome")
        #expect(inserted is Work)
        inserted["code"] = .integer(77)
        try context.save()
        #expect(try context.fetch(FetchRequest<Work>(sortKeys: [SortKey(\.code)])).map(\.code) == [0, 1, 2, 77])
        // Requesting a Tome object as a Work fails if no class is declared. Afterwards a fetch of Tome objects still
        // works.
        let tomes = try PersistentContainer(at: URL(fileURLWithPath: store.folder.path), durability: .none)
        let second = tomes.newContext()
        let id = try second.objectID(of: "Tome", number: 1)
        #expect(throws: ContextError.self) { try second.existingObject(with: id, as: Work.self) }
        #expect(try second.fetch(FetchRequest<Tome>(sortKeys: [SortKey(\.code)])).count == 3)
        withExtendedLifetime((context, second)) {}
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
}

extension BatchInsertRequest {
    fileprivate var updatingOnConflict: BatchInsertRequest {
        var request = self
        request.onUniqueConflict = .update
        return request
    }
}
