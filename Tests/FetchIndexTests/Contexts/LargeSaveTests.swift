import FetchIndex
import Foundation
import Synchronization
import FetchIndexTestSupport
import Testing

/// Saves of 100 updated objects or more: a second thread can update the orders of caches while the first thread writes
/// the records.
@Suite struct LargeSaveTests {
    /// The threads on which a section function ran, and the errors that it caught.
    private final class Notes: Sendable {
        private let threads = Mutex<Set<String>>([])
        private let errors = Mutex<[String]>([])

        func noteThread() { threads.withLock { _ = $0.insert("\(pthread_self())") } }
        func note(_ error: any Error) { errors.withLock { $0.append("\(error)") } }
        func takeThreads() -> Set<String> {
            threads.withLock { threads in
                defer { threads = [] }
                return threads
            }
        }
        func takeErrors() -> [String] { errors.withLock { $0 } }
    }

    private func fill(_ store: LiveStore, _ count: Int) throws {
        let context = store.container.newContext()
        for number in 0..<count {
            let book = Book(context: context)
            (book.title, book.publisher, book.price) = ("book \(number)", "P", number)
        }
        try context.save()
    }

    @Test(.enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1, "needs two processors"))
    func sectionFunctionsRunOnASecondThreadAndCannotWriteDuringTheSave() throws {
        let store = try LiveStore(Model(Book.self))
        try fill(store, 500)
        let notes = Notes()
        let writes = Mutex(false)
        let container = store.container
        let key: SectionKey = .computed("digit", version: 1) { (book: Book) in
            notes.noteThread()
            if writes.withLock({ $0 }) {
                do { try BatchWriter(container, entity: "Book").insert(["a", "P", 1, .null]) } catch {
                    notes.note(error)
                }
            }
            return String(book.price % 10)
        }
        let context = store.container.newContext()
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Book>(sortKeys: [SortKey(\.title)]), context: context, sectionKey: key,
            cacheName: "by digit")
        try controller.performFetch()
        let books = try #require(controller.fetchedObjects)
        func runOnAnotherThread(_ count: Int) throws -> Bool {
            for book in books.prefix(count) { book.price += 1 }
            _ = notes.takeThreads()
            try context.save()
            return notes.takeThreads() != ["\(pthread_self())"]
        }
        #expect(try !runOnAnotherThread(10))
        // The functions run on this thread if the second thread begins too late, so one of up to 100 saves is enough.
        #expect(try (0..<100).contains { _ in try runOnAnotherThread(300) })
        writes.withLock { $0 = true }
        for book in books.prefix(300) { book.price += 1 }
        try context.save()
        #expect(Set(notes.takeErrors()) == ["\(StoreError.wouldWaitForItself)"])
        writes.withLock { $0 = false }
        #expect(Set(controller.sections.map(\.name)) == Set(books.map { "\($0.price % 10)" }))
        #expect(
            controller.sections.allSatisfy { section in
                section.objects.allSatisfy { "\($0.price % 10)" == section.name }
            })
    }

    /// The edits don't change the rows' keys. So the save reads the damaged leaves only for the ranks of the updated
    /// rows, after it has written the cache.
    @Test(.enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1, "needs two processors"))
    func aSaveThatFindsDamageAfterWritingACacheRebuildsTheCache() throws {
        let store = try LiveStore(Model(Book.self))
        try fill(store, 1000)
        let context = store.container.newContext()
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Book>(sortKeys: [SortKey(\.title)]), context: context, cacheName: "by title")
        try controller.performFetch()
        let books = try #require(controller.fetchedObjects).map { $0 }
        let recorder = Recorder<Book>(\.title)
        controller.delegate = recorder
        try store.damageNodes(onlyLeaves: true)
        for book in books.prefix(400) { book.price += 1 }
        try context.save()
        #expect(try store.container.verifyCache("by title") == [])
        #expect(controller.failure == nil && controller.fetchedObjects?.map(\.title) == books.map(\.title))
        #expect(recorder.take().contains { $0.contains("update") })
    }

    /// One record cannot be written, so no part of the save is stored.
    @Test func aFailedSaveLeavesTheCacheUnchanged() throws {
        let store = try LiveStore(Model(Account.self))
        let context = store.container.newContext()
        for number in 0..<300 {
            let account = Account(context: context)
            (account.name, account.balance) = ("account \(number)", number)
        }
        try context.save()
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Account>(sortKeys: [SortKey(\.balance)]), context: context,
            cacheName: "by balance")
        try controller.performFetch()
        let accounts = try #require(controller.fetchedObjects)
        for account in accounts { account.balance = 1000 - account.balance }
        accounts[299].name = "account 7"
        #expect(throws: ValidationError.self) { try context.save() }
        #expect(try store.container.check { _, _ in } == [])
        let other = store.container.newContext()
        let balances = try other.fetch(FetchRequest<Account>()).map(\.balance)
        #expect(balances == Array(0..<300))
        accounts[299].name = "another"
        try context.save()
        #expect(controller.fetchedObjects?.map(\.balance) == (701...1000).map { $0 })
        #expect(try store.container.check { _, _ in } == [])
    }
}
