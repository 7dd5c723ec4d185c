import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing

/// A store begins to follow further tables, and ceases to follow some, while it follows others.
@Suite(.enabled(if: TestServer.isInstalled)) struct AddedTableTests {
    static let books = ["id": "id", "title": "title", "author_id": "author_id"]
    static let authors = ["id": "id", "name": "name"]

    static func database(_ usesChangeTable: Bool) throws -> (Followed, Connection) {
        var (followed, connection) = try Followed.database(
            "CREATE TABLE public.authors(id integer PRIMARY KEY, name text)",
            "CREATE TABLE public.books(id integer PRIMARY KEY, title text, author_id integer REFERENCES public.authors)",
            "CREATE TABLE public.other(id integer PRIMARY KEY, v text)",
            "INSERT INTO public.authors SELECT i, 'A' || i FROM generate_series(1, 30) i",
            "INSERT INTO public.books SELECT i, 'B' || i, 1 + i % 30 FROM generate_series(1, 100) i",
            "INSERT INTO public.other SELECT i, 'o' || i FROM generate_series(1, 40) i")
        followed.usesChangeTable = usesChangeTable
        if usesChangeTable {
            let tables = try ["authors", "books", "other"].map { try TableChoice($0) }
            try connection.execute(Follower.setup(followed.address, tables))
        }
        return (followed, connection)
    }

    static func requireEqual(_ followed: Followed, _ tables: [String], _ comment: String = "") throws {
        let columns = ["authors": authors, "books": books, "other": ["id": "id", "v": "v"]]
        for table in tables {
            let expected = try followed.sourceRows("public.\(table)", key: "id", columns[table] ?? [:])
            #expect(try followed.rows(table, key: "id") == expected, "\(table) \(comment)")
        }
        try followed.check()
    }

    @Test(arguments: [false, true]) func tablesAreAddedWhileOthersAreFollowed(usesChangeTable: Bool) throws {
        let (followed, connection) = try Self.database(usesChangeTable)
        try followed.follow(["books"])
        // Changes of both tables that the store hasn't seen yet.
        try connection.execute(
            "INSERT INTO public.authors VALUES (100, 'new'); UPDATE public.books SET author_id = 100 WHERE id < 5")
        let events = try followed.follow(["authors"])
        #expect(
            events.contains("copied public.authors: 31") && !events.contains { $0.hasPrefix("copied public.books") })
        try Self.requireEqual(followed, ["books", "authors"])
        try connection.execute(
            "DELETE FROM public.books WHERE id = 50; UPDATE public.authors SET name = 'x' WHERE id = 3")
        // The tables that are followed already may be named, too.
        try followed.follow(["books", "other", "authors"])
        try Self.requireEqual(followed, ["books", "authors", "other"])
        let context = try PersistentContainer(at: URL(fileURLWithPath: followed.store)).newContext()
        let byNew = FetchRequest<ManagedObject>(
            entityName: "books", predicate: try FetchPredicate("author.name == 'new'"))
        #expect(try context.count(for: byNew) == 4)
        for round in 0..<5 {
            try connection.execute(
                """
                UPDATE public.other SET v = v || '\(round)' WHERE id % 3 = 0; INSERT INTO public.authors VALUES (\(200 + round), 'r');
                INSERT INTO public.books VALUES (\(500 + round), 'n', \(200 + round)); DELETE FROM public.other WHERE id = \(round)
                """)
            try followed.follow()
            try Self.requireEqual(followed, ["books", "authors", "other"], "round \(round)")
        }
    }

    @Test(.enabled(if: TestServer.hasFilters), arguments: [false, true]) func conditionsAndColumnsMayChange(
        usesChangeTable: Bool
    ) throws {
        let (followed, connection) = try Self.database(usesChangeTable)
        try followed.follow(["books", "other"])
        #expect(try followed.fetch(OrderDefinition(entity: "other", sortKeys: [SortKey("v")]), cache: "by v") == 40)
        for condition in ["id % 2 = 0", "id > 10", "true"] {
            try connection.execute("UPDATE public.other SET v = v || '.' WHERE id < 12")
            let events = try followed.follow(["other"]) { $0.tables[0].condition = condition }
            #expect(
                events.contains { $0.hasPrefix("copied public.other") }
                    && !events.contains { $0.hasPrefix("copied public.books") })
            let expected = try followed.sourceRows(
                "public.other WHERE \(condition)", key: "id", ["id": "id", "v": "v"])
            #expect(try followed.rows("other", key: "id") == expected, "\(condition)")
            try connection.execute(
                "INSERT INTO public.other VALUES (\(expected.count + 1000), 'n'); DELETE FROM public.other WHERE id = 12"
            )
            try followed.follow()
            let next = try followed.sourceRows("public.other WHERE \(condition)", key: "id", ["id": "id", "v": "v"])
            #expect(try followed.rows("other", key: "id") == next, "\(condition)")
            try followed.check()
        }
        try followed.follow(["books"]) { $0.tables[0].columns = ["title"] }
        try connection.execute("UPDATE public.books SET title = 't', author_id = NULL WHERE id = 3")
        try followed.follow()
        let titles = try followed.sourceRows("public.books", key: "id", ["id": "id", "title": "title"])
        #expect(try followed.rows("books", key: "id") == titles)
        try followed.check()
    }

    @Test(arguments: [false, true]) func renamedTablesAreFollowedOn(usesChangeTable: Bool) throws {
        let (followed, connection) = try Self.database(usesChangeTable)
        try followed.follow(["other", "books"])
        try connection.execute(
            "ALTER TABLE public.other RENAME TO others; UPDATE public.others SET v = 'r' WHERE id = 1")
        let events = try followed.follow()
        #expect(
            events.contains("warning: public.other is called public.others now, and is followed on")
                && !events.contains { $0.hasPrefix("copied") }, "\(events)")
        try connection.execute(
            "CREATE SCHEMA shop; ALTER TABLE public.others SET SCHEMA shop; INSERT INTO shop.others VALUES (77, 'x')")
        try followed.follow()
        let expected = try followed.sourceRows("shop.others", key: "id", ["id": "id", "v": "v"])
        #expect(try followed.rows("other", key: "id") == expected)
        // The new name is that of the followed table.
        try connection.execute("ALTER TABLE shop.others RENAME TO more; UPDATE shop.more SET v = 'named' WHERE id = 77")
        let other = #expect(throws: SourceError.self) { try followed.follow(["shop.more"]) }
        #expect(other?.reason == "the store follows shop.more=other, and the entity of shop.more cannot change")
        #expect(try followed.follow(["shop.more=other"]).allSatisfy { !$0.hasPrefix("copied") })
        #expect(try followed.rows("other", key: "id")["77"]?["v"] == "named")
        try connection.execute("ALTER TABLE shop.more RENAME TO others")
        try followed.follow()
        // Another table has the name now.
        try connection.execute(
            "ALTER TABLE shop.others RENAME TO old; CREATE TABLE shop.others(id integer PRIMARY KEY, v text)")
        let error = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(
            error?.kind == .lost && error?.remedy == .copyAgainOrDrop(table: "shop.others"),
            "\(String(describing: error))")
    }

    @Test func theAddressOfTheSourceMayChange() throws {
        let (followed, connection) = try Self.database(false)
        try followed.follow(["other"])
        let moved = Followed(address: followed.address.replacingOccurrences(of: "127.0.0.1", with: "localhost"))
        func follow(_ moves: Bool) throws {
            try followed.follow {
                $0.address = moved.address
                $0.moves = moves
            }
        }
        let refused = #expect(throws: SourceError.self) { try follow(false) }
        #expect(refused?.remedy == .move)
        try follow(true)
        try connection.execute("INSERT INTO public.other VALUES (900, 'moved')")
        // The store remembers the new address.
        try followed.follow { $0.address = nil }
        try Self.requireEqual(followed, ["other"])
        let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
        #expect(try container.information().sources.first?.address == moved.address)
    }

    /// What the source refuses changes nothing in the store.
    @Test func refusedTablesLeaveTheStoreAsItWas() throws {
        let (followed, connection) = try Self.database(false)
        try connection.execute(
            """
            CREATE TABLE public.sales(id integer PRIMARY KEY) PARTITION BY RANGE (id);
            CREATE TABLE public.s1 PARTITION OF public.sales FOR VALUES FROM (0) TO (100)
            """)
        try followed.follow(["books", "sales"])
        for (table, condition) in [("other", "id > random() * 10"), ("other", "v > 'a'"), ("s1", nil)] {
            let error = #expect(throws: SourceError.self) {
                try followed.follow([table]) { $0.tables[0].condition = condition }
            }
            #expect(error?.kind != .lost, "\(String(describing: error))")
            try followed.follow()
        }
        // A column has another name now.
        try connection.execute(
            "ALTER TABLE public.books RENAME title TO name; UPDATE public.books SET name = 'n' WHERE id = 1")
        try followed.follow(["authors"])
        let columns = ["id": "id", "name": "name", "author_id": "author_id"]
        #expect(try followed.rows("books", key: "id") == followed.sourceRows("public.books", key: "id", columns))
        try Self.requireEqual(followed, ["authors"])
        // A table that the source no longer has can be dropped.
        try connection.execute("DROP TABLE public.sales")
        try followed.follow { $0.droppedTables = ["sales"] }
        try followed.follow(["other"]) { $0.recopies = true }
        try Self.requireEqual(followed, ["authors", "other"])
        let given = Followed(address: followed.address)
        try connection.execute("CREATE PUBLICATION mine FOR TABLE public.books")
        try given.follow(["books"]) { $0.publication = "mine" }
        let missing = #expect(throws: SourceError.self) { try given.follow(["other"]) }
        #expect(missing?.reason == "the publication mine does not have the table public.other")
        try given.follow()
        #expect(try given.rows("books", key: "id").count == 100)
    }

    @Test func missedChangesAreNoticedBeforeTablesChange() throws {
        let (followed, connection) = try Self.database(true)
        try followed.follow(["other"])
        try connection.execute(
            """
            ALTER TABLE public.other DISABLE TRIGGER fetchindex_note; UPDATE public.other SET v = 'silent' WHERE id = 3;
            ALTER TABLE public.other ENABLE ALWAYS TRIGGER fetchindex_note
            """)
        for change in [true, false] {
            let error = #expect(throws: SourceError.self) {
                try followed.follow(change ? ["books"] : []) { $0.droppedTables = change ? [] : ["books", "other"] }
            }
            #expect(error?.kind == .lost || error?.kind == .usage)
        }
        #expect((#expect(throws: SourceError.self) { try followed.follow() })?.kind == .lost)
    }

    /// A process that is ended between its note and the change of the publication leaves the rest to the next one.
    @Test(arguments: [false, true]) func anInterruptedChangeIsFinished(usesChangeTable: Bool) throws {
        let (followed, connection) = try Self.database(usesChangeTable)
        try followed.follow(["books", "other"])
        let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
        var source = try #require(try container.followedSource(as: FollowedSource.self))
        if !usesChangeTable {
            try connection.execute("ALTER PUBLICATION \(source.publication) DROP TABLE public.other")
        }
        source.mark = nil
        source.tables[1].copy = .new
        let writer = try KeyedRowWriter(in: container, author: "test", changesRecords: false)
        try writer.setFollowedSource(source, named: source.name)
        try writer.commit()
        try connection.execute(
            "UPDATE public.other SET v = 'changed' WHERE id < 9; UPDATE public.books SET title = 'z'")
        try followed.follow()
        try Self.requireEqual(followed, ["books", "other"])
        try connection.execute("UPDATE public.other SET v = 'again' WHERE id < 7")
        try followed.follow()
        try Self.requireEqual(followed, ["books", "other"])
    }
}
