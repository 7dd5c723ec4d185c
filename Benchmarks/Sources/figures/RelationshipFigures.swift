import FetchIndex
import Foundation
import GRDB

private final class Publisher: ManagedObject {
    @Attribute("name") var name: String
    @Relationship("books", inverse: "publisher") var books: Related<Book>
}

private final class Author: ManagedObject {
    @Attribute("name", isUnique: true) var name: String
    @Relationship("books", inverse: "author", deleteRule: .cascade) var books: Related<Book>
}

private final class Book: ManagedObject {
    @Attribute("title") var title: String
    /// A copy of the author's name, so that an order can be sorted by author without a relationship.
    @Attribute("authorName") var authorName: String
    @Relationship("author", inverse: "books") var author: Author?
    @Relationship("publisher", inverse: "books") var publisher: Publisher?
}

/// Measures the cost of changes of related objects, compared with a change of a row, and with SQLite reading the joined
/// query again. Also measures builds, fetches and searches through a relationship, and deletions in cascade.
struct RelationshipFigures {
    private static let booksOfAuthor = 50
    private static let publishers = 10
    private static let rounds = 60

    private let rows: Int
    private let folder: URL
    private let container: PersistentContainer

    init(rows: Int) throws {
        self.rows = rows
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("relationships-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        container = try PersistentContainer(
            at: folder.appendingPathComponent("store"), model: Model(Publisher.self, Author.self, Book.self),
            durability: .none)
        try fill()
    }

    private var authors: Int { rows / Self.booksOfAuthor }
    private func title(_ number: Int) -> String { "title \(number &* 2_654_435_761 % rows)" }
    private func author(_ number: Int) -> String { "author \(number * 7919 % authors)" }

    private func fill() throws {
        let first = container.newContext()
        let publishers = (0..<Self.publishers).map { number in
            let publisher = Publisher(context: first)
            publisher.name = "publisher \(number)"
            return publisher
        }
        let authors = (0..<authors).map { number in
            let author = Author(context: first)
            author.name = self.author(number)
            return author
        }
        try first.save()
        let ids = (publishers: publishers.map(\.objectID), authors: authors.map(\.objectID))
        for start in stride(from: 0, to: rows, by: 50_000) {
            let context = container.newContext()
            let publishers = try ids.publishers.map { try context.existingObject(with: $0, as: Publisher.self) }
            let authors = try ids.authors.map { try context.existingObject(with: $0, as: Author.self) }
            for number in start..<min(start + 50_000, rows) {
                let book = Book(context: context)
                book.title = title(number)
                book.author = authors[number % authors.count]
                book.authorName = author(number % authors.count)
                book.publisher = publishers[number % publishers.count]
            }
            try context.save()
        }
    }

    private func figure(_ question: String, _ value: Double, limit: Double? = nil, _ unit: String) -> Figure {
        Figure(question: question, rows: rows, value: value, limit: limit, unit: unit)
    }

    func measure() throws -> [Figure] {
        defer { try? FileManager.default.removeItem(at: folder) }
        let builds = try builds()
        let warm = try medians(
            rounds: 400,
            [
                { try controller(sort: ["authorName", "title"], "plain").performFetch() },
                { try controller(sort: ["author.name", "title"], "path").performFetch() },
            ])
        let renames = try renames()
        let again = try joinedQueryAgain()
        let sections = try sectionRenames()
        let searches = try searches()
        return [
            figure("rename of an author of 50 books, live and saved", renames.author, "µs"),
            figure("the same, divided by the rename of one book", renames.author / renames.book, limit: 60, "times"),
            figure(
                "the same, divided by SQLite's joined query, read again", renames.author / again, limit: 0.01, "times"),
            figure(
                "rename of a publisher of a tenth of the books, a section, divided by the rename of one book",
                sections.publisher / sections.book, limit: 2, "times"),
            figure(
                "warm fetch of an order through a path, divided by one without", warm[1] / warm[0], limit: 1.1, "times"),
            figure("its build, divided by one without", builds.path / builds.plain, limit: 1.5, "times"),
            // The limit applies only to many rows: the time of the scan grows with the number of rows, that of the
            // search hardly.
            figure(
                "author.name == 'x' without an order, divided by a scan", searches.path / searches.scan,
                limit: rows < 1_000_000 ? nil : 0.01, "times"),
            figure("deletion of an author with 50 books in cascade", try cascade(), "µs"),
        ]
    }

    private func controller(
        sort: [String], section: SectionKey? = nil, _ cacheName: String, in context: ManagedObjectContext? = nil
    ) throws -> FetchedResultsController<Book> {
        try FetchedResultsController(
            fetchRequest: FetchRequest<Book>(sortKeys: sort.map { SortKey($0) }),
            context: context ?? container.newContext(), sectionKey: section, cacheName: cacheName)
    }

