import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndex

/// An object gets a permanent id when it is first saved, and the save's change maps a reported temporary id to the
/// permanent id.
@Suite struct RenumberedTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Book.self))
        context = store.container.newContext()
    }

    private func request(limit: Int = 0) -> FetchRequest<Book> {
        var request = FetchRequest<Book>()
        request.sortKeys = [SortKey(\.title)]
        request.fetchLimit = limit
        return request
    }

    private final class Keeper: FetchedResultsControllerDelegate {
        var ids: [ObjectID] = []
        var changes: [ResultsChange] = []

        func controller(_ controller: FetchedResultsController<Book>, didChange change: ResultsChange) {
            changes.append(change)
            ids = ids.map { change.renumbered[$0] ?? $0 }
            guard let rows = change.replay(on: [ids]) else { return }
            ids = rows[0]
        }
    }

    @Test func replayingChangesKeepsAListOfIDsCurrent() throws {
        let controller = try FetchedResultsController(fetchRequest: request(), context: context)
        let keeper = Keeper()
        controller.delegate = keeper
        try controller.performFetch()
        let book = Book(context: context)
        (book.title, book.publisher, book.price) = ("b", "P", 1)
        context.processPendingChanges()
        #expect(keeper.ids == [book.objectID])
        let temporary = book.objectID
        try context.save()
        #expect(keeper.ids == [book.objectID])
        #expect(keeper.changes.last?.isEmpty == true)
        #expect(keeper.changes.last?.renumbered == [temporary: book.objectID])
    }

    /// The batch that maps a row's temporary id also deletes the row, because a new row takes its place within the
    /// limit.
    @Test func aSaveMapsTheTemporaryIDOfARowThatItMovesBeyondTheLimit() throws {
        let controller = try FetchedResultsController(fetchRequest: request(limit: 1), context: context)
        let keeper = Keeper()
        controller.delegate = keeper
        try controller.performFetch()
        let later = Book(context: context)
        (later.title, later.publisher, later.price) = ("b", "P", 1)
        context.processPendingChanges()
        let temporary = later.objectID
        #expect(keeper.ids == [temporary])
        let first = Book(context: context)
        (first.title, first.publisher, first.price) = ("a", "P", 1)
        try context.save()
        #expect(keeper.changes.last?.renumbered[temporary] == later.objectID)
        #expect(keeper.ids == [first.objectID])
    }

    @Test func theChangeOfASaveMapsTemporaryIDsToPermanentOnes() async throws {
        let controller = try FetchedResultsController(fetchRequest: request(), context: context)
        try controller.performFetch()
        var changes = controller.changes.makeAsyncIterator()
        let book = Book(context: context)
        (book.title, book.publisher, book.price) = ("a", "P", 1)
        context.processPendingChanges()
        let temporary = book.objectID
        try context.save()
        let inserted = await changes.next(), saved = await changes.next()
        #expect(inserted?.rows == [.insert(temporary, to: RowPath(section: 0, row: 0))])
        #expect(saved?.isEmpty == true)
        #expect(saved?.renumbered == [temporary: book.objectID])
    }
}

/// The outcome that a batch writer's `commit(bringing:)` returns for a cache.
@Suite struct BroughtOrderTests {
    private let byTitle = OrderDefinition(entity: "Book", sortKeys: [SortKey("title")])
    private let byPrice = OrderDefinition(entity: "Book", sortKeys: [SortKey("price")])

    private func commit(_ title: String, _ store: LiveStore) throws -> FetchOutcome? {
        let writer = try BatchWriter(store.container, entity: "Book")
        try writer.insert([.string(title), .string("P"), .integer(1)])
        return try writer.commit(bringing: byTitle, cacheName: "c")
    }

    /// If another request has replaced the cache, or the cache was deleted, the change is unknown, and the outcome is a
    /// rebuild.
    @Test func aReplacedOrDeletedCacheIsReportedAsRebuilt() throws {
        let store = try LiveStore(Model(Book.self))
        #expect(try commit("a", store) == .rebuilt(.first))
        try store.container.withOrder(byTitle, .init(cacheName: "c")) { _ in }
        guard case .caughtUp(let change) = try commit("b", store) else {
            Issue.record("the change must be known")
            return
        }
        #expect(change.rows.count == 1)
        try store.container.withOrder(byPrice, .init(cacheName: "c")) { _ in }
        #expect(try commit("c", store) == .rebuilt(.sortChanged))
        try store.container.withOrder(byTitle, .init(cacheName: "c")) { #expect($0.rowCount == 3) }
        guard case .caughtUp = try commit("d", store) else {
            Issue.record("the change must be known again")
            return
        }
        try store.container.deleteCache(named: "c")
        #expect(try commit("e", store) == .rebuilt(.first))
    }

    /// The definition is checked before the transaction ends, so that the written objects can still be committed.
    @Test func aCommitWithAnInvalidDefinitionKeepsTheWrittenObjects() throws {
        let store = try LiveStore(Model(Book.self))
        let writer = try BatchWriter(store.container, entity: "Book")
        try writer.insert([.string("a"), .string("P"), .integer(1)])
        let wrong = OrderDefinition(entity: "Book", sortKeys: [SortKey("none")])
        #expect(throws: (any Error).self) { try writer.commit(bringing: wrong, cacheName: "c") }
        #expect(writer.hasOpenTransaction)
        #expect(try writer.commit(bringing: byTitle, cacheName: "c") == .rebuilt(.first))
        try store.container.withOrder(byTitle, .init(cacheName: "c")) { #expect($0.rowCount == 1) }
    }
}
