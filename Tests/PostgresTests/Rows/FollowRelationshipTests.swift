import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing
import FetchIndexValues

/// Tables of a real server refer to each other, and the store follows them.
@Suite(.enabled(if: TestServer.isInstalled)) struct FollowRelationshipTests {
    @Test func foreignKeysBecomeRelationships() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.authors(id integer PRIMARY KEY, name text, mentor_id integer REFERENCES public.authors)",
            """
            CREATE TABLE public.books(isbn text PRIMARY KEY, author_id integer REFERENCES public.authors ON UPDATE CASCADE
                ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, editor integer REFERENCES public.authors)
            """,
            "INSERT INTO public.authors SELECT i, 'A' || i, nullif(i + 1, 31) FROM generate_series(30, 1, -1) i",
            "INSERT INTO public.books SELECT 'b' || i, 1 + i % 30, nullif(i % 31, 0) FROM generate_series(1, 90) i")
        // The options name the referring table first.
        try followed.follow(["books=Book", "authors=Author"])
        func requireEqual() throws {
            var stored: [String: [String?]] = [:]
            let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
            let order = OrderDefinition(
                entity: "Book", sortKeys: [SortKey("author.name"), SortKey("isbn")],
                sectionKey: .attribute("author.name"))
            try container.withOrder(order, .init(cacheName: "by author")) { order in
                let paths = ["author.name", "editor_object.name", "author.mentor.name"]
                let columns = try paths.map { try order.column($0) }
                try order.forEachRow { row in
                    stored[try row.value(of: "isbn").stringValue ?? ""] = try columns.map {
                        try row.value(of: $0).stringValue
                    }
                }
            }
            var expected: [String: [String?]] = [:]
            for row in try connection.execute(
                """
                SELECT b.isbn, a.name, 'A' || b.editor, m.name FROM public.books b LEFT JOIN public.authors a ON a.id = b.author_id
                    LEFT JOIN public.authors m ON m.id = a.mentor_id
                """)
            { expected[row[0] ?? ""] = Array(row[1...]) }
            #expect(stored == expected)
            try followed.check()
        }
        try requireEqual()
        let model = try PersistentContainer(at: URL(fileURLWithPath: followed.store)).model()
        #expect(
            Set(try #require(model.entity(named: "Book")).relationships.map(\.name)) == ["author", "editor_object"])
        // A book is inserted before its author, in one transaction.
        try connection.execute(
            "BEGIN; INSERT INTO public.books VALUES ('new', 100, NULL); INSERT INTO public.authors VALUES (100, 'A100', 1); COMMIT"
        )
        try connection.execute(
            "UPDATE public.authors SET id = 200 WHERE id = 3 AND NOT EXISTS (SELECT 1 FROM public.books WHERE editor = 3) AND NOT EXISTS (SELECT 1 FROM public.authors WHERE mentor_id = 3)"
        )
        try connection.execute(
            "UPDATE public.authors SET name = 'Renamed' WHERE id = 5; UPDATE public.books SET author_id = 5 WHERE isbn = 'b1'"
        )
        try connection.execute(
            "UPDATE public.books SET editor = NULL; UPDATE public.authors SET mentor_id = NULL; UPDATE public.authors SET id = 300 WHERE id = 7; DELETE FROM public.authors WHERE id = 8"
        )
        try followed.follow()
        try requireEqual()
        try connection.execute("TRUNCATE public.authors CASCADE")
        try followed.follow()
        try requireEqual()
    }

    /// The source doesn't enforce foreign keys, like a source that is a replica itself. Rows whose foreign keys name
    /// missing rows are linked when the missing rows arrive.
    @Test func rowsAreLinkedWhenTheRowsThatTheyReferToArrive() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.authors(id integer PRIMARY KEY, name text)",
            "CREATE TABLE public.books(isbn text PRIMARY KEY, author_id integer REFERENCES public.authors)",
            "SET session_replication_role = replica", "INSERT INTO public.authors VALUES (1, 'A1')",
            "INSERT INTO public.books VALUES ('a', 1), ('b', 2), ('c', 3), ('d', NULL)")
        func authors() throws -> [String: String] {
            let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
            var authors: [String: String] = [:]
            try container.withOrder(OrderDefinition(entity: "Book", sortKeys: [SortKey("isbn")]), .init()) { order in
                let column = try order.column("author.name")
                try order.forEachRow { row in
                    authors[try row.value(of: "isbn").stringValue ?? ""] = try row.value(of: column).stringValue
                }
            }
            return authors
        }
        func follow(_ command: String) throws {
            try connection.execute("BEGIN; SET LOCAL session_replication_role = replica; \(command); COMMIT")
            try followed.follow()
        }
        try followed.follow(["books=Book", "authors=Author"])
        #expect(try authors() == ["a": "A1"])
        // A copied row waits for its author, across followers.
        try follow("INSERT INTO public.authors VALUES (2, 'A2')")
        #expect(try authors() == ["a": "A1", "b": "A2"])
        // A streamed row waits.
        try follow("INSERT INTO public.books VALUES ('e', 4), ('f', 4)")
        try follow("INSERT INTO public.authors VALUES (4, 'A4')")
        #expect(try authors() == ["a": "A1", "b": "A2", "e": "A4", "f": "A4"])
        // A row gets the awaited key by an update.
        try follow("INSERT INTO public.authors VALUES (30, 'A3')")
        try follow("UPDATE public.authors SET id = 3 WHERE id = 30")
        #expect(try authors()["c"] == "A3")
        // A row is deleted and inserted again, in one transaction and in two.
        try follow("DELETE FROM public.authors WHERE id = 4; INSERT INTO public.authors VALUES (4, 'A5')")
        #expect(try authors()["e"] == "A5")
        try follow("DELETE FROM public.authors WHERE id = 4")
        #expect(try authors()["e"] == nil)
        try follow("INSERT INTO public.authors VALUES (4, 'A6')")
        #expect(try authors() == ["a": "A1", "b": "A2", "c": "A3", "e": "A6", "f": "A6"])
        // Another row gets the key.
        try follow("UPDATE public.authors SET id = 100 WHERE id = 1; INSERT INTO public.authors VALUES (1, 'A7')")
        #expect(try authors()["a"] == "A7")
        try followed.check()
    }
}
