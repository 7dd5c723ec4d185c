import FetchIndexRecords
import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndex

/// What users of contexts and containers met.
@Suite struct ContextEdgeTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Book.self, Account.self))
        context = store.container.newContext()
    }

    @discardableResult
    private func book(_ title: String, _ publisher: String, in context: ManagedObjectContext? = nil) -> Book {
        let book = Book(context: context ?? self.context)
        (book.title, book.publisher, book.price) = (title, publisher, 1)
        return book
    }

    @Test func limitAndOffsetCountDistinctResults() throws {
        for (title, publisher) in [("a", "P"), ("b", "P"), ("c", "Q"), ("d", "P"), ("e", "R"), ("f", "S")] {
            book(title, publisher)
        }
        try context.save()
        var request = FetchRequest<Book>(sortKeys: [SortKey(\.title)])
        request.resultType = .dictionaries
        request.propertiesToFetch = ["publisher"]
        request.returnsDistinctResults = true
        func publishers() throws -> [Value?] {
            guard case .dictionaries(let rows) = try context.execute(request) else { return [] }
            return rows.map { $0["publisher"] }
        }
        #expect(try publishers() == ["P", "Q", "R", "S"])
        request.fetchLimit = 2
        #expect(try publishers() == ["P", "Q"])
        request.fetchOffset = 1
        #expect(try publishers() == ["Q", "R"])
        request.fetchOffset = 3
        #expect(try publishers() == ["S"])
    }

    // MARK: What others did

    @Test func whatSomeoneElseDeletedIsNotUndone() throws {
        let mine = book("mine", "P"), gone = book("gone", "P")
        context.isUndoEnabled = true
        try context.save()
        (mine.title, gone.title) = ("mine 2", "gone 2")
        context.processPendingChanges()
        let other = store.container.newContext()
        for object in try other.fetch(FetchRequest<Book>()) where object.title == "gone" { other.delete(object) }
        try other.save()
        context.mergePolicy = .rollback
        try context.mergeChanges()
        context.undo()
        #expect(mine.title == "mine")
        try context.save()
        let reader = store.container.newContext()
        #expect(try reader.fetch(FetchRequest<Book>()).map(\.title) == ["mine"])
    }

    /// A save that could not be followed by a merge would be saved and said to have failed.
    @Test func aSaveBesideADroppedEntityChangesNothing() throws {
        let kept = book("kept", "P")
        try context.save()
        let request = FetchRequest<Account>(sortKeys: [SortKey(\.name)])
        let controller = try FetchedResultsController(fetchRequest: request, context: context)
        try controller.performFetch()
        try store.container.dropEntity(named: "Account")
        kept.title = "changed"
        #expect(throws: StoreError.self) { try context.save() }
        #expect(context.hasChanges)
        let again = try store.reopened().newContext()
        #expect(try again.fetch(FetchRequest<Book>()).map(\.title) == ["kept"])
    }

    // MARK: Containers

    @Test func nothingIsMadeWithoutAModel() throws {
        let folder = TemporaryFolder()
        #expect(throws: StoreError.missing(path: folder.path)) {
            try PersistentContainer(at: URL(fileURLWithPath: folder.path))
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path))
        let url = try #require(URL(string: "https://example.com/x"))
        #expect(throws: StoreError.notAFileURL("https://example.com/x")) {
            try PersistentContainer(at: url, model: Model(Book.self))
        }
    }

    @Test func aReadOnlyContainerWritesNothing() throws {
        book("a", "P")
        try context.save()
        let copy = TemporaryFolder()
        try store.container.backup(to: URL(fileURLWithPath: copy.path))
        let url = URL(fileURLWithPath: copy.path)
        let container = try PersistentContainer(at: url, model: Model(Book.self), isReadOnly: true)
        let other = container.newContext()
        let request = FetchRequest<Book>(sortKeys: [SortKey(\.title)])
        let controller = try FetchedResultsController(fetchRequest: request, context: other, cacheName: "c")
        let outcome = try controller.performFetch()
        #expect(outcome == .rebuilt(.first))
        #expect(controller.fetchedObjects?.count == 1)
        book("b", "P", in: other)
        #expect(throws: StoreError.readOnly) { try other.save() }
        try other.rollback()
    }

    @Test func aTemporaryStoreIsGoneWithItsContainer() throws {
        var container: PersistentContainer? = try PersistentContainer(temporaryWith: Model(Book.self))
        let path = try #require(container?.store.path)
        if let context = container?.newContext() {
            book("a", "P", in: context)
            try context.save()
            #expect(try context.count(for: FetchRequest<Book>()) == 1)
        }
        #expect(FileManager.default.fileExists(atPath: path))
        container = nil
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    // MARK: Writers

    @Test func aWriterGivesUpAfterItsTime() throws {
        let path = store.folder.path
        let writer = try BatchWriter(store.container, entity: "Account")
        try writer.insert(["x", .null, 1])
        let isBusy = { () -> StoreError? in
            // Another thread, since one cannot wait for itself.
            let done = DispatchSemaphore(value: 0)
            nonisolated(unsafe) var outcome: (any Error)?
            Thread.detachNewThread {
                do {
                    let container = try PersistentContainer(at: URL(fileURLWithPath: path))
                    let other = try BatchWriter(container, entity: "Account")
                    other.writeTimeout = .milliseconds(30)
                    try other.insert(["y", .null, 1])
                } catch { outcome = error }
                done.signal()
            }
            done.wait()
            return outcome as? StoreError
        }()
        #expect(isBusy == .writerBusy)
        writer.rollback()
        context.writeTimeout = .seconds(5)
        book("a", "P")
        try context.save()
    }

    /// Waiting for the write lock keeps no task from running.
    @Test func waitingWorkLeavesThePoolFree() async throws {
        let container = store.container
        try container.newContext().save()
        // As another process that writes: a transaction of this one would belong to a thread.
        let lock = open(store.folder.path + "/writer.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(flock(lock, LOCK_EX) == 0)
        let waiting = (0..<8).map { number in
            Task {
                try await container.perform { context in
                    let account = Account(context: context)
                    (account.name, account.balance) = ("n\(number)", 1)
                    try context.save()
                }
            }
        }
        // More of them than the pool has threads: with all of these blocked, this would not come back.
        try await Task.sleep(for: .milliseconds(50))
        let others = await withTaskGroup(of: Int.self) { group in
            for number in 0..<4 { group.addTask { number } }
            return await group.reduce(0, +)
        }
        #expect(others == 6)
        // Programs of other tests that started meanwhile may have the file too.
        flock(lock, LOCK_UN)
        close(lock)
        for task in waiting { try await task.value }
        #expect(try container.newContext().count(for: FetchRequest<Account>()) == 8)
    }

    @Test func aBatchInsertUpdatesWhatHasItsKey() throws {
        let rows: [[Value]] = [["a", .null, 1], ["b", .null, 2]]
        #expect(try context.execute(BatchInsertRequest(entityName: "Account", rows: rows)) == 2)
        var request = BatchInsertRequest(
            entityName: "Account", rows: [["b", .null, 3], ["c", .null, 4], ["a", .null, 1]] as [[Value]])
        #expect(throws: StoreError.self) { try context.execute(request) }
        request.onUniqueConflict = .update
        #expect(try context.execute(request) == 2)
        let sorted = FetchRequest<Account>(sortKeys: [SortKey(\.name)])
        #expect(try context.fetch(sorted).map(\.balance) == [1, 3, 4])
    }

    // MARK: Delivery

    @MainActor @Test func editsAreReportedAtTheEndOfTheActorsTurn() async throws {
        let context = store.container.newContext()
        let request = FetchRequest<Book>(sortKeys: [SortKey(\.title)])
        let controller = try FetchedResultsController(fetchRequest: request, context: context)
        let recorder = Recorder<Book>(\.title)
        controller.delegate = recorder
        try controller.performFetch()
        book("b", "P", in: context)
        book("a", "P", in: context)
        #expect(recorder.take() == [])
        for _ in 0..<100 where controller.fetchedObjects?.isEmpty ?? true { await Task.yield() }
        #expect(recorder.take() == ["will change", "a insert - 0.0", "b insert - 0.1", "did change"])
        try context.save()
        #expect(recorder.take() == ["will change", "did change"])
    }

    @Test func messagesNameWhatDiffers() throws {
        func message(_ attributes: [AttributeDescription]) -> String {
            let model = Model(entities: [Entity("Account", attributes)])
            do {
                _ = try PersistentContainer(at: URL(fileURLWithPath: store.folder.path), model: model)
                return "opened"
            } catch { return "\(error)" }
        }
        try context.insert("Account")["name"] = "a"
        context.insertedObjects.first?["balance"] = 1
        try context.save()
        let owner = AttributeDescription("owner", .string), balance = AttributeDescription("balance", .integer)
        let name = AttributeDescription("name", .string, isOptional: false, isUnique: true)
        let differs = "the stored entity Account differs from the model's: "
        let needs = ": that needs `migration: .automatic`"
        #expect(
            message([AttributeDescription("name", .string, isOptional: false), owner])
                == differs + "to make name not unique, its unique keys are deleted" + needs)
        #expect(
            message([name, AttributeDescription("owner", .integer)])
                == differs + "to change owner from string to integer, each value is converted" + needs)
        #expect(
            message([name, owner, AttributeDescription("code", .string, isOptional: false)])
                == differs
                + "to add code: string: it is required, but has no default value for existing objects")
        #expect(message([name, owner, balance]) == "opened", "values may become optional")
    }

    /// A program that polls hears what the merge of its fetch has changed.
    @Test(arguments: [nil, "books"]) func aSecondFetchTellsWhatOthersHaveSaved(cacheName: String?) throws {
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

    @Test func mistakesEndTheProgram() async {
        await #expect(processExitsWith: .failure) {
            let context = try PersistentContainer(temporaryWith: Model(Book.self)).newContext()
            let controller = try FetchedResultsController(
                fetchRequest: FetchRequest<Book>(sortKeys: [SortKey(\.title)]), context: context)
            try controller.performFetch()
            print(controller.sections[1].name)
        }
        await #expect(processExitsWith: .failure) {
            let container = try PersistentContainer(temporaryWith: Model(Book.self))
            let (context, other) = (container.newContext(), container.newContext())
            other.delete(Book(context: context))
        }
    }

    @Test func aStoreIsNotMadeAmongOtherFiles() throws {
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try Data("a".utf8).write(to: url.appendingPathComponent("notes.txt"))
        let error = #expect(throws: StoreError.self) { try PersistentContainer(at: url, model: Model(Book.self)) }
        #expect("\(error as Any)".contains("notes.txt"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["notes.txt"])
        try FileManager.default.removeItem(at: url.appendingPathComponent("notes.txt"))
        _ = try PersistentContainer(at: url, model: Model(Book.self))
    }
}
