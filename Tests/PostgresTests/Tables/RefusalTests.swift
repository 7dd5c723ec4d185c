import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing

/// A source or a table that can't be followed, or a wrong option, is refused with one sentence.
@Suite(.enabled(if: TestServer.isInstalled)) struct RefusalTests {
    private func refusal(
        _ address: String, _ tables: [String] = ["t"], _ change: (inout FollowOptions) throws -> Void = { _ in }
    ) throws -> String {
        let followed = Followed(address: address)
        let error = #expect(throws: SourceError.self) { try followed.follow(tables, change) }
        let text = error?.description ?? ""
        #expect(!text.contains("\n"))
        return text
    }

    private func database(_ commands: String...) throws -> (address: String, connection: Connection) {
        let address = try TestServer.shared().makeDatabase()
        let connection = try Connection(address)
        for command in commands { try connection.execute(command) }
        return (address, connection)
    }

    @Test func invalidAddressesSayWhatIsWrong() throws {
        #expect(try refusal("postgres://user:secret@127.0.0.1/db").contains("has a password, which others could read"))
        #expect(try refusal("host=127.0.0.1 password=secret").contains("has a password"))
        #expect(try refusal("postgres://127.0.0.1:port/db").contains("invalid integer value"))
        #expect(try refusal("postgres://[::1").contains("address cannot be read"))
        #expect(try refusal("postgres://postgres@127.0.0.1:1/db").contains("Connection refused"))
        let followed = Followed(address: "")
        let error = #expect(throws: SourceError.self) { try followed.follow { $0.address = nil } }
        #expect(error?.description == "the store follows nothing yet; an address and tables are needed")
        #expect(error?.kind == .usage && error?.remedy == .nameSource)
        for text in ["", ".", "a.", ".b", "a.b="] { #expect(throws: SourceError.self) { try TableChoice(text) } }
    }

    @Test func serversThatCannotBeFollowedSayWhy() throws {
        let server = try TestServer(["wal_level=replica", "max_replication_slots=1"])
        defer { server.stop() }
        try server.run("CREATE TABLE public.t(id integer PRIMARY KEY)")
        #expect(try refusal(server.address()).contains("wal_level is replica"))
        #expect(try refusal(server.address(database: "nowhere")).contains("\"nowhere\" does not exist"))
        try server.run("CREATE ROLE reader LOGIN")
        server.stop()
        let full = try TestServer(["max_replication_slots=1"])
        defer { full.stop() }
        try full.run("CREATE TABLE public.t(id integer PRIMARY KEY)")
        try full.run("CREATE ROLE reader LOGIN")
        let role = try refusal(full.address(user: "reader"))
        #expect(role.contains("REPLICATION") && role.contains("ALTER ROLE"), "\(role)")
        try full.run("SELECT pg_create_physical_replication_slot('other')")
        #expect(try refusal(full.address()).contains("max_replication_slots limits the number of slots"))
        #expect(try full.connection().value("SELECT count(*) FROM pg_publication") == "0")
        #expect(try refusal(full.address()) { $0.slot = "other" }.contains("uses no plugin instead of pgoutput"))
        #expect(try refusal(full.address()) { $0.slot = "a-b" }.contains("a-b is not a valid name of a slot"))
        try full.run("ALTER ROLE reader REPLICATION")
        let grant = "the role reader may not read public.t: GRANT SELECT ON \"public\".\"t\" TO \"reader\""
        #expect(try refusal(full.address(user: "reader")) == grant)
        // The password is missing.
        try full.run("ALTER ROLE reader PASSWORD 'right'")
        try full.setAccess(
            "host all reader 127.0.0.1/32 scram-sha-256", "host all all 127.0.0.1/32 trust",
            "host replication all 127.0.0.1/32 trust")
        #expect(try refusal(full.address(user: "reader")).contains("password"))
    }

    /// Rights are looked at before anything is made in the source or the store.
    @Test func missingRightsAreNamedBeforeAnythingIsMade() throws {
        let (followed, connection) = try Followed.database(
            "CREATE SCHEMA shop", "CREATE TABLE shop.t(id integer PRIMARY KEY, v text, secret text)")
        let role = "role_" + UUID().uuidString.prefix(8).lowercased()
        try connection.execute("CREATE ROLE \(role) LOGIN REPLICATION")
        let other = Followed(address: followed.address.split(separator: "postgres@").joined(separator: "\(role)@"))
        func refusal(columns: [String]? = nil) -> SourceError? {
            #expect(throws: SourceError.self) { try other.follow(["shop.t"]) { $0.tables[0].columns = columns } }
        }
        #expect(refusal()?.reason.hasSuffix("GRANT USAGE ON SCHEMA \"shop\" TO \"\(role)\"") ?? false)
        try connection.execute("GRANT USAGE ON SCHEMA shop TO \(role)")
        #expect(refusal()?.reason.hasSuffix("GRANT SELECT ON \"shop\".\"t\" TO \"\(role)\"") ?? false)
        try connection.execute("GRANT SELECT (id, v) ON shop.t TO \(role)")
        #expect(refusal()?.reason.contains("may not read shop.t") ?? false)
        let owner = refusal(columns: ["v"])
        #expect(owner?.reason.contains("does not own shop.t") ?? false)
        #expect(owner?.remedy == .namePublication)
        try connection.execute("ALTER TABLE shop.t OWNER TO \(role)")
        #expect(refusal()?.reason.contains(": GRANT CREATE ON DATABASE ") ?? false)
        #expect(try connection.value("SELECT count(*) FROM pg_publication") == "0")
        #expect(!FileManager.default.fileExists(atPath: other.store))
        let database = try #require(try connection.value("SELECT current_database()"))
        try connection.execute("GRANT CREATE ON DATABASE \(database) TO \(role)")
        try other.follow(["shop.t"])
    }

    /// The server's messages are in German, if their translation is installed. Refusals must be recognized by their
    /// codes.
    @Test func refusalsAreRecognizedIfTheServerSpeaksGerman() throws {
        let server = try TestServer(language: "de")
        defer { server.stop() }
        try server.run("CREATE TABLE public.t(id integer PRIMARY KEY, v text); CREATE ROLE reader LOGIN")
        let reader = Followed(address: server.address(user: "reader"))
        let right = #expect(throws: SourceError.self) { try reader.follow(["t"]) }
        #expect(right?.kind == .refused && right?.code == "42501", "\(String(describing: right))")
        #expect(right?.description.contains("ALTER ROLE … REPLICATION gives the right") ?? false)
        var followed = Followed(address: server.address())
        followed.usesChangeTable = true
        try server.run(Follower.setup(followed.address, [TableChoice("t")]))
        try followed.follow(["t"]) { $0.tables[0].condition = "v <> 'q'" }
        try server.run("ALTER TABLE public.t RENAME v TO w")
        let condition = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(condition?.kind == .refused && condition?.remedy == .end, "\(String(describing: condition))")
        try server.run("ALTER TABLE public.t RENAME w TO v; DROP TABLE public.t")
        let table = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(
            table?.kind == .lost && table?.remedy == .copyAgainOrDrop(table: "public.t"), "\(String(describing: table))"
        )
    }

    @Test func tablesThatCannotBeFollowedSayWhy() throws {
        let (address, connection) = try database(
            "CREATE TABLE public.bare(v integer)",
            "CREATE UNLOGGED TABLE public.fast(id integer PRIMARY KEY)", "CREATE VIEW public.seen AS SELECT 1 AS id",
            "CREATE TABLE public.late(id integer UNIQUE DEFERRABLE NOT NULL)",
            "CREATE TABLE public.silent(id integer PRIMARY KEY)", "ALTER TABLE public.silent REPLICA IDENTITY NOTHING",
            "CREATE TABLE public.made(id integer PRIMARY KEY, twice integer GENERATED ALWAYS AS (id * 2) STORED)")
        #expect(try refusal(address, ["nowhere"]) == "the source has no table public.nowhere")
        #expect(try refusal(address, ["bare"]).contains("has no primary key"))
        #expect(try refusal(address, ["fast"]).contains("unlogged"))
        #expect(try refusal(address, ["seen"]) == "public.seen is not a table, so its changes cannot be followed")
        #expect(
            try refusal(address, ["late"]) { $0.tables[0].key = ["id"] }.contains("unique index that is not deferrable")
        )
        #expect(try refusal(address, ["bare"]) { $0.tables[0].key = ["w"] } == "public.bare has no column w")
        #expect(try refusal(address, ["made"]) { $0.tables[0].columns = ["id", "w"] } == "public.made has no column w")
        #expect(
            try refusal(address, ["made"]) { $0.tables[0].columns = ["id", "twice"] }.contains("computed by the source")
        )
        #expect(
            try refusal(address, ["silent"]).hasSuffix(
                "ALTER TABLE \"public\".\"silent\" REPLICA IDENTITY USING INDEX \"silent_pkey\""))
        #expect(try refusal(address, ["bare=A", "pair=A"]).contains("primary key"))
        // No publication is left in the source.
        #expect(try connection.value("SELECT count(*) FROM pg_publication") == "0")
        // Computed columns are left out.
        let followed = Followed(address: address)
        try connection.execute("INSERT INTO public.made VALUES (4)")
        try followed.follow(["made"])
        #expect(try followed.rows("made", key: "id") == ["4": ["id": "4"]])
    }

    @Test func valuesThatCannotBeStoredSayWhereTheyAre() throws {
        let (address, connection) = try database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, n numeric, d date)",
            "INSERT INTO public.t VALUES (1, 1.5, '2024-01-01'), (2, 'NaN', NULL)")
        let followed = Followed(address: address)
        let error = #expect(throws: SourceError.self) { try followed.follow(["t"]) }
        #expect(
            error?.description
                == "public.t.n of the row with the key 2 is NaN, not a decimal of at most 38 digits; it can be changed in the source, "
                + "stored as null or as the nearest value, or the column can be stored as text"
        )
        #expect(error?.remedy == .changeValue(entity: "t", columns: ["n"]))
        // Only that row is left out.
        #expect(try followed.rows("t", key: "id").keys.sorted() == ["1"])
        try connection.execute("UPDATE public.t SET n = 2 WHERE id = 2")
        // After the row is mended, the store continues.
        try followed.follow()
        try connection.execute("UPDATE public.t SET d = 'infinity' WHERE id = 1")
        let streamed = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(
            streamed?.description.hasPrefix("public.t.d of the row with the key 1 is infinity, not a date")
                ?? false)
        #expect(try followed.rows("t", key: "id").keys.sorted() == ["2"])
        // Another rule brings the row back.
        let unknown = #expect(throws: SourceError.self) { try followed.follow { $0.unstorable = ["u": .null] } }
        #expect(unknown?.reason == "no table is followed as the entity \"u\"")
        let events = try followed.follow { $0.unstorable = ["t": .null] }
        #expect(
            events.contains {
                $0
                    == "warning: public.t.d of the row with the key 1 is infinity, not a date: it is stored as null, and others like it "
                    + "are not named"
            }, "\(events)")
        #expect(try followed.rows("t", key: "id")["1"] == ["id": "1", "n": "1.5"])
    }

    @Test(arguments: [false, true]) func unstorableValuesBecomeTheNearestOnes(usesChangeTable: Bool) throws {
        var (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, n numeric, d date, s timestamptz)")
        followed.usesChangeTable = usesChangeTable
        if usesChangeTable { try connection.execute(Follower.setup(followed.address, [TableChoice("t")])) }
        let digits = String(repeating: "9", count: 60)
        try connection.execute(
            "INSERT INTO public.t VALUES (1, 'NaN', 'infinity', '-infinity'), (2, -\(digits), NULL, NULL)")
        try followed.follow(["t"]) { $0.unstorable = ["": .clamp] }
        try connection.execute("INSERT INTO public.t VALUES (3, 0.\(digits), '-infinity', 'infinity')")
        // The store remembers the rule.
        try followed.follow()
        let rows = try followed.rows("t", key: "id")
        #expect(rows["1"]?["n"] == nil && rows["1"]?["d"] == "5874897-12-31T00:00:00Z", "\(rows)")
        #expect(rows["1"]?["s"] == rows["3"]?["d"] && rows["3"]?["s"] == rows["1"]?["d"], "\(rows)")
        #expect(rows["2"]?["n"]?.hasPrefix("-") ?? false && rows["3"]?["n"]?.hasPrefix("0.9999") ?? false, "\(rows)")
        // A key has no other value.
        let key = #expect(throws: SourceError.self) {
            try connection.execute(
                "CREATE TABLE public.k(d date PRIMARY KEY); INSERT INTO public.k VALUES ('infinity')")
            if usesChangeTable { try connection.execute(Follower.setup(followed.address, [TableChoice("k")])) }
            var other = Followed(address: followed.address)
            other.usesChangeTable = usesChangeTable
            try other.follow(["k"]) { $0.unstorable = ["": .clamp] }
        }
        #expect(key?.reason.hasPrefix("public.k.d of the row with the key infinity is infinity, not a date") ?? false)
    }

    @Test func anUnknownCacheIsRefusedBeforeTheStoreIsCreated() throws {
        let (address, _) = try database("CREATE TABLE public.t(id integer PRIMARY KEY)")
        let followed = Followed(address: address)
        let unknown = #expect(throws: CacheError.self) { try followed.follow(["t"]) { $0.caches = ["none"] } }
        #expect(unknown == .unknown("none"))
        #expect(!FileManager.default.fileExists(atPath: followed.store + "/data.mdb"))
    }

    @Test func aStoreRefusesOtherTablesAndASecondFollower() throws {
        let (address, connection) = try database(
            "CREATE TABLE public.t(id integer PRIMARY KEY)", "CREATE TABLE public.u(id integer PRIMARY KEY)")
        let followed = Followed(address: address)
        try followed.follow(["t"])
        let other = #expect(throws: SourceError.self) { try followed.follow(["t=Other"]) }
        #expect(
            other?.reason
                == "the store follows public.t=t, and the entity of public.t cannot change")
        #expect(other?.remedy == .end)
        let unknown = #expect(throws: CacheError.self) { try followed.follow { $0.caches = ["none"] } }
        #expect(unknown == .unknown("none"))
        var options = FollowOptions()
        var first: Follower? = try Follower(storeAt: followed.store, options) { _ in }
        let second = #expect(throws: SourceError.self) { try Follower(storeAt: followed.store, options) { _ in } }
        #expect(second?.description == "another process follows a source for this store, or ends following")
        withExtendedLifetime(first) {}
        first = nil
        #expect(try Follower.end(storeAt: followed.store) == nil)
        #expect(
            try connection.value("SELECT count(*) FROM pg_replication_slots WHERE database = current_database()") == "0"
        )
        #expect(try connection.value("SELECT count(*) FROM pg_publication") == "0")
        options.tables = [try TableChoice("t")]
        options.address = address
        // Objects that don't come from the source aren't overwritten.
        let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
        let writer = try BatchWriter(container, entity: "t", key: "id")
        try writer.insert([1])
        try writer.commit()
        let refused = #expect(throws: SourceError.self) { try followed.follow(["t"]) }
        #expect(
            refused?.description.contains(
                "has objects of t already (1), but tables are followed into new or empty entities") ?? false)
    }

    @Test func tableNamesAreReadPlainOrQuoted() throws {
        for (text, schema, name, entity) in [
            ("books", "public", "books", "books"), ("Odd.T", "Odd", "T", "T"), ("a.b.c=E", "a", "b.c", "E"),
            ("\"Odd Schema\".\"T\"", "Odd Schema", "T", "T"), ("\"a.b\".c=E", "a.b", "c", "E"),
            ("\"x=y\"=E", "public", "x=y", "E"), ("s.\"a\"\"b\"", "s", "a\"b", "a\"b"), ("\"T\"", "public", "T", "T"),
        ] {
            let choice = try TableChoice(text)
            #expect(choice.schema == schema && choice.name == name && choice.entity == entity, "\(text)")
        }
        for text in ["", ".", "a.", "=E", "a=", "\"a", "\"a\"b", "\"\".\"T\"", "\"a\".", "s.\"T\"x=E"] {
            #expect(throws: SourceError.self, "\(text)") { try TableChoice(text) }
        }
    }

    @Test func aTableOfASchemaWithBlanksIsFollowed() throws {
        let (followed, _) = try Followed.database(
            "CREATE SCHEMA \"Odd Schema\"", "CREATE TABLE \"Odd Schema\".\"T\"(id integer PRIMARY KEY)",
            "INSERT INTO \"Odd Schema\".\"T\" VALUES (1), (2)")
        #expect(try followed.follow(["\"Odd Schema\".\"T\"=Row"]).contains("copied Odd Schema.T: 2"))
    }
}
