import FetchIndex
import FetchIndexTestSupport
import Testing

/// Key paths through objects that are not saved yet.
@Suite struct UnsavedKeyPathTests {
    private let store: LiveStore
    private let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(.library)
        context = store.container.newContext()
    }

    private func matches(_ format: String, _ arguments: any PredicateArgument...) throws -> [String] {
        var request = FetchRequest<Novel>(sortKeys: [SortKey("title")])
        request.predicate = try FetchPredicate(format: format, argumentArray: arguments)
        return try context.fetch(request).map(\.title)
    }

    @Test(
        arguments: [
            "writer.passport.number > 3", "writer.novels.@count > 0", "writer.name == 'n' OR ANY labels.name == 'l'",
        ])
    func aNewRowThatMatchesByNewRelatedObjectsIsInsertedOnce(format: String) throws {
        for cacheName in [nil, "c"] {
            let context = store.container.newContext()
            let controller = try FetchedResultsController(
                fetchRequest: FetchRequest<Novel>(
                    predicate: try FetchPredicate(format: format, argumentArray: []), sortKeys: [SortKey("title")]),
                context: context, cacheName: cacheName)
            try controller.performFetch()
            let recorder = Recorder<Novel>(\.title)
            controller.delegate = recorder
            let passport = Passport(context: context)
            passport.number = 4
            let writer = context.writer(cacheName == nil ? "n" : "n ")
            if cacheName != nil { _ = try context.fetch(FetchRequest<Writer>()).map { $0.name = "old \($0.objectID)" } }
            writer.name = "n"
            writer.passport = passport
            _ = context.novel("b", by: writer)
            context.processPendingChanges()
            #expect(recorder.take().count { $0.contains("insert") } == 1)
            try context.save()
            #expect(!recorder.take().contains { $0.contains("insert") })
            #expect(controller.fetchedObjects?.filter { $0.writer === writer }.count == 1)
        }
    }

    @Test func unsavedObjectsAreComparedByTheirTemporaryIDs() throws {
        let writer = context.writer("w")
        _ = context.novel("a")
        _ = context.novel("b", by: writer)
        #expect(try matches("writer == %@", writer.objectID) == ["b"])
        #expect(try matches("writer != %@", writer.objectID) == ["a"])
        try context.save()
        #expect(try matches("writer == %@", writer.objectID) == ["b"])
        let novel = try #require(try context.fetch(FetchRequest<Novel>()).first)
        let error = #expect(throws: FetchPredicateError.self) { try matches("writer == %@", novel.objectID) }
        #expect(error.map { "\($0)" }?.contains("an object is compared with an object of another entity") == true)
    }
}
