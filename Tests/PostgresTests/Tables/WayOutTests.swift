import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// Following goes on after errors and in other difficult situations.
@Suite(.enabled(if: TestServer.isInstalled)) struct WayOutTests {
    private func requireEqual(
        _ followed: Followed, _ columns: String..., table: String = "public.t",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let columns = Dictionary(uniqueKeysWithValues: columns.map { ($0, $0) })
        #expect(
            try followed.rows("t", key: "id") == followed.sourceRows(table, key: "id", columns),
            sourceLocation: sourceLocation)
        try followed.check()
    }

    private func refusal(_ followed: Followed, _ change: (inout FollowOptions) throws -> Void = { _ in }) -> String {
        #expect(throws: SourceError.self) { try followed.follow([], change) }?.description ?? ""
    }

    @Test(.enabled(if: TestServer.hasFilters)) func columnsInAConditionMayBeRenamed() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, v text, w text); ALTER TABLE public.t REPLICA IDENTITY FULL",
            "INSERT INTO public.t VALUES (1, 'a', 'q'), (2, 'q', 'a'), (3, 'a', 'q'), (4, 'q', 'a')")
        try followed.follow(["t"]) { $0.tables[0].condition = "v <> 'q'" }
        try requireEqual(followed, "id", "v", "w", table: "public.t WHERE v <> 'q'")
        try connection.execute(
            "ALTER TABLE public.t RENAME v TO x; ALTER TABLE public.t RENAME w TO v; ALTER TABLE public.t RENAME x TO w"
        )
        try followed.follow()
        try requireEqual(followed, "id", "v", "w", table: "public.t WHERE w <> 'q'")
        try connection.execute(
            "UPDATE public.t SET w = 'b' WHERE id = 1; DELETE FROM public.t WHERE id = 4; UPDATE public.t SET v = 'z' WHERE id = 2"
        )
        try followed.follow()
        try requireEqual(followed, "id", "v", "w", table: "public.t WHERE w <> 'q'")
        try connection.execute("ALTER TABLE public.t RENAME w TO old; ALTER TABLE public.t ADD w text DEFAULT 'q'")
        try connection.execute("INSERT INTO public.t VALUES (5, 'a', 'a', 'q'), (6, 'a', 'q', 'a')")
        for recopies in [false, true] {
            try followed.follow { ($0.recopies, $0.recopiesWhenLost) = (recopies, true) }
            try requireEqual(followed, "id", "old", "v", "w", table: "public.t WHERE old <> 'q'")
        }
    }

    /// For a change table, a condition isn't adapted to renamed columns.
    @Test func aConditionForAChangeTableIsRefusedAfterItsColumnWasRenamed() throws {
        var (followed, connection) = try Followed.database("CREATE TABLE public.t(id integer PRIMARY KEY, v text)")
        followed.usesChangeTable = true
        try connection.execute(Follower.setup(followed.address, [TableChoice("t")]))
        try followed.follow(["t"]) { $0.tables[0].condition = "v <> 'q'" }
        try connection.execute("ALTER TABLE public.t RENAME v TO w")
        for recopies in [false, true] {
            let text = refusal(followed) { $0.recopies = recopies }
            #expect(
                text.hasPrefix("public.t was changed, and its condition is not valid any more")
                    && text.hasSuffix("following must be ended, so that the store can follow anew"),
                "\(text)")
        }
    }

    /// The rows' commits were still waiting for a standby when an earlier follower stored the rows. A copy of a later
    /// follower must wait until the commits are visible.
    @Test func aCopyWaitsUntilCommitsThatAnEarlierFollowerReceivedAreVisible() throws {
        let server = try TestServer()
        defer { server.stop() }
        let followed = Followed(address: server.address())
        let owner = try server.connection()
        try owner.execute(
            "CREATE TYPE public.mood AS ENUM ('x', 'y'); CREATE TABLE public.t(id integer PRIMARY KEY, v public.mood)")
        try owner.execute("INSERT INTO public.t SELECT i, 'x' FROM generate_series(1, 5) i")
        try followed.follow(["t"])
        try server.leaveWaiting(["INSERT INTO public.t VALUES (100, 'y')", "DELETE FROM public.t WHERE id = 1"])
        try followed.follow()
        #expect(try followed.rows("t", key: "id").keys.sorted() == ["100", "2", "3", "4", "5"])
        // A new connection commits without the standby.
        try server.run("ALTER TYPE public.mood RENAME VALUE 'x' TO 'xx'")
        server.endWaiting(after: 1_500_000)
        #expect(try followed.follow().contains { $0.hasPrefix("copied public.t") })
        #expect(try followed.rows("t", key: "id").count == 5)
        try requireEqual(followed, "id", "v")
    }

    /// The first follower still waits for a transaction. The second one must not take this for an abandoned attempt.
    @Test func aSecondFollowerIsRefusedWhileTheFirstOneCreatesItsSlot() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY); CREATE TABLE public.u(id integer PRIMARY KEY)",
            "INSERT INTO public.t VALUES (1)")
        let other = try Connection(followed.address)
        try other.execute("BEGIN; SELECT pg_current_xact_id()")
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            _ = try? followed.follow(["t"])
            done.signal()
        }
        while try connection.value("SELECT count(*) FROM pg_replication_slots WHERE database = current_database()")
            == "0"
        {
            usleep(20_000)
        }
        let error = #expect(throws: SourceError.self) { try followed.follow(["u"]) }
        #expect(error?.description.hasPrefix("another process follows") ?? false)
        try other.execute("COMMIT")
        done.wait()
        try requireEqual(followed, "id")
    }

    /// The store waits for a position beyond the end of the source's log, as if the source had been restored to an
    /// earlier state.
    @Test func aRestoredSourceIsNoticed() throws {
        let (followed, _) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY); INSERT INTO public.t VALUES (1)")
        try followed.follow(["t"])
        do {
            let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
            let writer = try KeyedRowWriter(in: container, author: "test")
            var source = try #require(try container.followedSource(as: FollowedSource.self))
            source.tables[0].copy = .due(.again, after: LogPosition("FFFF/0"))
            try writer.setFollowedSource(source, named: source.name)
            try writer.commit()
        }
        #expect(refusal(followed).contains("before this store (FFFF/0)"))
        try followed.follow { $0.recopies = true }
        try requireEqual(followed, "id")
    }

    /// A slot stays in use for half a second, because its reader is still connected. `Follower.end` waits until the
    /// slot is free.
    @Test func endingWaitsForASlotInUse() throws {
        let (followed, connection) = try Followed.database("CREATE TABLE public.t(id integer PRIMARY KEY)")
        try followed.follow(["t"])
        let slot = try #require(
            try PersistentContainer(at: URL(fileURLWithPath: followed.store)).followedSource(as: FollowedSource.self)?
                .slot)
        let reader = try Connection(followed.address, isReplication: true)
        let address = followed.address
        // `execute` fails because it doesn't expect this result, but the stream stays open.
        _ = try? reader.execute(
            "START_REPLICATION SLOT \(slot) LOGICAL 0/0 (proto_version '1', publication_names '\(slot)')")
        try #require(
            try connection.value("SELECT active FROM pg_replication_slots WHERE slot_name = '\(slot)'") == "t")
        Thread.detachNewThread {
            usleep(500_000)
            _ = try? Connection(address).execute(
                "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '\(slot)'")
        }
        #expect(try Follower.end(storeAt: followed.store) == nil)
        #expect(try connection.value("SELECT count(*) FROM pg_replication_slots WHERE slot_name = '\(slot)'") == "0")
        withExtendedLifetime(reader) {}
    }

    /// By this record, a publication can still be dropped if the follower that created it was killed.
    @Test func thePublicationIsRecordedInTheStoreBeforeItIsCreated() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY)",
            "CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no publications'; END $$",
            "CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE PUBLICATION') EXECUTE FUNCTION public.refuse()"
        )
        #expect(refusal(followed) { $0.tables = [try TableChoice("t")] }.contains("no publications"))
        let source = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
            .followedSource(as: FollowedSource.self)
        #expect(source?.ownsPublication == true && source?.ownsSlot == true)
        try connection.execute("DROP EVENT TRIGGER refuse")
        try followed.follow(["t"])
        try requireEqual(followed, "id")
    }

    @Test func aLostGivenSlotMustBeDropped() throws {
        let server = try TestServer(["max_slot_wal_keep_size=1MB", "min_wal_size=32MB", "max_wal_size=32MB"])
        defer { server.stop() }
        let followed = Followed(address: server.address())
        try server.run("CREATE TABLE public.t(id integer PRIMARY KEY); CREATE PUBLICATION mine FOR ALL TABLES")
        try server.run("SELECT pg_create_logical_replication_slot('mine', 'pgoutput')")
        try followed.follow(["t"]) { ($0.slot, $0.publication) = ("mine", "mine") }
        for _ in 0..<4 { try server.run("SELECT pg_logical_emit_message(false, '', 'x'), pg_switch_wal()") }
        try server.run("CHECKPOINT")
        #expect(try server.run("SELECT wal_status FROM pg_replication_slots")[0][0] == "lost")
        try server.run("INSERT INTO public.t VALUES (1)")
        #expect(refusal(followed).hasSuffix("all tables must be copied again"))
        #expect(
            refusal(followed) { $0.recopies = true }.hasSuffix(
                "is lost; it must be dropped in the source before another one is made"))
        try server.connection().dropSlot("mine")
        try followed.follow { $0.recopies = true }
        try requireEqual(followed, "id")
    }

    /// The given slot is older than the publication, which the user or the follower creates.
    @Test(arguments: [nil, "mine"]) func aGivenSlotMayBeOlderThanThePublication(publication: String?) throws {
        let (followed, connection) = try Followed.database("CREATE TABLE public.t(id integer PRIMARY KEY)")
        let slot = "slot_" + UUID().uuidString.prefix(8).lowercased()
        // Creating a slot waits for running transactions, including those of other tests.
        try connection.execute("SET lock_timeout = 0")
        try connection.execute("SELECT pg_create_logical_replication_slot('\(slot)', 'pgoutput')")
        try connection.execute("INSERT INTO public.t VALUES (1)")
        if let publication { try connection.execute("CREATE PUBLICATION \(publication) FOR ALL TABLES") }
        try followed.follow(["t"]) { ($0.slot, $0.publication) = (slot, publication) }
        try connection.execute("INSERT INTO public.t VALUES (2)")
        #expect(try followed.follow() == ["+1 ~0 -0"])
        try requireEqual(followed, "id")
        try connection.dropSlot(slot)
    }

    /// A change that can't be followed is refused before the slot is dropped and before the store's model is changed.
    @Test(arguments: [
        (
            "ALTER TABLE public.t RENAME id TO x; ALTER TABLE public.t RENAME b TO id; ALTER TABLE public.t RENAME x TO b",
            "public.t.b, which identifies rows"
        ),
        ("ALTER TABLE public.t RENAME id TO x; ALTER TABLE public.t RENAME b TO id", "public.t."),
        ("ALTER TABLE public.t ALTER v TYPE integer USING 1", "has another type now"),
        ("ALTER TABLE public.t RENAME author_id TO author", "public.t.author has the name of a relationship of t"),
    ])
    func aRefusedChangeOfATableKeepsTheSlotAndTheModel(change: String, sentence: String) throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.author(id integer PRIMARY KEY)",
            "CREATE TABLE public.t(id integer PRIMARY KEY, b integer, v text, author_id integer REFERENCES public.author)",
            "INSERT INTO public.author VALUES (1); INSERT INTO public.t VALUES (1, 10, 'v', 1), (2, 20, 'v', 1)")
        try followed.follow(["t", "author"])
        let model = try PersistentContainer(at: URL(fileURLWithPath: followed.store)).model()
        let slot = "SELECT restart_lsn FROM pg_replication_slots WHERE database = current_database()"
        let before = try connection.value(slot)
        try connection.execute(change)
        try connection.execute("INSERT INTO public.author VALUES (2); UPDATE public.t SET v = DEFAULT")
        for recopies in [true, false] {
            let text = refusal(followed) { $0.recopies = recopies }
            #expect(text.contains(sentence), "\(text)")
        }
        #expect(try connection.value(slot) != nil && before != nil)
        #expect(try PersistentContainer(at: URL(fileURLWithPath: followed.store)).model() == model)
    }

    /// After the user has converted the attribute, the stream still sends values of the old type; following continues.
    @Test func followingContinuesAfterTheUserHasConvertedAnAttribute() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, v text); INSERT INTO public.t VALUES (1, '1')")
        try followed.follow(["t"])
        try connection.execute("UPDATE public.t SET v = 'abc'")
        try connection.execute("UPDATE public.t SET v = '7'; INSERT INTO public.t VALUES (2, '8')")
        try connection.execute("ALTER TABLE public.t ALTER v TYPE integer USING v::integer")
        #expect(refusal(followed).contains("t.v must be converted to integer before"))
        let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
        let entity = try #require(try container.model().entity(named: "t"))
        let attributes = entity.attributes.map { $0.name == "v" ? AttributeDescription("v", .integer) : $0 }
        _ = try PersistentContainer(
            at: URL(fileURLWithPath: followed.store),
            model: Model(entities: [Entity("t", attributes, unique: entity.uniqueAttributes)]), migration: .automatic)
        try followed.follow()
        try requireEqual(followed, "id", "v")
    }

    /// A follower that waits for a lock of a table can be interrupted.
    @Test func aLockedTableDoesNotKeepAFollowerFromEnding() throws {
        let (followed, connection) = try Followed.database("CREATE TABLE public.t(id integer PRIMARY KEY)")
        try followed.follow(["t"])
        try connection.execute("BEGIN; LOCK TABLE public.t IN ACCESS EXCLUSIVE MODE")
        let end = Date() + 0.5
        var options = FollowOptions()
        (options.recopies, options.endsWhenCurrent) = (true, true)
        try Follower(storeAt: followed.store, options, isInterrupted: { Date() > end }) { _ in }.run()
        try connection.execute("COMMIT")
        try followed.follow()
        try requireEqual(followed, "id")
    }

    @Test func columnsMayHaveCommasInTheirNames() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, \"a,b\" text, \"c\"\"d\" text); CREATE PUBLICATION mine FOR TABLE public.t",
            "INSERT INTO public.t VALUES (1, 'x', 'y')")
        try followed.follow(["t"]) { $0.publication = "mine" }
        try connection.execute("UPDATE public.t SET \"a,b\" = 'z'")
        try followed.follow()
        #expect(try followed.rows("t", key: "id") == ["1": ["id": "1", "a,b": "z", "c\"d": "y"]])
    }
}
