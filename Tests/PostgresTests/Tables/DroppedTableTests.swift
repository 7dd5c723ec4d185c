import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing

/// A store ceases to follow tables, while it follows others.
@Suite(.enabled(if: TestServer.isInstalled)) struct DroppedTableTests {
    @Test(arguments: [false, true]) func droppedTablesKeepTheirRows(usesChangeTable: Bool) throws {
        let (followed, connection) = try AddedTableTests.database(usesChangeTable)
        try followed.follow(["books", "authors", "other"])
        // The log has changes of the table from before it is dropped.
        try connection.execute("UPDATE public.authors SET name = 'late'; UPDATE public.other SET v = 'late'")
        try followed.follow { $0.droppedTables = ["authors"] }
        try connection.execute(
            "DELETE FROM public.authors WHERE id = 30 AND false; UPDATE public.authors SET name = 'later'")
        try connection.execute("UPDATE public.books SET title = 'y'")
        try followed.follow()
        try AddedTableTests.requireEqual(followed, ["books", "other"])
        #expect(try followed.rows("authors", key: "id").count == 30)
        let unknown = #expect(throws: SourceError.self) { try followed.follow { $0.droppedTables = ["authors"] } }
        #expect(unknown?.reason == "the store follows public.books=books, public.other=other, not public.authors")
        let again = #expect(throws: SourceError.self) { try followed.follow(["authors"]) }
        #expect(again?.reason.hasPrefix("the store has objects of authors already (30)") ?? false)
        let all = #expect(throws: SourceError.self) { try followed.follow { $0.droppedTables = ["books", "other"] } }
        #expect(all?.reason == "no table would be left")
        try followed.follow()
        try AddedTableTests.requireEqual(followed, ["books", "other"])
    }

    @Test(.enabled(if: TestServer.hasFilters)) func aDroppedTableLeavesTheOthersWhole() throws {
        let (followed, connection) = try AddedTableTests.database(false)
        try followed.follow(["books", "authors", "other"]) { $0.tables[2].condition = "id < 30" }
        // Tables and columns have other names, and the dropped one is gone.
        try connection.execute(
            """
            ALTER TABLE public.books RENAME TO volumes; ALTER TABLE public.volumes DROP author_id; DROP TABLE public.authors;
            ALTER TABLE public.other RENAME v TO w; UPDATE public.other SET w = 'x' WHERE id < 9
            """)
        try followed.follow { $0.droppedTables = ["authors"] }
        try connection.execute(
            "UPDATE public.volumes SET title = 'z' WHERE id = 2; INSERT INTO public.other VALUES (0, 'n'), (99, 'n')")
        try followed.follow()
        let books = try followed.sourceRows("public.volumes", key: "id", ["id": "id", "title": "title"])
        #expect(try followed.rows("books", key: "id") == books)
        let other = try followed.sourceRows("public.other WHERE id < 30", key: "id", ["id": "id", "w": "w"])
        #expect(try followed.rows("other", key: "id") == other)
        // What is refused drops nothing.
        let refused = #expect(throws: SourceError.self) {
            try followed.follow(["public.bare"]) { $0.droppedTables = ["volumes"] }
        }
        #expect(refused?.reason == "the source has no table public.bare")
        try connection.execute("UPDATE public.volumes SET title = 'again' WHERE id = 3")
        try followed.follow()
        #expect(try followed.rows("books", key: "id")["3"]?["title"] == "again")
    }

    @Test func changesThatADroppedTableWouldHideAreNoticed() throws {
        for usesChangeTable in [false, true] {
            let (followed, connection) = try AddedTableTests.database(usesChangeTable)
            try followed.follow(["books", "other"])
            let publication = try connection.value("SELECT pubname FROM pg_publication") ?? ""
            try connection.execute(
                usesChangeTable
                    ? "ALTER TABLE public.other DISABLE TRIGGER fetchindex_note; UPDATE public.other SET v = 's'; "
                        + "ALTER TABLE public.other ENABLE ALWAYS TRIGGER fetchindex_note; DROP TABLE public.books"
                    : "ALTER PUBLICATION \(publication) DROP TABLE public.other; UPDATE public.other SET v = 's'; "
                        + "ALTER PUBLICATION \(publication) ADD TABLE public.other; DROP TABLE public.books")
            let error = #expect(throws: SourceError.self) { try followed.follow { $0.droppedTables = ["books"] } }
            #expect(error?.kind == .lost, "\(String(describing: error))")
            try followed.follow {
                $0.droppedTables = ["books"]
                $0.recopies = true
            }
            try AddedTableTests.requireEqual(followed, ["other"])
        }
    }

    /// A given publication doesn't apply the store's condition.
    @Test(.enabled(if: TestServer.hasFilters)) func aConditionNeedsAPublicationOfTheStore() throws {
        let (followed, connection) = try AddedTableTests.database(false)
        try connection.execute("CREATE PUBLICATION mine FOR TABLE public.books, public.other")
        let first = #expect(throws: SourceError.self) {
            try followed.follow(["other"]) {
                $0.publication = "mine"
                $0.tables[0].condition = "id < 5"
            }
        }
        #expect(
            first?.reason.hasPrefix("the condition of public.other needs a publication of the store's own") ?? false)
        try followed.follow(["other"]) { $0.publication = "mine" }
        let later = #expect(throws: SourceError.self) {
            try followed.follow(["other"]) { $0.tables[0].condition = "id < 5" }
        }
        #expect(later?.remedy == .setCondition)
        try followed.follow()
        try AddedTableTests.requireEqual(followed, ["other"])
    }
}
