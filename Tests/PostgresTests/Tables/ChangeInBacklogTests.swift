import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing

/// Tables that change while the stream still has older rows of them, or while they are copied, and similar cases.
@Suite(.enabled(if: TestServer.isInstalled)) struct ChangeInBacklogTests {
    private func requireEqual(_ followed: Followed, _ table: String, _ columns: String...) throws {
        let columns = Dictionary(uniqueKeysWithValues: columns.map { ($0, $0) })
        #expect(
            try followed.rows(table, key: "id") == followed.sourceRows("public.\(table)", key: "id", columns),
            "\(table)")
        try followed.check()
    }

    /// Rows from before the changes arrive after the follower has noticed the changes, in later groups of transactions.
    /// In one case, the follower ends between the groups, and another one continues. The store must equal the table.
    @Test(arguments: [false, true]) func olderRowsOfABacklogAreNotWrittenOverACopy(isKilled: Bool) throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, v integer)",
            "INSERT INTO public.t SELECT i, i FROM generate_series(1, 30) i")
        try followed.follow(["t"])
        try connection.execute("UPDATE public.t SET v = v + 1")
        for id in 1...5 { try connection.execute("UPDATE public.t SET v = 4 WHERE id = \(id)") }
        try connection.execute("ALTER TABLE public.t ALTER v TYPE bigint USING v * 10")
        try connection.execute("INSERT INTO public.t VALUES (50, 50)")
        try connection.execute("ALTER TABLE public.t ADD c integer DEFAULT 7")
        if isKilled {
            // This follower ends early, and the next one continues.
            var options = FollowOptions()
            (options.groupLength, options.endsWhenCurrent) = (2, true)
            var count = 0
            let follower = try Follower(storeAt: followed.store, options) {
                count > 1
            } report: { event in
                if case .transaction = event { count += 1 }
            }
            try follower.run()
        }
        try followed.follow { $0.groupLength = 2 }
        try requireEqual(followed, "t", "id", "v", "c")
        #expect(try followed.follow() == [])
    }

    /// While a or b is copied, rows of b change, and then its columns. The store must equal b afterwards.
    @Test(arguments: [
        "UPDATE public.b SET v = 4 WHERE id = 3; ALTER TABLE public.b ALTER v TYPE bigint USING v * 10",
        "DELETE FROM public.b WHERE id = 3; INSERT INTO public.b VALUES (3, 5); ALTER TABLE public.b ADD c integer DEFAULT 7",
        "UPDATE public.b SET v = 4 WHERE id = 3; ALTER TABLE public.b RENAME v TO w",
        "INSERT INTO public.b VALUES (70, 7); ALTER TABLE public.b ALTER v TYPE integer USING v * 10",
    ])
    func theStoreEqualsATableThatChangedDuringACopy(change: String) throws {
        for seen in ["a", "b"] {
            let (followed, connection) = try Followed.database(
                "CREATE TABLE public.a(id integer PRIMARY KEY); CREATE TABLE public.b(id integer PRIMARY KEY, v integer)",
                "INSERT INTO public.a SELECT i FROM generate_series(1, 30) i; INSERT INTO public.b SELECT i, i FROM generate_series(1, 30) i"
            )
            var options = FollowOptions()
            (options.address, options.tables) = (followed.address, try ["a", "b"].map { try TableChoice($0) })
            (options.rangeLength, options.endsWhenCurrent, options.groupLength) = (7, true, 1)
            var isChanged = false
            let follower = try Follower(storeAt: followed.store, options) { event in
                if case .copying("public." + seen, let rows) = event, rows > 0, !isChanged {
                    isChanged = true
                    for command in change.split(separator: "; ") { _ = try? connection.execute(String(command)) }
                }
            }
            try follower.run()
            #expect(isChanged)
            let columns = try #require(
                try connection.value(
                    "SELECT string_agg(attname, ' ') FROM pg_attribute WHERE attrelid = 'public.b'::regclass AND attnum > 0"
                ))
            let names = Dictionary(uniqueKeysWithValues: columns.split(separator: " ").map { (String($0), String($0)) })
            #expect(
                try followed.rows("b", key: "id") == followed.sourceRows("public.b", key: "id", names),
                "\(seen): \(change)")
            try followed.check()
        }
    }

    /// The columns exchange their names twice during a copy, after which they have their old names again.
    @Test(arguments: [false, true]) func columnsMayExchangeNamesTwiceDuringACopy(usesChangeTable: Bool) throws {
        var (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, a text, b text)",
            "INSERT INTO public.t SELECT i, 'a' || i, 'b' || i FROM generate_series(1, 60) i")
        followed.usesChangeTable = usesChangeTable
        if usesChangeTable { try connection.execute(Follower.setup(followed.address, [TableChoice("t")])) }
        var options = FollowOptions()
        (options.address, options.tables) = (followed.address, [try TableChoice("t")])
        (options.rangeLength, options.endsWhenCurrent, options.usesChangeTable) = (7, true, usesChangeTable)
        let exchange =
            "ALTER TABLE public.t RENAME a TO q; ALTER TABLE public.t RENAME b TO a; ALTER TABLE public.t RENAME q TO b"
        var exchanges = 0
        let end = Date() + 60
        let follower = try Follower(storeAt: followed.store, options) {
            Date() > end
        } report: { event in
            guard case .copying(_, let rows) = event, rows == [7, 28][min(exchanges, 1)], exchanges < 2 else { return }
            exchanges += 1
            _ = try? connection.execute(exchange)
        }
        try follower.run()
        #expect(exchanges == 2)
        try requireEqual(followed, "t", "id", "a", "b")
        #expect(try followed.rows("t", key: "id")["60"]?["a"] == "a60")
    }

    /// While the table had another replica identity, a changed row was sent without its old key.
    @Test func aRowSentWithoutItsOldKeyIsCopiedAgain() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, other integer NOT NULL UNIQUE)",
            "INSERT INTO public.t SELECT i, i FROM generate_series(1, 9) i")
        try followed.follow(["t"])
        try connection.execute("ALTER TABLE public.t REPLICA IDENTITY USING INDEX t_other_key")
        try connection.execute("UPDATE public.t SET id = 100 WHERE id = 1")
        try connection.execute("ALTER TABLE public.t REPLICA IDENTITY DEFAULT")
        try followed.follow()
        try requireEqual(followed, "t", "id", "other")
        try connection.execute("UPDATE public.t SET id = 200 WHERE id = 2")
        #expect(try followed.follow() == ["+0 ~1 -0"])
    }

    @Test func zeroAndNegativeZeroAreOneKey() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id double precision PRIMARY KEY, v text)",
            "INSERT INTO public.t VALUES (0, 'a'), (2, 'b')")
        try followed.follow(["t"])
        try connection.execute("UPDATE public.t SET id = '-0', v = 'c' WHERE id = 0")
        try followed.follow()
        try connection.execute("BEGIN; DELETE FROM public.t WHERE id = 0; INSERT INTO public.t VALUES (0, 'd'); COMMIT")
        try connection.execute("UPDATE public.t SET id = '-0' WHERE id = 0")
        try followed.follow()
        #expect(try followed.rows("t", key: "id").values.compactMap { $0["v"] }.sorted() == ["b", "d"])
        try followed.check()
    }

    /// The given slot is older than the table's present columns: its older rows aren't written to the store. A slot
    /// that sends prepared transactions is refused.
    @Test func olderRowsOfAGivenSlotAreLeftOut() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, a text, b text); CREATE PUBLICATION mine FOR TABLE public.t",
            "INSERT INTO public.t SELECT i, 'a', 'b' FROM generate_series(1, 9) i")
        let slot = "slot_" + UUID().uuidString.prefix(8).lowercased()
        // Creating a slot waits for running transactions, including those of other tests.
        try connection.execute("SET lock_timeout = 0")
        try connection.execute("SELECT pg_create_logical_replication_slot('\(slot)', 'pgoutput')")
        try connection.execute("UPDATE public.t SET a = 'A' WHERE id = 1")
        try connection.execute(
            "ALTER TABLE public.t RENAME a TO q; ALTER TABLE public.t RENAME b TO a; ALTER TABLE public.t RENAME q TO b"
        )
        try followed.follow(["t"]) { ($0.slot, $0.publication) = (slot, "mine") }
        try requireEqual(followed, "t", "id", "a", "b")
        guard TestServer.hasTwoPhaseSlots else { return }
        try connection.execute("SELECT pg_create_logical_replication_slot('\(slot)_two', 'pgoutput', false, true)")
        let other = Followed(address: followed.address)
        let error = #expect(throws: SourceError.self) {
            try other.follow(["t"]) { ($0.slot, $0.publication) = (slot + "_two", "mine") }
        }
        #expect(error?.description.contains("prepared transactions") ?? false)
        for name in [slot, slot + "_two"] { try connection.dropSlot(name) }
    }

    /// After a change of an enumeration or composite type, the store's texts of arrays and composite values equal the
    /// source's.
    @Test(arguments: [false, true]) func enumerationsAndCompositesInsideOtherTypesMayChange(usesChangeTable: Bool)
        throws
    {
        var (followed, connection) = try Followed.database(
            "CREATE TYPE public.mood AS ENUM ('red', 'blue'); CREATE TYPE public.inner_pair AS (a integer, m public.mood); CREATE TYPE public.outer_pair AS (p public.inner_pair)",
            "CREATE TABLE public.t(id integer PRIMARY KEY, moods public.mood[], o public.outer_pair)",
            "INSERT INTO public.t VALUES (1, '{red}', ROW(ROW(1, 'red')))")
        followed.usesChangeTable = usesChangeTable
        if usesChangeTable { try connection.execute(Follower.setup(followed.address, [TableChoice("t")])) }
        try followed.follow(["t"]) { $0.tables[0].asText = ["moods"] }
        for change in [
            "ALTER TYPE public.mood RENAME VALUE 'red' TO 'rot'",
            "ALTER TYPE public.inner_pair ADD ATTRIBUTE c integer",
            "ALTER TYPE public.outer_pair ADD ATTRIBUTE c integer", "ALTER TYPE public.outer_pair DROP ATTRIBUTE c",
        ] {
            try connection.execute(change)
            try followed.follow()
            #expect(
                try followed.rows("t", key: "id")
                    == followed.sourceRows("public.t", key: "id", ["id": "id", "moods": "moods", "o": "o"]), "\(change)"
            )
        }
        try connection.execute("ALTER TYPE public.mood ADD VALUE 'green'")
        #expect(try followed.follow().allSatisfy { !$0.hasPrefix("copied") })
    }

    /// A commit that waits for a standby is sent before it is visible. A copy that becomes due must wait until the
    /// commit is visible.
    @Test(.enabled(if: TestServer.hasFilters)) func aCopyWaitsForInvisibleCommits() throws {
        let server = try TestServer()
        defer { server.stop() }
        let followed = Followed(address: server.address())
        let owner = try server.connection()
        try owner.execute("CREATE TABLE public.t(id integer PRIMARY KEY, v text, w integer)")
        try owner.execute("ALTER TABLE public.t ALTER v SET STORAGE EXTERNAL")
        try owner.execute("INSERT INTO public.t SELECT i, repeat('old', 2000), i FROM generate_series(1, 9) i")
        try followed.follow(["t"]) { $0.tables[0].condition = "id < 1000" }
        try owner.execute("ALTER TABLE public.t ADD c integer DEFAULT 7")
        try owner.execute("INSERT INTO public.t VALUES (2000, repeat('large', 2000), 1, 1)")
        try server.leaveWaiting([
            "UPDATE public.t SET w = 100 WHERE id = 1", "UPDATE public.t SET id = 10 WHERE id = 2000",
        ])
        server.endWaiting(after: 1_500_000)
        try followed.follow()
        let columns = ["id": "id", "v": "v", "w": "w", "c": "c"]
        #expect(try followed.rows("t", key: "id") == followed.sourceRows("public.t", key: "id", columns))
        #expect(try followed.rows("t", key: "id")["1"]?["w"] == "100")
        #expect(try followed.rows("t", key: "id").count == 10)
    }

    /// The stream sends rows of a table that isn't followed. Then this table gets the name of the followed table, whose
    /// name changes. The store must get the rows of the table that has the name now.
    @Test func theStoreGetsTheRowsOfATableRenamedToTheFollowedName() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, v integer); CREATE PUBLICATION mine FOR ALL TABLES")
        try followed.follow(["t"]) { $0.publication = "mine" }
        try connection.execute("CREATE TABLE public.new(id integer PRIMARY KEY, v integer)")
        try connection.execute("INSERT INTO public.new VALUES (1, 1); INSERT INTO public.t VALUES (9, 9)")
        var options = FollowOptions()
        options.recopiesWhenLost = true
        var step = 0
        let end = Date() + 60
        var follower: Follower? = try Follower(storeAt: followed.store, options) {
            step == 3 || Date() > end
        } report: { event in
            switch (event, step) {
            case (.transaction, 0):
                step = 1
                _ = try? connection.execute(
                    "BEGIN; ALTER TABLE public.t RENAME TO old; ALTER TABLE public.new RENAME TO t; COMMIT")
                _ = try? connection.execute("INSERT INTO public.t VALUES (2, 2)")
            case (.consistent, 1):
                step = 2
                _ = try? connection.execute(
                    "UPDATE public.t SET v = 8 WHERE id = 1; INSERT INTO public.t VALUES (3, 3)")
            case (.transaction(_, let counts, _), 2) where counts.changed > 0: step = 3
            default: break
            }
        }
        try follower?.run()
        follower = nil
        #expect(step == 3)
        try requireEqual(followed, "t", "id", "v")
        try followed.follow()
        try requireEqual(followed, "t", "id", "v")
    }
}
