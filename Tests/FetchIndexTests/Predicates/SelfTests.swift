import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// SELF is the object itself, in fetches, on single objects and in cached orders.
@Suite struct SelfTests {
    private let store: LiveStore
    private let context: ManagedObjectContext

    /// Saves writers a to d, with the numbers 0 to 3: writer n has n novels with the prices 100 n, 100 n + 1 and so on,
    /// labelled in turn even and odd. One more novel has no writer. Folders f0 to f5 are a chain of parents.
    init() throws {
        store = try LiveStore(.library)
        context = store.container.newContext()
        let labels = ["even", "odd"].map { [context] in context.label($0) }
        for (number, name) in ["a", "b", "c", "d"].enumerated() {
            let writer = context.writer(name)
            for index in 0..<number {
                let novel = context.novel("\(name)\(index)", by: writer)
                novel.price = 100 * number + index
                novel.labels.insert(labels[index % 2])
            }
        }
        _ = context.novel("orphan")
        var parent: Folder?
        for number in 0..<6 { parent = context.folder("f\(number)", in: parent) }
        try context.save()
    }

    private func found<Object: ManagedObject>(
        _ type: Object.Type, _ name: (Object) -> String, _ format: String, _ arguments: [any PredicateArgument]
    ) throws -> [String] {
        let predicate = try FetchPredicate(format: format, argumentArray: arguments)
        var request = FetchRequest<Object>(entityName: "\(type)")
        let all = try context.fetch(request)
        request.predicate = predicate
        let found = try context.fetch(request)
        #expect(try context.count(for: request) == found.count, "\(format)")
        #expect(
            try all.filter { try predicate.evaluate(with: $0) }.map(\.objectID) == found.map(\.objectID), "\(format)")
        return found.map(name).sorted()
    }

    private func titles(_ format: String, _ arguments: any PredicateArgument...) throws -> [String] {
        try found(Novel.self, \.title, format, arguments)
    }

    private func names(_ format: String, _ arguments: any PredicateArgument...) throws -> [String] {
        try found(Writer.self, \.name, format, arguments)
    }

    private func folders(_ format: String, _ arguments: any PredicateArgument...) throws -> [String] {
        try found(Folder.self, \.name, format, arguments)
    }

    private func id<Object: ManagedObject>(_ type: Object.Type, _ format: String) throws -> ObjectID {
        var request = FetchRequest<Object>(entityName: "\(type)")
        request.predicate = try FetchPredicate(format)
        return try #require(try context.fetch(request).first).objectID
    }

    @Test func selfInAPredicateNamesTheObjectOfTheRow() throws {
        let (c0, d1) = (try id(Novel.self, "title == 'c0'"), try id(Novel.self, "title == 'd1'"))
        #expect(try titles("SELF == %@", c0) == ["c0"])
        #expect(try titles("self == %@", c0) == ["c0"])
        #expect(try titles("%@ == SELF", c0) == ["c0"])
        #expect(try titles("SELF IN %@", [c0, d1]) == ["c0", "d1"])
        #expect(try titles("SELF IN {%@, %@}", c0, d1) == ["c0", "d1"])
        #expect(try titles("self == %@ OR self == %@", c0, d1) == ["c0", "d1"])
        #expect(try titles("objectID == %@", c0) == ["c0"])
        #expect(try titles("objectID IN %@ AND price > 300", [c0, d1]) == ["d1"])
        #expect(try titles("NOT SELF IN %@", [c0, d1]) == ["b0", "c1", "d0", "d2", "orphan"])
        #expect(try titles("SELF != %@ AND writer.name == 'c'", c0) == ["c1"])
        #expect(try titles("SELF == NIL") == [])
        #expect(try titles("SELF != nil").count == 7)
        #expect(try titles("SELF.title == 'c0'") == ["c0"])
        #expect(try titles("SELF IN %@", [ObjectID]()) == [])
        #expect(try titles("SELF == SELF").count == 7)
    }

    @Test func selfIsComparedWithRelatedObjects() throws {
        let root = try id(Folder.self, "name == 'f0'")
        #expect(try folders("parent == %@", root) == ["f1"])
        #expect(try folders("parent != SELF").count == 6)
        #expect(try folders("parent.parent != SELF AND parent != nil").count == 5)
        #expect(try folders("ANY children == SELF") == [])
        #expect(try folders("SELF IN parent.children") == ["f1", "f2", "f3", "f4", "f5"])
        #expect(try folders("SUBQUERY(parent.children, $c, $c == SELF).@count == 1").count == 5)
        #expect(try folders("SUBQUERY(parent.children, $c, $c != SELF).@count == 0").count == 6)
        #expect(try names("ANY novels.writer == SELF") == ["b", "c", "d"])
        #expect(try names("SUBQUERY(novels, $n, $n.writer == SELF AND $n.price > 300).@count > 0") == ["d"])
        let d = try id(Writer.self, "name == 'd'")
        #expect(try names("SUBQUERY(novels, $n, $n.writer == %@).@count == 3", d) == ["d"])
        #expect(try titles("writer.objectID == %@", d) == ["d0", "d1", "d2"])
        #expect(try titles("writer.self IN %@", [d]) == ["d0", "d1", "d2"])
        let odd = try id(Label.self, "name == 'odd'")
        #expect(try names("SUBQUERY(novels, $n, %@ IN $n.labels).@count > 0", odd) == ["c", "d"])
        #expect(try names("SUBQUERY(novels, $n, ANY $n.labels == %@).@count > 0", odd) == ["c", "d"])
        #expect(try titles("SELF IN writer.novels").count == 6)
    }

    @Test func aPredicateComparesEntitiesByName() throws {
        #expect(try titles("entity == 'Novel'").count == 7)
        #expect(try titles("entity.name == 'Writer'") == [])
        #expect(try titles("self.entity.name BEGINSWITH[c] 'nov'").count == 7)
        #expect(try titles("entity == %@", try #require(Model.library.entity(named: "Novel"))).count == 7)
        #expect(try titles("writer.entity.name == 'Writer'").count == 6)
        #expect(try titles("writer.entity == nil") == ["orphan"])
        #expect(try names("ANY novels.entity.name == 'Novel'") == ["b", "c", "d"])
        #expect(try names("SUBQUERY(novels, $n, $n.entity.name == 'Novel' AND $n.price > 250).@count > 0") == ["d"])
        #expect(try titles("entity.name.length == 5").count == 7)
    }

    @Test func entityInAPredicateIsTheObjectsSubentityInAFetchOfTheSuperentity() throws {
        let works = Works()
        let container = try works.open()
        try works.fill(container, 12)
        let context = container.newContext()
        func codes(_ entity: String, _ format: String, _ arguments: any PredicateArgument...) throws -> [Value] {
            var request = FetchRequest<ManagedObject>(entityName: entity)
            request.predicate = try FetchPredicate(format: format, argumentArray: arguments)
            request.sortKeys = [SortKey("code")]
            let found = try context.fetch(request)
            for object in found { #expect(try request.predicate?.evaluate(with: object) == true) }
            return found.map { $0["code"] }
        }
        for name in ["Tome", "Manga", "Periodical"] {
            var request = FetchRequest<ManagedObject>(entityName: "Work")
            request.sortKeys = [SortKey("code")]
            let expected = try context.fetch(request).filter { $0.objectID.entityName == name }
            #expect(!expected.isEmpty)
            #expect(try codes("Work", "entity.name == %@", name) == expected.map { $0["code"] })
            #expect(try codes("Work", "entity IN {%@, 'x'}", name) == expected.map { $0["code"] })
            // Only fetches of the object's own entity and of its superentities find the object.
            let first = expected[0]
            #expect(try codes("Work", "SELF == %@", first.objectID) == [first["code"]])
            #expect(
                try codes("Work", "SELF IN %@ AND entity != 'Manga'", [first.objectID]).isEmpty == (name == "Manga"))
            #expect(try codes("Periodical", "SELF == %@", first.objectID).isEmpty == (name != "Periodical"))
        }
    }

    @Test func comparingSelfWithValuesOrObjectsOfOtherEntitiesIsAnError() throws {
        let writer = try id(Writer.self, "name == 'd'")
        for (format, arguments) in [
            ("SELF == 'd'", []), ("SELF == 5", []), ("SELF IN {1, 2}", []), ("SELF == title", []),
            ("SELF CONTAINS 'x'", []), ("length:(SELF) > 1", []), ("SELF == %@", [writer]), ("SELF > 5", []),
            ("SUBQUERY(labels, $l, $l == 'x').@count > 0", []),
        ] as [(String, [any PredicateArgument])] {
            #expect(throws: FetchPredicateError.self, "\(format)") {
                var request = FetchRequest<Novel>(entityName: "Novel")
                request.predicate = try FetchPredicate(format: format, argumentArray: arguments)
                _ = try context.fetch(request)
            }
        }
    }

    @Test func predicatesOnObjectIDsAreLookedUp() throws {
        for number in 0..<400 { _ = context.novel("n\(number)") }
        try context.save()
        let ids = try (100..<130).map { try id(Novel.self, "title == 'n\($0)'") }
        func plan(_ format: String, _ argument: any PredicateArgument) throws -> FetchPlan {
            let predicate = try FetchPredicate(format, argument)
            return try store.container.plan(OrderDefinition(entity: "Novel", predicate: predicate))
        }
        let plan = try plan("SELF IN %@", ids)
        #expect(plan.source == .identifiers)
        #expect(plan.rowsRead == 30)
        #expect(try titles("SELF IN %@", ids).count == 30)
        // One of the objects is deleted, and a new object is inserted; both edits are unsaved.
        let gone = try context.existingObject(with: ids[0])
        context.delete(gone)
        let new = context.novel("new")
        #expect(try titles("SELF IN %@", ids + [new.objectID]).count == 30)
        try context.save()
        #expect(try titles("SELF IN %@", ids).count == 29)
        #expect(try titles("SELF == %@", ids[0]) == [])
    }

    @Test func anOrderWhosePredicateHasSelfIsCached() throws {
        let ids = try ["c0", "d1", "d2"].map { try id(Novel.self, "title == '\($0)'") }
        var request = FetchRequest<Novel>(sortKeys: [SortKey("title")])
        func open(_ format: String, _ arguments: any PredicateArgument...) throws -> (FetchOutcome, [String]) {
            request.predicate = try FetchPredicate(format: format, argumentArray: arguments)
            let definition = OrderDefinition(
                entity: "Novel", predicate: request.predicate, sortKeys: [SortKey("title")])
            return try store.container.withOrder(definition, .init(cacheName: "chosen")) { order in
                var titles: [String] = []
                try order.forEachRow { titles.append(try $0.value(of: "title").stringValue ?? "") }
                return (order.outcome, titles)
            }
        }
        var (outcome, rows) = try open("SELF IN %@", ids)
        #expect(rows == ["c0", "d1", "d2"])
        (outcome, rows) = try open("SELF IN %@", ids)
        #expect(outcome == .hit)
        (outcome, rows) = try open("SELF IN %@", Array(ids.dropLast()))
        #expect(outcome == .rebuilt(.predicateChanged))
        #expect(rows == ["c0", "d1"])
        try context.existingObject(with: ids[0], as: Novel.self).title = "z"
        _ = context.novel("other")
        try context.save()
        (outcome, rows) = try open("SELF IN %@", Array(ids.dropLast()))
        #expect(rows == ["d1", "z"])
        (outcome, rows) = try open("writer.entity.name == 'Writer' AND SELF != %@", ids[1])
        #expect(rows == ["b0", "c1", "d0", "d2", "z"])
        (outcome, rows) = try open("writer.entity.name == 'Writer' AND SELF != %@", ids[1])
        #expect(outcome == .hit)
        (outcome, rows) = try open("writer.name == 'Writer' AND SELF != %@", ids[1])
        #expect(outcome == .rebuilt(.predicateChanged))
        #expect(rows.isEmpty)
    }

    @Test func aControllerFollowsAPredicateWithSelf() throws {
        let ids = try ["c0", "d1"].map { try id(Novel.self, "title == '\($0)'") }
        var request = FetchRequest<Novel>(sortKeys: [SortKey("title")])
        request.predicate = try FetchPredicate("SELF IN %@ OR price > 1000", ids)
        let controller = try FetchedResultsController(fetchRequest: request, context: context, cacheName: "self")
        try controller.performFetch()
        #expect(controller.listing(\.title) == [": c0 d1"])
        let novel = context.novel("a new one")
        novel.price = 2000
        try context.existingObject(with: ids[0], as: Novel.self).title = "z"
        context.processPendingChanges()
        #expect(controller.listing(\.title) == [": a new one d1 z"])
        try context.save()
        #expect(controller.listing(\.title) == [": a new one d1 z"])
        context.delete(try context.existingObject(with: ids[1]))
        try context.save()
        #expect(controller.listing(\.title) == [": a new one z"])
    }
}
