import FetchIndex
import FetchIndexTestSupport
import Testing

/// If a test leaves its store damaged, the test store records an issue in its `deinit`, and the test run continues.
@Suite struct TeardownTests {
    @Test func aStoreDamagedByATestIsRecordedAsAnIssue() throws {
        try withKnownIssue {
            let store = try LiveStore(Model(Book.self))
            let context = store.container.newContext()
            let book = Book(context: context)
            (book.title, book.publisher, book.price) = ("a", "P", 1)
            try context.save()
            let order = OrderDefinition(entity: "Book", sortKeys: [SortKey("title")])
            try store.container.withOrder(order, .init(cacheName: "books")) { _ in }
            try store.damageNodes()
        } matching: { issue in
            issue.comments.contains { $0.rawValue.hasPrefix("The store is damaged") }
        }
    }
}
