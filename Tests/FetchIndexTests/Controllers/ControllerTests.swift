import FetchIndex
import Foundation
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

@Suite struct ControllerTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Book.self))
        context = store.container.newContext()
        for (title, publisher, price) in [("b", "P", 2), ("a", "P", 1), ("d", "Q", 4), ("c", "Q", 3)] {
            book(title, publisher, price)
        }
        try context.save()
    }

    @discardableResult
    private func book(_ title: String, _ publisher: String, _ price: Int) -> Book {
        let book = Book(context: context)
        (book.title, book.publisher, book.price) = (title, publisher, price)
        return book
    }

    private func request(_ predicate: String? = nil) throws -> FetchRequest<Book> {
        var request = FetchRequest<Book>()
        request.predicate = try predicate.map { try FetchPredicate($0) }
        request.sortKeys = [SortKey(\.price)]
        return request
    }

    private func controller(
        _ predicate: String? = nil, in context: ManagedObjectContext? = nil, cacheName: String? = nil,
        sections: SectionKey? = .attribute("publisher")
    ) throws -> FetchedResultsController<Book> {
        try FetchedResultsController(
            fetchRequest: request(predicate), context: context ?? self.context, sectionKey: sections,
            cacheName: cacheName)
    }

    // MARK: Names

    @Test func twoRequestsInAContextCannotShareACacheName() throws {
        let first = try controller(cacheName: "c"), same = try controller(cacheName: "c")
        let other = try controller("price > 1", cacheName: "c")
        try first.performFetch()
        #expect(try same.performFetch() == .hit)
        #expect(throws: ContextError.cacheNameInUse("c")) { try other.performFetch() }
        #expect(throws: ContextError.noSortKeys) {
            try FetchedResultsController(fetchRequest: FetchRequest<Book>(), context: context)
        }
        #expect(first.listing(\.title) == same.listing(\.title))
    }

    @Test func aControllerWhoseCacheIsReplacedOrDeletedContinuesInMemory() throws {
        let first = try controller(cacheName: "c")
        let recorder = Recorder<Book>(\.title)
        first.delegate = recorder
        try first.performFetch()
        let elsewhere = store.container.newContext()
        try controller("price > 1", in: elsewhere, cacheName: "c").performFetch()
        book("e", "P", 0)
        try context.save()
        #expect(recorder.take() == ["will change", "e insert - 0.0", "did change"])
        book("f", "P", 5)
        try context.save()
        #expect(recorder.take() == ["will change", "f insert - 0.3", "did change"])
        #expect(first.listing(\.title) == ["P: e a b f", "Q: c d"])
        #expect(
            try controller("price > 1", in: elsewhere, cacheName: "c").performFetch() != .rebuilt(.predicateChanged))

        let second = try controller("price > 2", cacheName: "d")
        second.delegate = recorder
        try second.performFetch()
        try FetchedResultsController<Book>.deleteCache(named: "d", in: store.container)
        book("g", "P", 9)
        try context.save()
        #expect(second.listing(\.title) == ["Q: c d", "P: f g"])
        #expect(recorder.take().filter { $0.hasPrefix("g") } == ["g insert - 0.4", "g insert - 1.1"])
    }

    @Test func aSaveUpdatesAllFollowedCachesInOneTransaction() throws {
        let controllers = try ["x", "y"].map { try controller("price > \($0 == "x" ? 0 : 2)", cacheName: $0) }
        for controller in controllers { try controller.performFetch() }
        let before = try store.container.store.lastTransaction()
        book("e", "P", 7)
        try context.save()
        #expect(try store.container.store.lastTransaction() == before + 1)
        #expect(try store.container.cacheStatistics().map(\.isFresh) == [true, true])
        for name in ["x", "y"] { #expect(try store.container.verifyCache(name) == []) }
        withExtendedLifetime(controllers) {}
    }

    /// A save also advances followed caches of entities that it doesn't change, so that the log can be trimmed.
    @Test func savesAdvanceFollowedCachesOfUnchangedEntities() throws {
        let store = try LiveStore(Model(Account.self, Book.self))
        let context = store.container.newContext()
        var request = FetchRequest<Book>()
        request.sortKeys = [SortKey(\.price)]
        let controller = try FetchedResultsController(fetchRequest: request, context: context, cacheName: "books")
        try controller.performFetch()
        for number in 0..<5 {
            let account = Account(context: context)
            (account.name, account.balance) = ("\(number)", 0)
            try context.save()
        }
        let header = try CacheDirectory.header("books", in: try store.container.store.snapshot())
        #expect(try header?.commit == context.commit)
    }

    // MARK: Reading

    @Test func aControllerGivesItsSectionsRowsAndIndexTitles() throws {
        let controller = try controller()
        #expect(controller.fetchedObjects == nil)
        #expect(controller.sections.isEmpty)
        #expect(try controller.performFetch() == .computed)
        #expect(controller.fetchedObjects?.map(\.title) == ["a", "b", "c", "d"])
        #expect(controller.sections.map(\.indexTitle) == ["P", "Q"] && controller.sections[1].objects[0].title == "c")
        #expect(controller.section(forSectionIndexTitle: "Q", at: 1) == 1)
        #expect(controller.section(forSectionIndexTitle: "Q", at: 0) == nil)
        #expect(controller.section(forSectionIndexTitle: "X") == nil)
        let unknown = store.container.newContext()
        #expect(controller.indexPath(forObject: Book(context: unknown)) == nil)
        let titles = Titles()
        controller.delegate = titles
        #expect(controller.sectionIndexTitles == ["*"])
        #expect(controller.section(forSectionIndexTitle: "*") == 0)
    }

    final class Titles: FetchedResultsControllerDelegate {
        typealias Object = Book
        func controller(
            _ controller: FetchedResultsController<Book>, sectionIndexTitleForSectionName name: String
        ) -> String? { "*" }
    }

    @Test func anEmptyResultWithoutASectionKeyHasOneSection() throws {
        let controller = try controller("price > 100", sections: nil)
        try controller.performFetch()
        #expect(
            controller.sections.count == 1 && controller.sections[0].count == 0 && controller.sections[0].name == "")
        let grouped = try self.controller("price > 100")
        try grouped.performFetch()
        #expect(grouped.sections.isEmpty)
    }

    @Test func aControllerReadsRecordsInsteadOfADamagedCacheAndASaveRebuildsTheCache() throws {
        let controller = try controller(cacheName: "c")
        try controller.performFetch()
        let expected = controller.listing(\.title)
        try store.damageNodes()
        let fresh = store.container.newContext()
        let reader = try self.controller(in: fresh, cacheName: "c")
        #expect(try reader.performFetch() == .hit, "the header isn't damaged")
        #expect(reader.listing(\.title) == expected)
        #expect(reader.failure == nil)
        // The save finds the damage, too, and rebuilds the cache.
        let recorder = Recorder<Book>(\.title)
        controller.delegate = recorder
        book("e", "P", 0)
        try context.save()
        #expect(recorder.take() == ["will change", "e insert - 0.0", "did change"])
        #expect(try store.container.verifyCache("c") == [])
    }

    // MARK: Changes

    @Test func theDescriptionOfAChangeListsItsEvents() async throws {
        let controller = try controller()
        try controller.performFetch()
        var changes = controller.changes.makeAsyncIterator()
        book("e", "O", 0)
        context.delete(controller.object(at: RowPath(section: 1, row: 0)))
        context.processPendingChanges()
        let line = try #require(await changes.next()).description
        #expect(line.hasPrefix("section insert → 0 O, row delete #4 1:0, row insert new "))
        #expect(ResultsChange().description == "no changes")
    }

    @Test func theCollectionDifferenceOfAChangeLeadsToTheNewOrder() async throws {
        let controller = try controller(sections: nil)
        try controller.performFetch()
        var old = try #require(controller.fetchedObjects?.map(\.objectID))
        var changes = controller.changes.makeAsyncIterator()
        for title in ["x", "y"] {
            book(title, "P", title == "x" ? 0 : 9)
            controller.object(at: RowPath(section: 0, row: 2)).price += title == "x" ? 10 : -10
            context.delete(controller.object(at: RowPath(section: 0, row: 1)))
            try context.save()
            let change = try #require(await changes.next())
            let difference = try #require(change.collectionDifference)
            old = try #require(old.applying(difference))
            #expect(old == controller.fetchedObjects?.map(\.objectID))
        }
    }

    final class Snapshots: FetchedResultsControllerSnapshotDelegate {
        var snapshots: [ResultsSnapshot] = []
        var others = 0

        func controller(_ controller: FetchedResultsController<Book>, didChangeContentWith snapshot: ResultsSnapshot) {
            snapshots.append(snapshot)
        }

        func controllerWillChangeContent(_ controller: FetchedResultsController<Book>) { others += 1 }
    }

    @Test func aSnapshotDelegateGetsSnapshotsOnly() throws {
        let controller = try controller()
        let delegate = Snapshots()
        controller.delegate = delegate
        try controller.performFetch()
        book("e", "R", 7)
        try context.save()
        #expect(delegate.others == 0)
        #expect(delegate.snapshots == [controller.snapshot])
        #expect(controller.snapshot.sectionNames == ["P", "Q", "R"])
    }

    final class Meddler: FetchedResultsControllerDelegate {
        var seen: [[String]] = []
        var errors: [ContextError] = []

        func controllerDidChangeContent(_ controller: FetchedResultsController<Book>) {
            let context = controller.managedObjectContext
            seen.append((try? context.fetch(controller.fetchRequest).map(\.title)) ?? [])
            for action in [context.save, context.rollback, context.mergeChanges, { try controller.performFetch() }] {
                do { try action() } catch { if let error = error as? ContextError { errors.append(error) } }
            }
            if seen.count == 1 { controller.object(at: RowPath(section: 0, row: 0)).title += "!" }
        }
    }

    @Test func aDelegateMayFetchAndEditButNotSaveOrMerge() throws {
        let controller = try controller()
        let delegate = Meddler()
        controller.delegate = delegate
        try controller.performFetch()
        book("e", "P", 0)
        context.processPendingChanges()
        #expect(delegate.seen == [["e", "a", "b", "c", "d"], ["e!", "a", "b", "c", "d"]])
        // In both deliveries, save, rollback and merge are refused, and performFetch isn't.
        #expect(delegate.errors == Array(repeating: .delivering, count: 6))
    }

    @Test func aChangedRequestIsDeliveredAsOneBatch() throws {
        let controller = try controller(cacheName: "c")
        let recorder = Recorder<Book>(\.title)
        controller.delegate = recorder
        try controller.performFetch()
        controller.fetchRequest = try request("price != 2")
        #expect(try controller.performFetch() == .rebuilt(.predicateChanged))
        #expect(recorder.take() == ["will change", "b delete 0.1 -", "did change"])
        controller.fetchRequest.sortKeys = [SortKey(\.price, .descending)]
        #expect(try controller.performFetch() == .rebuilt(.sortChanged))
        #expect(recorder.take() == ["will change", "section P move 0 1", "c move 1.0 0.1", "did change"])
        controller.fetchRequest.fetchLimit = 2
        try controller.performFetch()
        #expect(recorder.take() == ["will change", "section P delete 1 -", "a delete 1.0 -", "did change"])
        book("e", "Q", 9)
        try context.save()
        #expect(recorder.take() == ["will change", "c delete 0.1 -", "e insert - 0.0", "did change"])
        #expect(controller.listing(\.title) == ["Q: e d"])
    }

    @Test func aControllerIsReleasedWithItsOwner() throws {
        weak var held: FetchedResultsController<Book>?
        try {
            let controller = try controller()
            try controller.performFetch()
            held = controller
        }()
        #expect(held == nil)
        book("e", "P", 1)
        try context.save()
    }
}
