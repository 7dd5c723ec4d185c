import FetchIndex
import FetchIndexTestSupport
import Testing

/// Predicates, sort keys and section keys that reach through relationships.
@Suite struct KeyPathTests {
    private let store: LiveStore
    private let context: ManagedObjectContext

    /// Writers a, b, c and d have 0, 1, 2 and 3 novels. Each novel costs 100 times this number, plus its index, and is
    /// labelled even or odd by its index. One more novel has no writer.
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
        try context.save()
    }

    private func titles(_ format: String, _ arguments: any PredicateArgument...) throws -> [String] {
        try titles(format, argumentArray: arguments)
    }

    private func titles(_ format: String, argumentArray arguments: [any PredicateArgument]) throws -> [String] {
        var request = FetchRequest<Novel>(sortKeys: [SortKey("title")])
        request.predicate = try FetchPredicate(format: format, argumentArray: arguments)
        let found = try context.fetch(request).map(\.title)
        #expect(try context.count(for: request) == found.count)
        return found
    }

    private func names(_ format: String, _ arguments: any PredicateArgument...) throws -> [String] {
        var request = FetchRequest<Writer>(sortKeys: [SortKey("name")])
        request.predicate = try FetchPredicate(format: format, argumentArray: arguments)
        return try context.fetch(request).map(\.name)
    }

    @Test func predicatesReachThroughToOneRelationships() throws {
        #expect(try titles("writer.name == 'c'") == ["c0", "c1"])
        #expect(try titles("writer.name > 'b' AND price < 300") == ["c0", "c1"])
        #expect(try titles("writer.name BEGINSWITH[c] 'D'") == ["d0", "d1", "d2"])
        #expect(try titles("writer == NIL") == ["orphan"])
        #expect(try titles("writer.name == NIL") == ["orphan"])
        #expect(try titles("writer.passport == NIL").count == 7)
        let writer = try #require(try context.fetch(FetchRequest<Writer>(sortKeys: [SortKey("name")])).last)
        #expect(try titles("writer == %@", writer.objectID) == ["d0", "d1", "d2"])
        #expect(try titles("writer IN %@", [writer.objectID]) == ["d0", "d1", "d2"])
        #expect(try titles("writer != %@", writer.objectID) == ["b0", "c0", "c1", "orphan"])
        #expect(throws: FetchPredicateError.self) { try titles("writer == 'd'") }
        #expect(throws: FetchPredicateError.self) { try titles("writer.nothing == 'd'") }
    }

    @Test func predicatesReachThroughToManyRelationships() throws {
        #expect(try names("ANY novels.price > 250") == ["d"])
        #expect(try names("ALL novels.price > 150") == ["a", "c", "d"])
        #expect(try names("NONE novels.price > 150") == ["a", "b"])
        #expect(try names("novels.@count == 2") == ["c"])
        #expect(try names("novels.@count > 1") == ["c", "d"])
        #expect(try names("novels.@sum.price > 500") == ["d"])
        #expect(try names("novels.@max.price == 201") == ["c"])
        #expect(try names("SUBQUERY(novels, $n, $n.price > 200 AND $n.title ENDSWITH '1').@count > 0") == ["c", "d"])
        #expect(try names("ANY novels.labels.name == 'odd'") == ["c", "d"])
        #expect(try titles("ANY labels.name == 'odd'") == ["c1", "d1"])
        let odd = try #require(try context.fetch(FetchRequest<Label>(sortKeys: [SortKey("name")])).last)
        #expect(try titles("ANY labels == %@", odd.objectID) == ["c1", "d1"])
        #expect(try titles("%@ IN labels", odd.objectID) == ["c1", "d1"])
        #expect(try titles("labels.@count == 0") == ["orphan"])
        #expect(try names("SUBQUERY(novels, $n, ANY $n.labels.name == 'odd').@count > 0") == ["c", "d"])
    }

    @Test func sortAndSectionKeysReachThroughRelationships() throws {
        var request = FetchRequest<Novel>(sortKeys: [SortKey("writer.name", .descending), SortKey("price")])
        #expect(try context.fetch(request).map(\.title) == ["d0", "d1", "d2", "c0", "c1", "b0", "orphan"])
        request.sortKeys = [SortKey("writer.name"), SortKey("price", .descending)]
        for name in [nil, "by writer"] {
            let controller = try FetchedResultsController(
                fetchRequest: request, context: context, sectionKey: .attribute("writer.name"), cacheName: name)
            try controller.performFetch()
            #expect(controller.listing(\.title) == [": orphan", "b: b0", "c: c1 c0", "d: d2 d1 d0"])
        }
        #expect(throws: RequestError.self) {
            try context.fetch(FetchRequest<Novel>(sortKeys: [SortKey("labels.name")]))
        }
        #expect(throws: RequestError.self) { try context.fetch(FetchRequest<Novel>(sortKeys: [SortKey("writer")])) }
    }

    @Test func fetchesSeeUnsavedEditsOfRelatedObjects() throws {
        let writer = try #require(try context.fetch(FetchRequest<Writer>(sortKeys: [SortKey("name")])).last)
        writer.name = "aa"
        #expect(try titles("writer.name == 'aa'") == ["d0", "d1", "d2"])
        #expect(try titles("writer.name == 'd'") == [])
        let novel = context.novel("new", by: writer)
        novel.price = 1
        #expect(try titles("writer.name == 'aa' AND price < 10") == ["new"])
        #expect(try names("ANY novels.price < 10") == ["aa"])
        #expect(try names("novels.@count == 4") == ["aa"])
        try context.rollback()
        #expect(try titles("writer.name == 'd'") == ["d0", "d1", "d2"])
    }

    @Test func aPredicateOnARelatedObjectIsPlannedFromThatObject() throws {
        let writer = context.writer("e")
        writer.passport = Passport(context: context)
        writer.passport?.number = 7
        for number in 0..<200 { _ = context.novel("e\(number)", by: number < 4 ? writer : nil) }
        try context.save()
        func plan(_ format: String, _ arguments: any PredicateArgument...) throws -> FetchPlan {
            let predicate = try FetchPredicate(format: format, argumentArray: arguments)
            let found = try titles(format, argumentArray: arguments)
            #expect(found == ["e0", "e1", "e2", "e3"])
            return try store.container.plan(OrderDefinition(entity: "Novel", predicate: predicate))
        }
        for plan in try [
            plan("writer.name == 'e'"), plan("writer == %@", writer.objectID), plan("writer.passport.number == 7"),
            plan("writer.passport.number > 5 AND title BEGINSWITH 'e'"), plan("writer.name IN {'e', 'x'}"),
        ] {
            #expect("\(plan)".hasPrefix("links from the objects of writer") && plan.rowsRead == 4)
        }
        #expect(try titles("writer.passport == NIL").count == 203)
        #expect(try titles("writer.passport.number == NIL").count == 203)
    }

    @Test func comparingAToManyRelationshipWithNilIsAnError() throws {
        let error = #expect(throws: FetchPredicateError.self) { try titles("labels == NIL") }
        #expect(error.map { "\($0)" }?.contains("write labels.@count == 0") == true)
    }

    @Test func aPredicateCountsTheRelatedObjectsOfARelatedObject() throws {
        let writer = context.writer("w")
        for number in 0..<2000 { _ = context.novel("\(number)", by: writer) }
        try context.save()
        var request = FetchRequest<Novel>(sortKeys: [])
        request.predicate = try FetchPredicate("writer.novels.@count == 2000")
        #expect(try context.count(for: request) == 2000)
    }

    @Test(arguments: [nil, "by writer"]) func renamingARelatedObjectMovesTheRowsSortedByItsName(cacheName: String?)
        throws
    {
        let request = FetchRequest<Novel>(sortKeys: [SortKey("writer.name"), SortKey("price")])
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionKey: .attribute("writer.name"), cacheName: cacheName)
        try controller.performFetch()
        let recorder = Recorder<Novel>(\.title)
        controller.delegate = recorder
        let writer = try #require(try context.fetch(FetchRequest<Writer>(sortKeys: [SortKey("name")])).last)
        writer.name = "aa"
        context.processPendingChanges()
        let expected = [": orphan", "aa: d0 d1 d2", "b: b0", "c: c0 c1"]
        #expect(controller.listing(\.title) == expected)
        #expect(!recorder.take().isEmpty)
        try context.save()
        #expect(controller.listing(\.title) == expected)
        #expect(recorder.take() == [])
        // The writer is renamed in another context.
        let second = store.container.newContext()
        let other = try second.existingObject(with: writer.objectID, as: Writer.self)
        other.name = "zz"
        try second.save()
        try context.mergeChanges()
        #expect(controller.listing(\.title) == [": orphan", "b: b0", "c: c0 c1", "zz: d0 d1 d2"])
        if let cacheName {
            #expect(try store.container.verifyCache(cacheName) == [])
            let third = store.container.newContext()
            let again = try FetchedResultsController(
                fetchRequest: request, context: third, sectionKey: .attribute("writer.name"), cacheName: cacheName)
            let outcome = try again.performFetch()
            #expect(outcome == .hit)
            #expect(again.listing(\.title) == controller.listing(\.title))
        }
    }
}
