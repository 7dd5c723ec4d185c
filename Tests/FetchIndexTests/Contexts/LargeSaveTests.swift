import FetchIndex
import Synchronization
import FetchIndexTestSupport
import Testing

/// Saves of hundreds of updated objects beside a controller with a cache.
@Suite struct LargeSaveTests {
    private func fill(_ store: LiveStore, _ count: Int) throws {
        let context = store.container.newContext()
        for number in 0..<count {
            let book = Book(context: context)
            (book.title, book.publisher, book.price) = ("book \(number)", "P", number)
        }
        try context.save()
    }

    @Test func sectionFunctionsCannotWriteDuringTheSave() throws {
        let store = try LiveStore(Model(Book.self))
        try fill(store, 500)
        let errors = Mutex<Set<String>>([])
        let writes = Mutex(false)
        let container = store.container
        let key: SectionKey = .computed("digit", version: 1) { (book: Book) in
            if writes.withLock({ $0 }) {
                do { try BatchWriter(container, entity: "Book").insert(["a", "P", 1, .null]) } catch {
                    errors.withLock { _ = $0.insert("\(error)") }
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
        writes.withLock { $0 = true }
        for book in books.prefix(300) { book.price += 1 }
        try context.save()
        #expect(errors.withLock { $0 } == ["\(StoreError.wouldWaitForItself)"])
        writes.withLock { $0 = false }
        #expect(Set(controller.sections.map(\.name)) == Set(books.map { "\($0.price % 10)" }))
        #expect(
            controller.sections.allSatisfy { section in
                section.objects.allSatisfy { "\($0.price % 10)" == section.name }
            })
    }

    /// The edits don't change the rows' keys. So the save reads the damaged leaves only for the ranks of the updated
    /// rows.
    @Test func aSaveThatFindsDamageInACacheRebuildsTheCache() throws {
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
