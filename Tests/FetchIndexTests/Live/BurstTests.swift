import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// A context or controller that follows commits by itself receives the last one, even if no other commit comes.
@MainActor @Suite struct BurstTests {
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

    /// A writer shows its transaction in the file before readers can see it: a look just then must not be the last.
    @Test func aLookBetweenTheFileAndItsReadersIsRepeated() async throws {
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
