import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing

/// Tables that get another key, or other columns that are stored as text, while a store follows them; and new columns that
/// can't be followed.
@Suite(.enabled(if: TestServer.isInstalled)) struct ChangedKeyTests {
    private static let columns = ["id": "id", "code": "code", "n": "n", "tags": "tags"]

    private static func database() throws -> (Followed, Connection) {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, code text NOT NULL UNIQUE, n numeric, tags text[])",
            "CREATE TABLE public.u(id integer PRIMARY KEY, v text)",
            "INSERT INTO public.t SELECT i, 'c' || i, i + 0.25, ARRAY['a', 'b' || i] FROM generate_series(1, 40) i",
            "INSERT INTO public.u SELECT i, 'v' FROM generate_series(1, 20) i")
        try followed.follow(["t", "u"])
        #expect(try followed.fetch(OrderDefinition(entity: "t", sortKeys: [SortKey("code")]), cache: "by code") == 40)
        return (followed, connection)
    }

    private static func requireEqual(
        _ followed: Followed, _ comment: String, key: String = "id", tags: String = "array_to_json(tags)"
    ) throws {
        var columns = columns
        columns["tags"] = tags
        #expect(try followed.rows("t", key: key) == followed.sourceRows("public.t", key: key, columns), "\(comment)")
        #expect(
            try followed.rows("u", key: "id") == followed.sourceRows("public.u", key: "id", ["id": "id", "v": "v"]),
            "\(comment)")
        try followed.check()
    }

    /// The changes before the new key are sent with the old one, or without a key.
    @Test func aTableMayGetAnotherKey() throws {
        let (followed, connection) = try Self.database()
        try connection.execute(
            """
            DELETE FROM public.t WHERE id = 7; UPDATE public.t SET id = 100 WHERE id = 8;
            UPDATE public.t SET n = 0 WHERE id = 9
            """)
        let refused = #expect(throws: SourceError.self) { try followed.follow(["t"]) { $0.tables[0].key = ["code"] } }
        #expect(refused?.reason.contains("REPLICA IDENTITY USING INDEX") ?? false, "\(String(describing: refused))")
        try connection.execute("ALTER TABLE public.t REPLICA IDENTITY USING INDEX t_code_key")
        try connection.execute("DELETE FROM public.t WHERE id = 10; INSERT INTO public.t VALUES (10, 'again', 1, NULL)")
        let events = try followed.follow(["t"]) { $0.tables[0].key = ["code"] }
        #expect(
            events.contains { $0.hasPrefix("copied public.t") } && !events.contains { $0.hasPrefix("copied public.u") })
        try Self.requireEqual(followed, "changed", key: "code", tags: "array_to_json(tags)")
        // The former key needs no constraint any more.
        try connection.execute("ALTER TABLE public.t DROP CONSTRAINT t_pkey; UPDATE public.t SET id = 1")
        try connection.execute(
            "UPDATE public.t SET code = code || '.' WHERE n > 5; DELETE FROM public.t WHERE code = 'c3'")
        try followed.follow()
        try Self.requireEqual(followed, "followed", key: "code")
        #expect(try followed.fetch(OrderDefinition(entity: "t", sortKeys: [SortKey("code")]), cache: "by code") == 38)
        // A key of both columns, and back to the first key.
        try connection.execute(
            """
            UPDATE public.t SET id = floor(random() * 3); CREATE UNIQUE INDEX t_both ON public.t(code, id);
            ALTER TABLE public.t ALTER id SET NOT NULL, REPLICA IDENTITY USING INDEX t_both
            """)
        try followed.follow(["t"]) { $0.tables[0].key = ["id", "code"] }
        try Self.requireEqual(followed, "both", key: "code")
        try connection.execute(
            """
            WITH n AS (SELECT code, row_number() OVER () r FROM public.t)
            UPDATE public.t SET id = r FROM n WHERE n.code = t.code
            """)
        try connection.execute("ALTER TABLE public.t ADD PRIMARY KEY (id)")
        // The store still has rows with the same id.
        let behind = #expect(throws: StoreError.self) { try followed.follow(["t"]) { $0.tables[0].key = ["id"] } }
        #expect(behind?.description.contains("must be unique") ?? false)
        try followed.follow()
        try connection.execute("ALTER TABLE public.t REPLICA IDENTITY DEFAULT")
        try followed.follow(["t"]) { $0.tables[0].key = ["id"] }
        try Self.requireEqual(followed, "back")
    }

    @Test func aKeyThatForeignKeysNameStays() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.a(id integer PRIMARY KEY, code text NOT NULL UNIQUE)",
            "CREATE TABLE public.b(id integer PRIMARY KEY, a_id integer REFERENCES public.a)",
            "INSERT INTO public.a VALUES (1, 'x'); INSERT INTO public.b VALUES (1, 1)")
        try followed.follow(["a", "b"])
        try connection.execute("ALTER TABLE public.a REPLICA IDENTITY FULL")
        let error = #expect(throws: SourceError.self) { try followed.follow(["a"]) { $0.tables[0].key = ["code"] } }
        #expect(error?.reason == "the key of public.a cannot change, because foreign keys of public.b name it")
        try followed.follow()
    }

    @Test func theReplicaIdentityIsTheKeyOfATableWithoutAPrimaryKey() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(v text, a integer NOT NULL, b integer NOT NULL, UNIQUE (b, a))",
            "ALTER TABLE public.t REPLICA IDENTITY USING INDEX t_b_a_key; INSERT INTO public.t VALUES ('x', 1, 2), ('y', 2, 2)"
        )
        try followed.follow(["t"])
        try connection.execute(
            "DELETE FROM public.t WHERE a = 1; UPDATE public.t SET b = 5; INSERT INTO public.t VALUES ('z', 1, 2)")
        try followed.follow()
        let columns = ["v": "v", "a": "a", "b": "b"]
        #expect(try followed.rows("t", key: "v") == followed.sourceRows("public.t", key: "v", columns))
        try followed.check()
    }

    @Test func columnsMayBecomeTextsAndBack() throws {
        let (followed, connection) = try Self.database()
        // The row is left out until the column is stored as text.
        try connection.execute("UPDATE public.t SET n = repeat('9', 50)::numeric, tags = '{x,NULL}' WHERE id = 4")
        #expect(throws: SourceError.self) { try followed.follow() }
        let events = try followed.follow(["t"]) { $0.tables[0].asText = ["n", "tags"] }
        #expect(
            events.contains { $0.hasPrefix("copied public.t") } && !events.contains { $0.hasPrefix("copied public.u") })
        try Self.requireEqual(followed, "as text", tags: "tags")
        try connection.execute(
            "UPDATE public.t SET n = n + 1, tags = tags || ARRAY['z']; DELETE FROM public.t WHERE id = 5")
        try followed.follow()
        try Self.requireEqual(followed, "followed", tags: "tags")
        try connection.execute("UPDATE public.t SET n = 3 WHERE id = 4")
        try followed.follow(["t"]) { $0.tables[0].asText = ["tags"] }
        try Self.requireEqual(followed, "n is a number again", tags: "tags")
        let model = try PersistentContainer(at: URL(fileURLWithPath: followed.store)).model()
        #expect(model.entity(named: "t")?.attributes.first { $0.name == "n" }?.type == .decimal)
        #expect(try followed.fetch(OrderDefinition(entity: "t", sortKeys: [SortKey("code")]), cache: "by code") == 39)
    }

    /// One of two changes is refused by the objects here: the other one isn't made either.
    @Test func changesOfSeveralTablesAreOne() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.a(id integer PRIMARY KEY, n numeric, m numeric); INSERT INTO public.a VALUES (1, 2, 3)",
            "CREATE TABLE public.b(id integer PRIMARY KEY, code integer NOT NULL); INSERT INTO public.b VALUES (1, 1), (2, 1)"
        )
        try followed.follow(["a", "b"]) { $0.tables[0].asText = ["n"] }
        try connection.execute(
            "UPDATE public.b SET code = id; ALTER TABLE public.b ADD UNIQUE (code), REPLICA IDENTITY FULL")
        let refused = #expect(throws: StoreError.self) {
            try followed.follow(["a", "b"]) { ($0.tables[0].asText, $0.tables[1].key) = (["m"], ["code"]) }
        }
        #expect(refused?.description.contains("must be unique") ?? false, "\(String(describing: refused))")
        try followed.follow()
        #expect(try followed.rows("a", key: "id") == ["1": ["id": "1", "n": "2", "m": "3"]])
        try followed.follow(["a", "b"]) { ($0.tables[0].asText, $0.tables[1].key) = (["m"], ["code"]) }
        #expect(try followed.rows("a", key: "id") == ["1": ["id": "1", "n": "2", "m": "3"]])
        #expect(try followed.rows("b", key: "code").keys.sorted() == ["1", "2"])
        try followed.check()
    }

    /// The column of the new key came while nobody followed, and the former key has gone.
    @Test func aNewColumnMayBeTheKey() throws {
        let (followed, connection) = try Self.database()
        try connection.execute(
            """
            ALTER TABLE public.t ADD isbn text; UPDATE public.t SET isbn = 'i' || id; ALTER TABLE public.t ALTER isbn SET NOT NULL,
                ADD UNIQUE (isbn), DROP CONSTRAINT t_pkey; ALTER TABLE public.t REPLICA IDENTITY USING INDEX t_isbn_key;
            DELETE FROM public.t WHERE isbn = 'i3'
            """)
        try followed.follow(["t"]) { $0.tables[0].key = ["isbn"] }
        try connection.execute("UPDATE public.t SET n = 1 WHERE isbn = 'i5'; DELETE FROM public.t WHERE isbn = 'i6'")
        try followed.follow()
        var columns = Self.columns
        (columns["isbn"], columns["tags"]) = ("isbn", "array_to_json(tags)")
        #expect(try followed.rows("t", key: "isbn") == followed.sourceRows("public.t", key: "isbn", columns))
        try followed.check()
    }

    @Test func columnsOfForeignKeysKeepTheirTypes() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.a(id integer PRIMARY KEY)",
            "CREATE TABLE public.b(id integer PRIMARY KEY, a_id integer REFERENCES public.a)",
            "INSERT INTO public.a VALUES (1); INSERT INTO public.b VALUES (1, 1)")
        try followed.follow(["a", "b"])
        for (table, column) in [("a", "id"), ("b", "a_id")] {
            let error = #expect(throws: SourceError.self) {
                try followed.follow([table]) { $0.tables[0].asText = [column] }
            }
            #expect(
                error?.reason
                    == "the type of public.\(table).\(column) cannot change, because foreign keys of public.b name it")
        }
        try followed.follow()
        // From the beginning, such a foreign key does not become a relationship.
        let other = Followed(address: followed.address)
        try other.follow(["a", "b"]) { $0.tables[1].asText = ["a_id"] }
        let model = try PersistentContainer(at: URL(fileURLWithPath: other.store)).model()
        #expect(model.entity(named: "b")?.relationships.isEmpty ?? false)
        withExtendedLifetime(connection) {}
    }

    /// Column names go round; the publication also sends columns that aren't followed.
    @Test(.enabled(if: TestServer.hasFilters)) func namesThatGoRoundKeepTheirValues() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, v text, x text, y text)",
            "INSERT INTO public.t VALUES (1, 'v1', 'x1', 'y1'); CREATE PUBLICATION all_columns FOR TABLE public.t")
        try followed.follow(["t"]) { ($0.publication, $0.tables[0].columns) = ("all_columns", ["y"]) }
        try connection.execute("ALTER TABLE public.t RENAME y TO q")
        try followed.follow()
        try connection.execute("ALTER TABLE public.t RENAME x TO y; INSERT INTO public.t VALUES (2, 'v2', 'x2', 'q2')")
        try followed.follow()
        try connection.execute("UPDATE public.t SET q = 'q1b' WHERE id = 1")
        try followed.follow()
        #expect(try followed.rows("t", key: "id") == ["1": ["id": "1", "q": "q1b"], "2": ["id": "2", "q": "q2"]])
        // A column gets back the name that another one had meanwhile.
        let other = Followed(address: followed.address)
        try other.follow(["t"])
        for change in [
            "RENAME v TO w", "ADD v integer", "DROP v", "RENAME w TO v", "RENAME v TO w", "ADD v integer DEFAULT 5",
            "DROP w",
        ] {
            try connection.execute("ALTER TABLE public.t \(change)")
            try other.follow()
            if change == "RENAME w TO v" {
                #expect(try other.rows("t", key: "id")["1"] == ["id": "1", "v": "v1", "y": "x1", "q": "q1b"])
            }
        }
        try other.follow()
        #expect(try other.rows("t", key: "id")["1"] == ["id": "1", "v": "5", "y": "x1", "q": "q1b"])
        try other.check()
    }

    /// A column that gets the name of a relationship, or the former name of another column, doesn't stop anything.
    @Test func newColumnsWhoseNamesAreTakenAreLeftOut() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.author(id integer PRIMARY KEY)",
            "CREATE TABLE public.t(id integer PRIMARY KEY, v text, author_id integer REFERENCES public.author)",
            "INSERT INTO public.author VALUES (1); INSERT INTO public.t VALUES (1, 'v', 1)")
        try followed.follow(["t", "author"])
        try connection.execute(
            "ALTER TABLE public.t ADD author text DEFAULT 'x'; INSERT INTO public.t VALUES (2, 'w', 1)")
        let events = try followed.follow()
        let warning =
            "warning: public.t.author has the name of a relationship of t, so the column needs another name: it is not "
            + "followed"
        #expect(events.filter { $0 == warning }.count == 1, "\(events)")
        try connection.execute("ALTER TABLE public.t RENAME v TO w")
        try followed.follow()
        try connection.execute("ALTER TABLE public.t ADD v integer; UPDATE public.t SET v = id")
        #expect(try followed.follow().contains { $0.hasPrefix("warning: public.t.v has a name that another column") })
        func requireEqual(_ columns: [String]) throws {
            let names = Dictionary(uniqueKeysWithValues: columns.map { ($0, $0) })
            let (rows, expected) = (
                try followed.rows("t", key: "id"), try followed.sourceRows("public.t", key: "id", names)
            )
            #expect(rows == expected, "\(rows) \(expected)")
        }
        try requireEqual(["id", "w", "author_id"])
        try connection.execute(
            "UPDATE public.t SET author = 'y'; ALTER TABLE public.t ADD more text; INSERT INTO public.t VALUES (3)")
        #expect(try followed.follow().allSatisfy { !$0.hasPrefix("warning: public.t.") })
        // With another name, the column is followed, also its older values.
        try connection.execute("ALTER TABLE public.t RENAME author TO writer")
        try followed.follow()
        try requireEqual(["id", "w", "author_id", "writer", "more"])
        try followed.follow { $0.recopies = true }
        try requireEqual(["id", "w", "author_id", "writer", "more"])
        try followed.check()
    }
}