    private func builds() throws -> (plain: Double, path: Double) {
        let times = try medians(
            rounds: 3,
            [
                {
                    try container.deleteCache(named: "plain")
                    try controller(sort: ["authorName", "title"], "plain").performFetch()
                },
                {
                    try container.deleteCache(named: "path")
                    try controller(sort: ["author.name", "title"], "path").performFetch()
                },
            ])
        return (times[0], times[1])
    }

    private func renames() throws -> (author: Double, book: Double) {
        try container.deleteCache(named: "plain")
        let context = container.newContext()
        let live = try controller(sort: ["author.name", "title"], "path", in: context)
        try live.performFetch()
        let authors = try context.fetch(FetchRequest<Author>(sortKeys: [SortKey("name")]))
        let books = try context.fetch(FetchRequest<Book>(sortKeys: []))
        var next = 0
        let times = try medians(
            rounds: Self.rounds,
            [
                {
                    next += 1
                    authors[next * 31 % authors.count].name = "renamed \(next)"
                    try context.save()
                },
                {
                    next += 1
                    books[next * 7919 % books.count].title = "renamed \(next)"
                    try context.save()
                },
            ])
        try container.deleteCache(named: "path")
        return (times[0], times[1])
    }

    private func sectionRenames() throws -> (publisher: Double, book: Double) {
        let context = container.newContext()
        let live = try controller(
            sort: ["publisher.name", "title"], section: .relationship("publisher", name: "name"), "sections",
            in: context)
        try live.performFetch()
        let publishers = try context.fetch(FetchRequest<Publisher>(sortKeys: []))
        let books = try context.fetch(FetchRequest<Book>(sortKeys: []))
        var next = 0
        let times = try medians(
            rounds: Self.rounds,
            [
                {
                    next += 1
                    publishers[next % publishers.count].name = "renamed \(next * 7919 % 1000)"
                    try context.save()
                },
                {
                    next += 1
                    books[next * 7919 % books.count].title = "in a section \(next)"
                    try context.save()
                },
            ])
        try container.deleteCache(named: "sections")
        return (times[0], times[1])
    }

    /// Renames an author in SQLite, and reads all rows of the joined query again, as an observation of the query would.
    private func joinedQueryAgain() throws -> Double {
        let database = try DatabaseQueue(path: folder.appendingPathComponent("peer.sqlite").path)
        try database.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
                    CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT NOT NULL, authorId INTEGER REFERENCES author);
                    CREATE INDEX bookByAuthor ON book (authorId);
                    """)
            for number in 0..<authors {
                try database.execute(
                    sql: "INSERT INTO author VALUES (?, ?)", arguments: [number, author(number)])
            }
            let insert = try database.makeStatement(sql: "INSERT INTO book VALUES (?, ?, ?)")
            for number in 0..<rows {
                try insert.execute(arguments: [number, title(number), number % authors])
            }
        }
        var next = 0
        return try medians(
            rounds: 3,
            [
                {
                    next += 1
                    try database.write { database in
                        try database.execute(
                            sql: "UPDATE author SET name = ? WHERE id = ?", arguments: ["renamed \(next)", next])
                    }
                    let count = try database.read { database in
                        try Row.fetchAll(
                            database,
                            sql: """
                                SELECT book.id, book.title, author.name FROM book LEFT JOIN author ON author.id = book.authorId
                                ORDER BY author.name, book.title
                                """
                        ).count
                    }
                    precondition(count == rows)
                }
            ])[0]
    }

    private func searches() throws -> (path: Double, scan: Double) {
        let context = container.newContext()
        func count(_ format: String, _ name: String) throws -> Int {
            var request = FetchRequest<Book>(sortKeys: [])
            request.predicate = try FetchPredicate(format: format, argumentArray: [name])
            return try context.fetch(request).count
        }
        var next = 0
        let found = try medians(
            rounds: Self.rounds,
            [
                {
                    next += 1
                    _ = try count("author.name == %@", author(next))
                }
            ])
        let scans = try medians(rounds: 5, [{ _ = try count("authorName == %@", author(7)) }])
        return (found[0], scans[0])
    }

    private func cascade() throws -> Double {
        let context = container.newContext()
        let authors = try context.fetch(FetchRequest<Author>(sortKeys: [SortKey("name")]))
        var next = 0
        return try medians(
            rounds: 20,
            [
                {
                    next += 1
                    context.delete(authors[next * 31 % authors.count])
                    try context.save()
                }
            ])[0]
    }
}
