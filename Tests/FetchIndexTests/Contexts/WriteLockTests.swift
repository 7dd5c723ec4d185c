import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// A store has one write lock. A writer can limit the time for which it waits, and gets an error if its own thread has
/// the lock. While saves in `perform` wait, other tasks run.
@Suite struct WriteLockTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Book.self, Account.self))
        context = store.container.newContext()
    }

    @Test func aWriterThatWaitsTooLongThrowsWriterBusy() throws {
        let path = store.folder.path
        let writer = try BatchWriter(store.container, entity: "Account")
        try writer.insert(["x", .null, 1])
        let isBusy = { () -> StoreError? in
            // The second writer has its own thread, because a thread can't wait for itself.
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
        let book = Book(context: context)
        (book.title, book.publisher, book.price) = ("a", "P", 1)
        try context.save()
    }

    @Test func aThreadThatWouldWaitForItsOwnWriterThrows() throws {
        let writer = try BatchWriter(store.container, entity: "Account")
        try writer.insert(["a", .null, 1])
        let account = Account(context: context)
        (account.name, account.balance) = ("b", 0)
        #expect(throws: StoreError.wouldWaitForItself) { try context.save() }
        #expect(throws: StoreError.wouldWaitForItself) {
            writer.rollback()
            try context.insertRows(into: "Account") {
                try context.save()
                return nil
            }
        }
        try context.save()
    }

    @Test func otherTasksRunWhileSavesWaitForTheWriteLock() async throws {
        let container = store.container
        try container.newContext().save()
        // Takes the lock in the way of another process, because a transaction of this process would belong to a thread.
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
        // If waiting blocked threads, the eight tasks could occupy the whole pool, and the sleep would not return.
        try await Task.sleep(for: .milliseconds(50))
        let others = await withTaskGroup(of: Int.self) { group in
            for number in 0..<4 { group.addTask { number } }
            return await group.reduce(0, +)
        }
        #expect(others == 6)
        // A process that another test has started may have inherited the descriptor, so closing it alone may not
        // release the lock.
        flock(lock, LOCK_UN)
        close(lock)
        for task in waiting { try await task.value }
        #expect(try container.newContext().count(for: FetchRequest<Account>()) == 8)
    }
}
