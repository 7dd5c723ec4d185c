import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexRecords
import FetchIndexTestSupport
import Testing
import FetchIndexValues

/// Stores follow tables of a real server by its log.
@Suite(.enabled(if: TestServer.isInstalled)) struct FollowTests {
    @Test func copiedAndStreamedValuesOfManyTypesAreStored() throws {
        let (followed, connection) = try Followed.database(
            """
            CREATE TYPE public.mood AS ENUM ('sad', 'happy'); CREATE DOMAIN public.price AS numeric(8,2);
            CREATE TABLE public.things(id integer PRIMARY KEY, small smallint, big bigint, number numeric, price public.price, single real,
                double double precision, text text, short varchar(20), fixed char(4), yes boolean, day date, moment timestamp,
                zoned timestamptz, clock time, gap interval, uid uuid, raw bytea, doc json, docb jsonb, feeling public.mood, net inet)
            """,
            "SET TIME ZONE 'Asia/Tokyo'",
            """
            INSERT INTO public.things VALUES (1, -32768, 9223372036854775807, 12345678901234567890.50, 9.90, 0.1, 1e300, E'タブ\\t改行\\n\\\\N',
                'x', 'ab', true, '2016-05-16', '2016-05-16 10:30:00.042', '2016-05-16 10:30:00+09', '23:59:59', '1 day 02:03',
                'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '\\x00ff', '{"a": 1}', '{"b":2}', 'happy', '10.0.0.1')
            """, "INSERT INTO public.things(id) VALUES (2)")
        func expect(_ id: String) throws {
            let row = try #require(try followed.rows("Thing", key: "id")[id])
            let expected = [
                "id": id, "small": "-32768", "big": "9223372036854775807", "number": "12345678901234567890.5",
                "price": "9.9",
                "single": "0.1", "double": "1e+300", "text": "タブ\t改行\n\\N", "short": "x", "fixed": "ab  ", "yes": "t",
                "day": "2016-05-16T00:00:00Z", "moment": "2016-05-16T10:30:00.042Z", "zoned": "2016-05-16T01:30:00Z",
                "clock": "23:59:59", "gap": "1 day 02:03:00", "uid": "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
                "raw": "\\x00ff",
                "doc": "{\"a\": 1}", "docb": "{\"b\": 2}", "feeling": "happy", "net": "10.0.0.1",
            ]
            #expect(row == expected)
        }
        try followed.follow(["public.things=Thing"])
        try expect("1")
        #expect(try followed.rows("Thing", key: "id")["2"] == ["id": "2"])
        // The stream must give the same values as the copy.
        try connection.execute("UPDATE public.things SET id = 3 WHERE id = 1")
        #expect(try followed.follow() == ["+0 ~1 -0"])
        try expect("3")
        try connection.execute(
            "INSERT INTO public.things SELECT 4, small, big, number, price, single, double, text, short, fixed, yes, day, moment, zoned, clock, gap, uid, raw, doc, docb, feeling, net FROM public.things WHERE id = 3"
        )
        #expect(try followed.follow() == ["+1 ~0 -0"])
        try expect("4")
        try followed.check()
    }

    @Test func aTransactionBecomesOneCommit() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.books(id text PRIMARY KEY, title text, publisher text)",
            "INSERT INTO public.books SELECT 'b' || i, 'Title ' || i, 'P' || i % 3 FROM generate_series(1, 50) i")
        let first = try followed.follow(["books"])
        #expect(first == ["copied public.books: 50", "consistent"])
        try connection.execute("BEGIN; INSERT INTO public.books VALUES ('gone', '', ''); ROLLBACK")
        try connection.execute(
            """
            BEGIN; UPDATE public.books SET title = 'New' WHERE id = 'b1'; SAVEPOINT a; DELETE FROM public.books; ROLLBACK TO a;
            DELETE FROM public.books WHERE id = 'b2'; INSERT INTO public.books VALUES ('c1', 'C', 'P9'); COMMIT
            """)
        try connection.execute("UPDATE public.books SET id = 'd1' WHERE id = 'c1'")
        #expect(try followed.follow() == ["+1 ~1 -1", "+0 ~1 -0"])
        #expect(try followed.follow() == [])
        let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
        let history = try container.newContext().fetchHistory(after: 0)
        let authors = history.suffix(2).map(\.author)
        #expect(authors.allSatisfy { $0.hasPrefix("postgres 0/") } && Set(authors).count == 2)
        try connection.execute("TRUNCATE public.books")
        #expect(try followed.follow() == ["+0 ~0 -50"])
        #expect(try followed.rows("books", key: "id").isEmpty)
        try followed.check()
    }

    /// The stream doesn't send a large value that an update leaves unchanged: the store keeps its value.
    @Test func valuesThatWereNotSentAreKept() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.pages(id integer PRIMARY KEY, title text, body text)",
            "ALTER TABLE public.pages ALTER body SET STORAGE EXTERNAL",
            "INSERT INTO public.pages SELECT i, 'T' || i, repeat(md5(i::text), 300) FROM generate_series(1, 9) i")
        try followed.follow(["pages"])
        try connection.execute("UPDATE public.pages SET title = 'New' WHERE id = 3")
        try connection.execute("UPDATE public.pages SET id = 30 WHERE id = 4")
        try connection.execute(
            "BEGIN; UPDATE public.pages SET title = 'a' WHERE id = 5; UPDATE public.pages SET body = 'b' WHERE id = 5; COMMIT"
        )
        try followed.follow()
        let columns = ["id": "id", "title": "title", "body": "body"]
        #expect(try followed.rows("pages", key: "id") == followed.sourceRows("public.pages", key: "id", columns))
        // If the row is missing in the store, it is read from the source.
        let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
        let writer = try BatchWriter(container, entity: "pages", key: "id")
        if let object = try writer.object(key: 6) { try writer.delete(object) }
        try writer.commit()
        try connection.execute("UPDATE public.pages SET title = 'again' WHERE id = 6")
        #expect(try followed.follow().last == "consistent")
        #expect(try followed.rows("pages", key: "id") == followed.sourceRows("public.pages", key: "id", columns))
        try followed.check()
    }

    @Test func aLargeTransactionBecomesOneCommit() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.rows(id integer PRIMARY KEY, body text)")
        try followed.follow(["rows"])
        try connection.execute(
            "INSERT INTO public.rows SELECT i, repeat('x', 500) FROM generate_series(1, 40000) i")
        #expect(try followed.follow() == ["+40000 ~0 -0"])
        try followed.check()
    }

    @Test(.enabled(if: TestServer.hasFilters)) func onlyChosenRowsAndColumnsAreFollowed() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.packages(name text PRIMARY KEY, section text, size integer, tags text[])",
            "INSERT INTO public.packages SELECT 'p' || i, CASE i % 2 WHEN 0 THEN 'games' ELSE 'web' END, i, '{a,b}' FROM generate_series(1, 20) i"
        )
        func follow() throws {
            try followed.follow(["packages"]) {
                $0.tables[0].condition = "section = 'games'"
                $0.tables[0].columns = ["name", "section"]
            }
        }
        // The source would refuse updates of the table if a publication had this condition, so the follower refuses the
        // condition.
        let refusal = #expect(throws: SourceError.self) { try follow() }
        #expect(refusal?.description.contains("ALTER TABLE \"public\".\"packages\" REPLICA IDENTITY FULL") ?? false)
        try connection.execute("UPDATE public.packages SET size = 3 WHERE name = 'p1'")
        try connection.execute("ALTER TABLE public.packages REPLICA IDENTITY FULL")
        try follow()
        #expect(try followed.rows("packages", key: "name").count == 10)
        // One row stops meeting the condition, and another row begins to.
        try connection.execute("UPDATE public.packages SET section = 'web' WHERE name = 'p2'")
        try connection.execute("UPDATE public.packages SET section = 'games' WHERE name = 'p3'")
        #expect(try followed.follow() == ["+0 ~0 -1", "+1 ~0 -0"])
        let expected = try followed.sourceRows(
            "public.packages WHERE section = 'games'", key: "name", ["name": "name", "section": "section"])
        #expect(try followed.rows("packages", key: "name") == expected)
        try followed.check()
    }

    @Test func addedRenamedDroppedAndCompatiblyRetypedColumnsAreFollowed() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, a text, b integer)",
            "INSERT INTO public.t SELECT i, 'a' || i, i FROM generate_series(1, 30) i")
        try followed.follow(["t"])
        #expect(try followed.fetch(OrderDefinition(entity: "t", sortKeys: [SortKey("b")]), cache: "by b") == 30)
        try connection.execute("ALTER TABLE public.t ADD c text")
        try connection.execute("UPDATE public.t SET c = 'new' WHERE id = 1")
        try connection.execute("ALTER TABLE public.t RENAME a TO name")
        try connection.execute("UPDATE public.t SET name = 'renamed' WHERE id = 2")
        try followed.follow()
        func requireEqual(_ columns: [String]) throws {
            let columns = Dictionary(uniqueKeysWithValues: columns.map { ($0, $0) })
            #expect(try followed.rows("t", key: "id") == followed.sourceRows("public.t", key: "id", columns))
        }
        try requireEqual(["id", "name", "b", "c"])
        // Unchanged rows have the new column's default, too.
        try connection.execute("ALTER TABLE public.t ADD d integer NOT NULL DEFAULT 7")
        try connection.execute("INSERT INTO public.t(id, name) VALUES (31, 'x')")
        let events = try followed.follow()
        #expect(events.contains("copied public.t: 30") && events.last == "consistent", "\(events)")
        try requireEqual(["id", "name", "b", "c", "d"])
        try connection.execute("ALTER TABLE public.t DROP c")
        try connection.execute("DELETE FROM public.t WHERE id = 5")
        try followed.follow()
        try requireEqual(["id", "name", "b", "d"])
        // A new type of a column is followed if it is stored like the old one. Otherwise it is refused.
        try connection.execute("ALTER TABLE public.t ALTER b TYPE bigint")
        try connection.execute("UPDATE public.t SET b = 5000000000 WHERE id = 6")
        try followed.follow()
        try requireEqual(["id", "name", "b", "d"])
        try connection.execute("ALTER TABLE public.t ALTER b TYPE text")
        try connection.execute("UPDATE public.t SET b = 'many' WHERE id = 7")
        let refusal = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(
            refusal?.remedy == .convert(entity: "t", attribute: "b", type: "string"), "\(refusal?.description ?? "")")
        try followed.check()
    }

    @Test func severalTablesAreFollowedTogether() throws {
        let (followed, connection) = try Followed.database(
            "CREATE SCHEMA shop", "CREATE TABLE shop.\"Order Lines\"(\"Number\" bigint PRIMARY KEY, \"a\"\"b\" text)",
            "CREATE TABLE public.t(code text NOT NULL UNIQUE, v integer)", "INSERT INTO public.t VALUES ('x', 1)",
            "INSERT INTO shop.\"Order Lines\" SELECT i, 'it''s ' || i FROM generate_series(1, 20) i")
        let refusal = #expect(throws: SourceError.self) { try followed.follow(["shop.Order Lines=Line", "t"]) }
        #expect(refusal?.reason == "public.t has no primary key" && refusal?.remedy == .chooseKey)
        func follow() throws { try followed.follow(["shop.Order Lines=Line", "t"]) { $0.tables[1].key = ["code"] } }
        let second = #expect(throws: SourceError.self) { try follow() }
        #expect(
            second?.description.contains("ALTER TABLE \"public\".\"t\" REPLICA IDENTITY USING INDEX \"t_code_key\"")
                ?? false)
        try connection.execute("ALTER TABLE public.t REPLICA IDENTITY USING INDEX t_code_key")
        try follow()
        #expect(try followed.rows("Line", key: "Number")["7"] == ["Number": "7", "a\"b": "it's 7"])
        try connection.execute(
            "BEGIN; UPDATE public.t SET v = 2; UPDATE shop.\"Order Lines\" SET \"a\"\"b\" = '' WHERE \"Number\" < 3; COMMIT"
        )
        #expect(try followed.follow() == ["+0 ~3 -0"])
        #expect(try followed.rows("t", key: "code") == ["x": ["code": "x", "v": "2"]])
        try followed.check()
    }
}
