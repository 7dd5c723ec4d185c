@testable import FetchIndex
import Foundation
import FetchIndexModels
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

/// Zones in changed models, with unsaved edits, and under live controllers.
extension ZoneFetchTests {
    /// Objects that are older than an attribute have its default value, but the bounds of their zones lack it.
    @Test func zonesOlderThanAnAttributeAreNotSkippedByConditionsOnIt() throws {
        var generator = SeededGenerator(seed: 8)
        do { try insert(Self.files(10_000, .sorted, &generator), into: try container()) }
        let entity = Entity(
            "File", Self.entity.attributes + [AttributeDescription("kind", .integer, defaultValue: .integer(7))])
        let later = try PersistentContainer(path: folder.path, model: Model(entities: [entity]))
        let context = later.newContext()
        for _ in 0..<20_000 {
            let file = try context.insert("File")
            (file["path"], file["kind"]) = (.string("p"), .integer(9))
        }
        try context.save()
        func count(_ format: String) throws -> (found: Int, read: Int) {
            var request = FetchRequest<ManagedObject>(entityName: "File")
            request.predicate = try FetchPredicate(format)
            let definition = OrderDefinition(entity: "File", predicate: request.predicate)
            return (try context.fetch(request).count, try later.plan(definition).rowsRead)
        }
        // The second zone was begun before the attribute was added.
        #expect(try count("kind == 7") == (10_000, 16_383))
        #expect(try count("kind == 9") == (20_000, 30_000))
        #expect(try count("kind == 8") == (0, 16_383))
    }

    private func found(_ format: String, in container: PersistentContainer, _ entity: String = "File") throws -> (
        found: Int, read: Int
    ) {
        var request = FetchRequest<ManagedObject>(entityName: entity)
        request.predicate = try FetchPredicate(format)
        let definition = OrderDefinition(entity: entity, predicate: request.predicate)
        return (try container.newContext().fetch(request).count, try container.plan(definition).rowsRead)
    }

    /// Removing an attribute changes no record. Converting an attribute rewrites all records and their zones.
    @Test func zonesAreSkippedAfterAnAttributeWasRemovedOrConverted() throws {
        var generator = SeededGenerator(seed: 9)
        do { try insert(Self.files(30_000, .sorted, &generator), into: container()) }
        let others = Self.entity.attributes.filter { $0.name != "weight" && $0.name != "size" }
        let url = URL(fileURLWithPath: folder.path)
        do {
            let entity = Entity("File", others + [AttributeDescription("size", .integer)], removed: ["weight"])
            let container = try PersistentContainer(at: url, model: Model(entities: [entity]))
            #expect(try container.store.snapshot().check() == [])
            #expect(try found("size < 300", in: container) == (100, 8191))
            #expect(try found("section == 'section-10'", in: container).found == 749)
        }
        let entity = Entity("File", others + [AttributeDescription("size", .string)])
        let container = try PersistentContainer(at: url, model: Model(entities: [entity]), migration: .automatic)
        #expect(try container.store.snapshot().check() == [])
        #expect(try found("size == '300'", in: container).found == 1)
        let renewed = try found("section == 'section-10'", in: container)
        #expect(renewed.found == 749 && renewed.read >= 749 && renewed.read < 1000)
    }

    /// The first change of a zone after an attribute was removed is found.
    @Test func fetchesStayCorrectAfterAnAttributeIsRemoved() throws {
        let texts = [AttributeDescription("kind", .string), AttributeDescription("section", .string)]
        do {
            let container = try PersistentContainer(
                path: folder.path, model: Model(entities: [Entity("Item", texts)]))
            let context = container.newContext()
            var items: [ManagedObject] = []
            for number in 0..<600 {
                let item = try context.insert("Item")
                (item["kind"], item["section"]) = (.string(number == 7 ? "b" : "a"), .string("s"))
                items.append(item)
            }
            try context.save()
            #expect(try found("kind == 'b'", in: container, "Item") == (1, 1))
            for item in items.suffix(200) { context.delete(item) }
            try context.save()
        }
        let entity = Entity("Item", [texts[0]], removed: ["section"])
        let container = try PersistentContainer(path: folder.path, model: Model(entities: [entity]))
        let context = container.newContext()
        try context.existingObject(with: context.objectID(of: "Item", number: 20))["kind"] = .string("b")
        try context.save()
        #expect(try found("kind == 'b'", in: container, "Item").found == 2)
        #expect(try container.store.snapshot().check() == [])
    }

    /// All objects of subentities are read; zones of the entity itself are skipped.
    @Test func zonesOfSubentitiesAreNotSkipped() throws {
        let model = Model(entities: [
            Entity("Base", [AttributeDescription("code", .integer)]),
            Entity("Sub", [AttributeDescription("name", .string)], superentity: "Base"),
        ])
        let container = try PersistentContainer(temporaryWith: model)
        let context = container.newContext()
        for code in 0..<20_000 {
            try context.insert("Base")["code"] = .integer(Int64(code))
            if code % 100 == 0 { try context.insert("Sub")["code"] = .integer(Int64(code)) }
        }
        try context.save()
        #expect(try found("code >= 19000", in: container, "Base") == (1010, 20_000 - 2 * 8192 + 1 + 200))
        #expect(try found("code >= 19000", in: container, "Sub").found == 10)
    }

    /// One object is inserted, one deleted and two edited; one of the edits makes an object of a skipped zone match.
    @Test func unsavedEditsInSkippedZonesAreFound() throws {
        var generator = SeededGenerator(seed: 10)
        let container = try container()
        try insert(Self.files(30_000, .sorted, &generator), into: container)
        let context = container.newContext()
        func object(_ number: UInt64) throws -> ManagedObject {
            try context.existingObject(with: context.objectID(of: "File", number: number))
        }
        func numbers(_ isSorted: Bool) throws -> [UInt64] {
            var request = FetchRequest<ManagedObject>(entityName: "File")
            request.predicate = try FetchPredicate("size < 9")
            if isSorted { request.sortKeys = [SortKey("size")] }
            return try context.fetch(request).map { $0.objectID.isTemporary ? 0 : $0.objectID.number }
        }
        #expect(try numbers(false) == [1, 2, 3])
        let new = try context.insert("File")
        (new["size"], new["path"], new["isNew"]) = (.integer(4), .string("new"), .boolean(true))
        new["date"] = .date(Date(timeIntervalSinceReferenceDate: 0))
        context.delete(try object(2))
        try object(3)["size"] = .integer(9)
        try object(25_000)["size"] = .integer(5)
        #expect(try numbers(false) == [1, 25_000, 0])
        #expect(try numbers(true) == [1, 0, 25_000])
        try context.rollback()
        #expect(try numbers(false) == [1, 2, 3] && numbers(true) == [1, 2, 3])
    }

    /// The controller has no cache, so its order is built only from the zones that may have matches. The controller
    /// must follow a change in another zone.
    @Test func aControllerFollowsChangesInSkippedZones() throws {
        var generator = SeededGenerator(seed: 11)
        let container = try container()
        try insert(Self.files(30_000, .sorted, &generator), into: container)
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "File")
        request.predicate = try FetchPredicate("section == 'section-12'")
        request.sortKeys = [SortKey("path")]
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("section"))
        try controller.performFetch()
        let count = controller.sections.first?.count ?? 0
        #expect(controller.sections.count == 1 && count > 700)
        let object = try context.existingObject(with: context.objectID(of: "File", number: 29_000))
        object["section"] = .string("section-12")
        try context.save()
        #expect(controller.sections.first?.count == count + 1)
        #expect(try found("section == 'section-12'", in: container).found == count + 1)
    }
}
