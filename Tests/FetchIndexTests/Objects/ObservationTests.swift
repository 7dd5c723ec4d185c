import FetchIndex
import Foundation
import Observation
import FetchIndexTestSupport
import Testing

/// Objects and controllers are observed with Observation, without a delegate.
@Suite struct ObservationTests {
    let store: LiveStore
    let context: ManagedObjectContext
    let book: Book

    init() throws {
        store = try LiveStore(Model(Book.self))
        context = store.container.newContext()
        book = Book(context: context)
        (book.title, book.publisher, book.price) = ("a", "P", 1)
        try context.save()
    }

    private final class Counter: Sendable {
        nonisolated(unsafe) var count = 0
    }

    /// Returns how many notifications about properties that `read` reads arrive while `act` runs: 0 or 1, because only
    /// the first change notifies.
    private func heard(reading read: () -> Void, during act: () throws -> Void) rethrows -> Int {
        let counter = Counter()
        withObservationTracking(read) { counter.count += 1 }
        try act()
        return counter.count
    }

    @Test func anObserverOfAnAttributeIsNotifiedOfItsChangesOnly() throws {
        let book = book
        #expect(heard(reading: { _ = book.price }, during: { book.price = 2 }) == 1)
        #expect(heard(reading: { _ = book.price }, during: { book.title = "b" }) == 0)
        #expect(heard(reading: { _ = book["title"] }, during: { book["title"] = "c" }) == 1)
        // An equal value changes nothing.
        #expect(heard(reading: { _ = book.title }, during: { book.title = "c" }) == 0)
        #expect(try heard(reading: { _ = book.title }, during: { try context.save() }) == 0)
    }

    @Test func observersAreNotifiedOfChangedObjectStates() throws {
        let book = book
        #expect(heard(reading: { _ = book.hasChanges }, during: { book.price = 2 }) == 1)
        #expect(try heard(reading: { _ = book.hasChanges }, during: { try context.save() }) == 1)
        let new = Book(context: context)
        (new.title, new.publisher, new.price) = ("n", "P", 1)
        #expect(try heard(reading: { _ = new.objectID }, during: { try context.save() }) == 1)
        #expect(heard(reading: { _ = new.isDeleted }, during: { context.delete(new) }) == 1)
    }

    @Test func aMergeNotifiesObserversOfOtherContextsSaves() throws {
        let book = book
        let other = store.container.newContext()
        let twin = try other.existingObject(with: book.objectID, as: Book.self)
        twin.price = 7
        try other.save()
        #expect(try heard(reading: { _ = book.title }, during: { try context.mergeChanges() }) == 0)
        twin.price = 8
        try other.save()
        #expect(try heard(reading: { _ = book.price }, during: { try context.mergeChanges() }) == 1)
        #expect(book.price == 8)
    }

    @Test func rollbackUndoAndRefreshNotifyObservers() throws {
        let book = book
        book.price = 2
        #expect(try heard(reading: { _ = book.price }, during: { try context.rollback() }) == 1)
        context.isUndoEnabled = true
        book.price = 3
        #expect(heard(reading: { _ = book.price }, during: { context.undo() }) == 1)
        #expect(book.price == 1)
        book.price = 4
        #expect(heard(reading: { _ = book.price }, during: { context.refresh(book, mergeChanges: false) }) == 1)
    }

    @Test func controllerResultsAreObserved() throws {
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Book>(sortKeys: [SortKey(\.price)]), context: context,
            sectionKey: .attribute("publisher"))
        #expect(
            try heard(reading: { _ = controller.sections.count }, during: { _ = try controller.performFetch() }) == 1)
        let context = context
        func insert() {
            let new = Book(context: context)
            (new.title, new.publisher, new.price) = ("n", "Q", 1)
            context.processPendingChanges()
        }
        #expect(heard(reading: { _ = controller.fetchedObjects?.count }, during: insert) == 1)
        #expect(heard(reading: { _ = controller.sections.map(\.name) }, during: insert) == 1)
        #expect(heard(reading: { _ = controller.object(at: RowPath(section: 0, row: 0)) }, during: insert) == 1)
        #expect(heard(reading: {}, during: insert) == 0)
        #expect(try heard(reading: { _ = controller.fetchedObjects }, during: { try context.rollback() }) == 1)
        // A save without unsaved edits doesn't notify this observer.
        insert()
        try context.save()
        #expect(try heard(reading: { _ = controller.fetchedObjects }, during: { try context.save() }) == 0)
    }

    @MainActor @Test func anAsyncLoopFollowsAnObject() async throws {
        let container = store.container
        let context = container.newContext()
        let book = try context.existingObject(with: book.objectID, as: Book.self)
        var prices: [Int] = []
        for await price in Observations({ book.price }) {
            prices.append(price)
            if price == 4 { break }
            book.price = price + 1
        }
        #expect(prices == [1, 2, 3, 4])
    }
}
