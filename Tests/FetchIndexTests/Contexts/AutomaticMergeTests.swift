import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// Automatic merges and the stream of commits reach the last commit, even if no further commit follows.
@MainActor @Suite struct AutomaticMergeTests {
    @Test func theLastCommitOfABurstIsMerged() async throws {
        let folder = TemporaryFolder()
        let container = try PersistentContainer(at: URL(fileURLWithPath: folder.path), model: Model(Book.self))
        let main = container.newContext()
        main.automaticallyMergesChanges = true
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Book>(sortKeys: [SortKey(\.title)]), context: main)
        try controller.performFetch()
        for burst in 1...30 {
            try await container.perform { context in
                for _ in 0..<40 {
                    let book = Book(context: context)
                    (book.title, book.publisher, book.price) = ("a", "P", 1)
                    try context.save()
                }
            }
            let end = ContinuousClock.now + .seconds(10)
            while controller.fetchedObjects?.count != 40 * burst, .now < end {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(controller.fetchedObjects?.count == 40 * burst)
        }
    }

    /// A commit is in the file a moment before readers see it. If the stream reads the store's state in that moment, it
    /// must read the state again.
    @Test func theCommitStreamDeliversTheNewestCommit() async throws {
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path)
        let container = try PersistentContainer(at: url, model: Model(Book.self), durability: .none)
        for _ in 0..<200 {
            var commits = container.commits.makeAsyncIterator()
            let newest = try await container.perform { context in
                for _ in 0..<5 {
                    let book = Book(context: context)
                    (book.title, book.publisher, book.price) = ("a", "P", 1)
                    try context.save()
                }
                return try context.commit
            }
            var last: UInt64 = 0
            while last < newest { last = await commits.next() ?? .max }
            #expect(last == newest)
        }
    }
}
