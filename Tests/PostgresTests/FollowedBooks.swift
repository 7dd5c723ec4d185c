import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// A followed database of books and notes, with traffic on both tables.
extension Followed {
    static var executable: String {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        return (bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL).appendingPathComponent(
            "fetchindex-follow"
        ).path
    }

    private static let books = [
        "id": "id", "title": "title", "publisher": "publisher", "price": "trim_scale(price)", "body": "body",
    ]
    private static let notes = [
        "code": "code", "book": "book",
        "stamp": "to_char(stamp AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')",
    ]

    /// A store that follows a database of books and notes, with 150 books.
    static func ofBooks(on server: TestServer) throws -> Followed {
        let followed = Followed(address: try server.makeDatabase())
        let connection = try Connection(followed.address)
        for command in Traffic.tables { try connection.execute(command) }
        try connection.execute(
            "INSERT INTO public.books SELECT i, 'Title ' || i, 'P' || i % 5, i, 'short' FROM generate_series(1, 150) i")
        return followed
    }

    /// Fetches the orders of two caches.
    func fetchOrders() throws {
        _ = try fetch(
            OrderDefinition(entity: "Book", sortKeys: [SortKey("publisher"), SortKey("price", .descending)]),
            cache: "by price")
        _ = try fetch(OrderDefinition(entity: "notes", sortKeys: [SortKey("stamp")]), cache: "notes")
    }

    /// Expects that both entities equal their tables, and that the store has no defect.
    func requireEqual() throws {
        let connection = try Connection(address)
        #expect(
            try rows("Book", key: "id")
                == sourceRows("public.books", key: "id", Self.books, in: connection))
        #expect(
            try rows("notes", key: "code")
                == sourceRows("public.notes", key: "code", Self.notes, in: connection))
        try check()
    }

    /// Expects each transaction of the source once in the store's history, in the order of positions.
    func requireSingleTransactions() throws {
        let container = try PersistentContainer(at: URL(fileURLWithPath: store))
        let positions = try container.newContext().fetchHistory(after: container.store.snapshot().state.logStart)
            .compactMap {
                $0.author.hasPrefix("postgres ") ? LogPosition(String($0.author.dropFirst(9))) : nil
            }
        #expect(positions == Set(positions).sorted() && !positions.isEmpty)
    }
}
