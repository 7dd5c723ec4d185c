import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing

/// Stores follow tables by a change table.
@Suite(.enabled(if: TestServer.isInstalled)) struct ChangeTableTests {
    private static let books = ["books=Book", "notes"]

    func database(in server: TestServer? = nil, _ commands: String...) throws -> (Followed, Connection) {
        var followed = Followed(address: try (server ?? TestServer.shared()).makeDatabase())
        followed.usesChangeTable = true
        let connection = try Connection(followed.address)
        for command in commands { try connection.execute(command) }
        return (followed, connection)
    }

    func setUp(_ followed: Followed, _ tables: [String]) throws {
        let text = try Follower.setup(followed.address, tables.map { try TableChoice($0) })
        try Connection(followed.address).execute(text)
    }

    func table(in server: TestServer? = nil) throws -> (Followed, Connection) {
        let (followed, connection) = try database(
            in: server,
            "CREATE TABLE public.t(id integer PRIMARY KEY, a text)",
            "INSERT INTO public.t SELECT i, 'a' || i FROM generate_series(1, 30) i")
        try setUp(followed, ["t"])
        return (followed, connection)
    }

    func requireEqual(_ followed: Followed, _ columns: [String] = ["id", "a"], _ message: String = "") throws {
        let columns = Dictionary(uniqueKeysWithValues: columns.map { ($0, $0) })
        #expect(
            try followed.rows("t", key: "id") == followed.sourceRows("public.t", key: "id", columns), "\(message)")
        try followed.check()
    }

    @Test func changedRowsAreReadByTheirKeys() throws {
        let (followed, connection) = try table()
        #expect(try followed.follow(["t"]) == ["copied public.t: 30", "consistent"])
        try connection.execute(
            "UPDATE public.t SET a = 'x' WHERE id < 3; DELETE FROM public.t WHERE id = 4; INSERT INTO public.t VALUES (100, NULL)"
        )
        try connection.execute("UPDATE public.t SET id = 200 WHERE id = 5")
        // A row that is inserted and deleted again, and a transaction that is rolled back, leave no change.
        try connection.execute("INSERT INTO public.t VALUES (300); DELETE FROM public.t WHERE id = 300")
        try connection.execute("BEGIN; UPDATE public.t SET a = 'never'; ROLLBACK")
        #expect(try followed.follow() == ["+2 ~2 -2"])
        try requireEqual(followed)
        #expect(try followed.follow() == [])
        try connection.execute("TRUNCATE public.t")
        try connection.execute("INSERT INTO public.t VALUES (1, 'x'), (9, 'nine')")
        #expect(try followed.follow() == ["+0 ~1 -28"])
        try requireEqual(followed)
    }

    /// A transaction begins first and commits last. Its changes are read once, after its commit.
    @Test func aTransactionThatCommitsLateIsReadOnceAfterItsCommit() throws {
        let (followed, connection) = try table()
        try followed.follow(["t"])
        let slow = try Connection(followed.address)
        try slow.execute(
            "BEGIN; UPDATE public.t SET a = 'slow' WHERE id = 1; SAVEPOINT s; UPDATE public.t SET a = 'slow' WHERE id = 2; RELEASE s"
        )
        for round in 1...3 {
            try connection.execute("UPDATE public.t SET a = 'quick \(round)' WHERE id = \(10 + round)")
            #expect(try followed.follow() == ["+0 ~1 -0"])
        }
        try slow.execute("COMMIT")
        #expect(try followed.follow() == ["+0 ~2 -0"])
        #expect(try followed.follow() == [])
        try requireEqual(followed)
    }

    @Test(.enabled(if: TestServer.hasICU)) func rowsWithKeysOfManyTypesAreFollowed() throws {
        for (type, keys) in [
            ("text", "'a''b', '\\\\N'"),
            ("timestamptz", "'2024-03-01 12:00+09', '2024-03-01 12:00:00.123456+00'"),
            ("date", "'2024-02-29', '1999-12-31'"), ("numeric", "1.50, -7"), ("double precision", "0.1, 1e300"),
            ("bytea", "'\\xdeadbeef', ''"), ("uuid", "gen_random_uuid(), gen_random_uuid()"),
            ("bigint", "9007199254740993, -1"), ("char(5)", "'b', 'abcde'"), ("varchar(3)", "'abc', ''"),
            ("numeric(6,2)", "1, 2.5"),
            ("text COLLATE public.same", "'a', 'b'"), ("bit(4)", "'1010', '0001'"),
        ] {
            let (followed, connection) = try database(
                "CREATE COLLATION public.same (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
                "CREATE TABLE public.t(id \(type) PRIMARY KEY, a text)")
            try setUp(followed, ["t"])
            try followed.follow(["t"])
            try connection.execute(
                "SET timezone = 'Asia/Tokyo'; SET datestyle = 'SQL, DMY'; SET bytea_output = 'escape'; SET extra_float_digits = -15"
            )
            for key in keys.components(separatedBy: ", ") {
                try connection.execute("INSERT INTO public.t VALUES (\(key), 'v')")
            }
            #expect(try followed.follow() == ["+2 ~0 -0"], "\(type)")
            try connection.execute("UPDATE public.t SET a = 'w'")
            #expect(try followed.follow() == ["+0 ~2 -0"], "\(type)")
            if type.contains("COLLATE") {
                try connection.execute("UPDATE public.t SET id = 'A' WHERE id = 'a'")
                #expect(try followed.follow() == ["+1 ~0 -1"])
            }
            try connection.execute("DELETE FROM public.t")
            #expect(try followed.follow() == ["+0 ~0 -2"], "\(type)")
            try followed.check()
        }
    }

    @Test func theStoreEqualsTheTablesWheneverTheWritersPause() throws {
        let seed = 22 &+ TestSettings.seed
        var (followed, connection) = try database()
        for command in Traffic.tables { try connection.execute(command) }
        try setUp(followed, Self.books)
        // Some of the other stores follow by the log instead.
        var others: [Followed] = []
        for number in 0..<(TestSettings.isLong ? 15 : 3) {
            var other = Followed(address: followed.address)
            other.usesChangeTable = number % 2 == 0
            others.append(other)
        }
        let traffic = Traffic(followed.address, writers: 3, seed: seed)
        defer { traffic.letEnd() }
        try followed.follow(Self.books)
        for other in others { try other.follow(Self.books) }
        for point in 0..<(TestSettings.isLong ? 60 : 5) {
            usleep(200_000)
            try followed.follow()
            try others[point % others.count].follow()
            try traffic.held {
                try followed.follow()
                try requireEqualBooks(followed)
            }
        }
        try traffic.stop()
        for follower in [followed] + others {
            try follower.follow()
            try requireEqualBooks(follower)
        }
        #expect(traffic.transactions > 20, "seed \(seed)")
        followed.usesChangeTable = true
    }

    func requireEqualBooks(_ followed: Followed) throws {
        let columns = [
            "id": "id", "title": "title", "publisher": "publisher", "price": "trim_scale(price)", "body": "body",
        ]
        #expect(try followed.rows("Book", key: "id") == followed.sourceRows("public.books", key: "id", columns))
        #expect(
            try followed.rows("notes", key: "code").mapValues { $0["book"] }
                == followed.sourceRows("public.notes", key: "code", ["code": "code", "book": "book"]).mapValues {
                    $0["book"]
                })
        try followed.check()
    }

    @Test func conditionsThatDependOnOtherRowsTimeOrChanceAreRefused() throws {
        let (followed, _) = try table()
        let error = #expect(throws: SourceError.self) {
            try followed.follow(["t"]) { $0.tables[0].condition = "id > (SELECT max(id) - 5 FROM public.t)" }
        }
        #expect(error?.description.contains("it reads other rows or tables") ?? false)
        for condition in ["a < now()::text", "random() < 0.5", "id < (extract(epoch FROM now()))"] {
            let error = #expect(throws: SourceError.self) {
                try followed.follow(["t"]) { $0.tables[0].condition = condition }
            }
            #expect(error?.description.contains("may change while the row stays the same") ?? false)
        }
        try followed.follow(["t"]) { $0.tables[0].condition = "lower(a) LIKE 'a%' AND id % 2 = 0" }
        #expect(try followed.rows("t", key: "id").count == 15)
    }

    /// If a store follows by the change table, a condition may read any columns, without REPLICA IDENTITY FULL.
    @Test func theStoreGainsAndLosesRowsThatBeginOrStopMeetingACondition() throws {
        let (followed, connection) = try table()
        try connection.execute("ALTER TABLE public.t ADD key integer, ADD c integer")
        try followed.follow(["t"]) { $0.tables[0].condition = "key IS NULL AND a <> 'a7'" }
        #expect(try followed.rows("t", key: "id").count == 29)
        try connection.execute("UPDATE public.t SET key = 1 WHERE id <= 3; UPDATE public.t SET a = 'back' WHERE id = 7")
        try connection.execute("UPDATE public.t SET c = 1 WHERE id IN (2, 20)")
        #expect(try followed.follow() == ["+1 ~1 -3"])
        #expect(try followed.rows("t", key: "id").count == 27)
        try followed.check()
    }

    @Test func columnsMayBeAddedRenamedDroppedAndRetyped() throws {
        let (followed, connection) = try table()
        try followed.follow(["t"])
        for (command, columns) in [
            ("ADD b text; UPDATE public.t SET b = id WHERE id > 10", ["id", "a", "b"]),
            (
                "RENAME a TO x; ALTER TABLE public.t RENAME b TO a; ALTER TABLE public.t RENAME x TO b; UPDATE public.t SET a = '5' WHERE id < 9",
                ["id", "a", "b"]
            ),
            ("DROP a", ["id", "b"]), ("ADD d integer DEFAULT 7", ["id", "b", "d"]),
            ("ALTER b TYPE text USING b || '!'; UPDATE public.t SET d = 8 WHERE id = 1", ["id", "b", "d"]),
        ] {
            try connection.execute("ALTER TABLE public.t \(command)")
            try followed.follow()
            try requireEqual(followed, columns, command)
        }
    }

    @Test func lostChangesAreNoticed() throws {
        // The test has its own server, because transactions of other databases would retain changes.
        let server = try TestServer()
        defer { server.stop() }
        let (followed, connection) = try table(in: server)
        func require(_ reason: String) throws {
            let error = #expect(throws: SourceError.self) { try followed.follow() }
            #expect(error?.kind == .lost && error?.description.contains(reason) ?? false, "\(error?.description ?? "")")
            try followed.follow { $0.recopiesWhenLost = true }
            try requireEqual(followed)
        }
        try followed.follow(["t"])
        // The change table is trimmed beyond the store's position.
        try connection.execute("UPDATE public.t SET a = 'trimmed' WHERE id = 1")
        // Changes are retained while a writing transaction of the server is older.
        while try connection.value("SELECT fetchindex.trim('0')") == "0" { usleep(50_000) }
        try require("may lack changes that this store needs")
        // The change table is trimmed up to the store's position.
        try connection.execute("UPDATE public.t SET a = 'kept' WHERE id = 1")
        try followed.follow()
        while try connection.value("SELECT fetchindex.trim('0')") == "0" { usleep(50_000) }
        try connection.execute("UPDATE public.t SET a = 'again' WHERE id = 1")
        #expect(try followed.follow() == ["+0 ~1 -0"])
        // The trimming transaction has changes of its own.
        try connection.execute("BEGIN; UPDATE public.t SET a = 'mine' WHERE id = 1")
        try connection.execute("SELECT fetchindex.trim('0'); COMMIT")
        #expect(try followed.follow() == ["+0 ~1 -0"])
        try requireEqual(followed)
        // The stored number of the last trimmed transaction came from another server, with a dump.
        try connection.execute("UPDATE fetchindex.log SET trimmed = '99999999'")
        // Changes would be lost again after each further copy, so following ends.
        let again = #expect(throws: SourceError.self) { try followed.follow { $0.recopiesWhenLost = true } }
        #expect(again?.kind == .lost)
        try setUp(followed, ["t"])
        try followed.follow { $0.recopies = true }
        #expect(try followed.follow() == [])
        // A trigger was off for a while.
        try connection.execute("ALTER TABLE public.t DISABLE TRIGGER fetchindex_note")
        try connection.execute("DELETE FROM public.t WHERE id = 2")
        try connection.execute("ALTER TABLE public.t ENABLE ALWAYS TRIGGER fetchindex_note")
        try require("triggers of the change table were replaced")
        // The name belongs to another table now.
        try connection.execute("DROP TABLE public.t; CREATE TABLE public.t(id integer PRIMARY KEY, a text)")
        let missing = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(missing?.description.contains("is the name of another table now") ?? false)
        try setUp(followed, ["t"])
        try require("is the name of another table now")
        #expect(try Follower.end(storeAt: followed.store) == nil)
        withExtendedLifetime(server) {}
    }

    @Test func theErrorForASourceWithoutTriggersSaysWhatIsMissing() throws {
        let (followed, connection) = try database(
            "CREATE TABLE public.t(id integer PRIMARY KEY)", "CREATE TABLE public.u(id integer)")
        func refusal(_ tables: [String]) -> String {
            (#expect(throws: SourceError.self) { try followed.follow(tables) })?.description ?? ""
        }
        #expect(
            refusal(["t"])
                == "the source does not note all changes; the source needs the change table and its triggers")
        try setUp(followed, [])
        #expect(refusal(["t"]).hasPrefix("the source does not note all changes of public.t; "))
        #expect(refusal(["u"]).contains("has no primary key"))
        try setUp(followed, ["t"])
        try setUp(followed, ["t"])
        try followed.follow(["t"])
        try connection.execute("INSERT INTO public.t VALUES (1)")
        #expect(try followed.follow() == ["+1 ~0 -0"])
        // The role has no right to replicate. It needs rights on the change table, but no slot and no publication.
        let role = "role_" + UUID().uuidString.prefix(8).lowercased()
        try connection.execute(
            "CREATE ROLE \(role) LOGIN; GRANT SELECT ON public.t TO \(role)")
        var other = Followed(address: followed.address.split(separator: "postgres@").joined(separator: "\(role)@"))
        other.usesChangeTable = true
        for right in ["USAGE ON SCHEMA fetchindex", "SELECT ON fetchindex.log", "SELECT ON fetchindex.changes"] {
            let error = #expect(throws: SourceError.self) { try other.follow(["t"]) }
            #expect(error?.description.contains(": GRANT USAGE ON SCHEMA fetchindex TO …; GRANT SELECT ON") ?? false)
            try connection.execute("GRANT \(right) TO \(role)")
        }
        try other.follow(["t"])
        #expect(try other.rows("t", key: "id").count == 1)
        #expect(try connection.value("SELECT count(*) FROM pg_publication") == "0")
    }
}
