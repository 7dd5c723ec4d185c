import FetchIndex
import FetchIndexTestSupport
import Testing

/// The times at which a controller delivers changes to its delegate.
@Suite struct DeliveryTests {
    private func insertBook(_ title: String, in context: ManagedObjectContext) {
        let book = Book(context: context)
        (book.title, book.publisher, book.price) = (title, "P", 1)
    }

    @MainActor @Test func editsAreReportedInALaterJobOfTheActor() async throws {
        let store = try LiveStore(Model(Book.self))
        let context = store.container.newContext()
        let request = FetchRequest<Book>(sortKeys: [SortKey(\.title)])
        let controller = try FetchedResultsController(fetchRequest: request, context: context)
        let recorder = Recorder<Book>(\.title)
        controller.delegate = recorder
        try controller.performFetch()
        insertBook("b", in: context)
        insertBook("a", in: context)
        #expect(recorder.take() == [])
        for _ in 0..<100 where controller.fetchedObjects?.isEmpty ?? true { await Task.yield() }
        #expect(recorder.take() == ["will change", "a insert - 0.0", "b insert - 0.1", "did change"])
        try context.save()
        #expect(recorder.take() == ["will change", "did change"])
    }

    /// A program that never merges gets the changes of other contexts with the next `performFetch`.
    @Test(arguments: [nil, "books"]) func aSecondFetchDeliversTheSavesOfOtherContexts(cacheName: String?) throws {
        let store = try LiveStore(Model(Book.self))
        let (context, other) = (store.container.newContext(), store.container.newContext())
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Book>(sortKeys: [SortKey(\.title)]), context: context, cacheName: cacheName)
        let recorder = Recorder<Book>(\.title)
        controller.delegate = recorder
        #expect(try controller.performFetch() == (cacheName == nil ? .computed : .rebuilt(.first)))
        let book = Book(context: other)
        (book.title, book.publisher, book.price) = ("a", "P", 1)
        try other.save()
        var change = ResultsChange()
        change.rows = [.insert(book.objectID, to: RowPath(section: 0, row: 0))]
        #expect(try controller.performFetch() == (cacheName == nil ? .computed : .caughtUp(change)))
        #expect(recorder.take() == ["will change", "a insert - 0.0", "did change"])
        #expect(try controller.performFetch() == (cacheName == nil ? .computed : .hit))
        #expect(recorder.take() == [])
        guard let cacheName else { return }
        try store.container.deleteCache(named: cacheName)
        let outcome = try controller.performFetch()
        #expect(outcome == .rebuilt(.first))
        #expect(controller.fetchedObjects?.count == 1)
    }
}
