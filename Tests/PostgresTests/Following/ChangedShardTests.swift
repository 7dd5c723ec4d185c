import FetchIndex
import FetchIndexPostgresSource
import Foundation
import Synchronization
import FetchIndexTestSupport
import Testing

/// Sources of one entity whose tables change, or whose rows move between them.
@Suite(.enabled(if: TestServer.isInstalled)) struct ChangedShardTests {
    /// Shards with the same tables, which a store follows.
    private static func shards(
        _ names: [String], _ tables: [String], _ sources: FollowedSources, _ commands: String
    ) throws -> [Connection] {
        try names.map { name in
            let address = try TestServer.shared().makeDatabase()
            let connection = try Connection(address)
            try connection.execute(commands)
            try sources.follow(name, address, tables)
            return connection
        }
    }

    private static let books = """
        CREATE TABLE public.genre(code text PRIMARY KEY, title text);
        CREATE TABLE public.book(id integer PRIMARY KEY, title text, genre text REFERENCES public.genre);
        INSERT INTO public.genre VALUES ('a', 'A'), ('b', 'B'), ('c', 'C');
        INSERT INTO public.book VALUES (1, 'one', 'a'), (2, 'two', 'b'), (3, 'three', 'c')
        """

    @Test func relationshipsFollowRenamedColumns() throws {
        let sources = FollowedSources()
        let shards = try Self.shards(["q", "r"], ["genre=Genre", "book=Book"], sources, Self.books)
        func titles() throws -> [String] {
            try sources.follow()
            try sources.followed.check()
            return try sources.rows("Book", ["shard", "id", "genre_object.title"]).map { $0[2] ?? "-" }
        }
        #expect(try titles() == ["A", "B", "C", "A", "B", "C"])
        try shards[0].execute(
            "ALTER TABLE public.book RENAME genre TO kind; UPDATE public.book SET kind = 'a' WHERE id = 2")
        #expect(try titles() == ["A", "A", "C", "A", "B", "C"])
        try shards[0].execute(
            "UPDATE public.book SET kind = 'c' WHERE id = 1; INSERT INTO public.genre VALUES ('d', 'D')")
        try shards[1].execute(
            "UPDATE public.book SET genre = 'c' WHERE id = 1; DELETE FROM public.book WHERE id = 3; DELETE FROM public.genre WHERE code = 'b' AND NOT EXISTS (SELECT FROM public.book WHERE genre = 'b')"
        )
        #expect(try titles() == ["C", "A", "C", "C", "B"])
        try shards[1].execute(
            "ALTER TABLE public.book RENAME genre TO kind; UPDATE public.book SET kind = 'a' WHERE id = 2")
        #expect(try titles() == ["C", "A", "C", "C", "A"])
        let model = try PersistentContainer(at: URL(fileURLWithPath: sources.followed.store)).model()
        #expect(model.entity(named: "Book")?.attributes.map(\.name) == ["shard", "id", "title", "kind"])
        // The links stay when the column goes.
        for shard in shards {
            try shard.execute("ALTER TABLE public.book DROP kind")
            #expect(try titles() == ["C", "A", "C", "C", "A"])
        }
    }

    /// All shards are altered before the follower looks, while it runs, or before it starts.
    @Test(arguments: [false, true]) func allShardsChangeAtOnce(isRunning: Bool) throws {
        for round in 0..<(TestSettings.isLong ? 10 : 1) {
            let sources = FollowedSources()
            let shards = try Self.shards(
                ["q", "r", "s"], ["item=Item"], sources,
                "CREATE TABLE public.item(id integer PRIMARY KEY, n integer); INSERT INTO public.item SELECT i, i FROM generate_series(1, 5) i"
            )
            let follower =
                isRunning ? try Child(Followed.executable, [sources.followed.store], errors: "/dev/null") : nil
            if isRunning { usleep(500_000) }
            for shard in shards {
                try shard.execute(
                    "ALTER TABLE public.item RENAME n TO number; UPDATE public.item SET number = 7 WHERE id = 3")
            }
            if isRunning { usleep(700_000) }
            follower?.interrupt()
            if let follower { #expect(follower.wait() == 0) }
            try sources.follow()
            try sources.followed.check()
            let model = try PersistentContainer(at: URL(fileURLWithPath: sources.followed.store)).model()
            #expect(model.entity(named: "Item")?.attributes.map(\.name) == ["shard", "id", "number"], "round \(round)")
            let numbers = try sources.rows("Item", ["shard", "id", "number"]).map { $0[2] }
            #expect(
                numbers
                    == Array(
                        [["1", "2", "7", "4", "5"], ["1", "2", "7", "4", "5"], ["1", "2", "7", "4", "5"]].joined()))
        }
    }

    @Test func typesChangeInOneShardAfterTheOther() throws {
        let sources = FollowedSources()
        let shards = try Self.shards(
            ["q", "r"], ["item=Item"], sources,
            "CREATE TABLE public.item(id integer PRIMARY KEY, n integer); INSERT INTO public.item VALUES (1, 5)")
        try shards[0].execute("ALTER TABLE public.item ALTER n TYPE text USING n || ' kg'")
        #expect(throws: SourceError.self) { try sources.follow() }
        let container = try PersistentContainer(at: URL(fileURLWithPath: sources.followed.store))
        var model = try container.model()
        let entity = try #require(model.entity(named: "Item"))
        let attributes = entity.attributes.map { $0.name == "n" ? AttributeDescription("n", .string) : $0 }
        model = Model(entities: [Entity("Item", attributes, unique: [["shard", "id"]])])
        try container.migrate(to: model)
        try sources.follow()
        #expect(try sources.rows("Item", ["shard", "id", "n"]).map { $0[2] } == ["5 kg", "5"])
        try shards[1].execute("ALTER TABLE public.item ADD note text; UPDATE public.item SET n = 6")
        try sources.follow()
        #expect(try sources.rows("Item", ["shard", "id", "n"]).map { $0[2] } == ["5 kg", "6"])
    }

    // MARK: Rows that move

    private static let items = "CREATE TABLE public.item(id integer PRIMARY KEY, note text)"

    /// The source that gets a row may be current before the one that loses it.
    @Test func movedRowsComeInOneRun() throws {
        let sources = FollowedSources(isInKey: false)
        let shards = try Self.shards(["a", "b", "c"], ["item=Item"], sources, Self.items)
        try shards[1].execute("INSERT INTO public.item SELECT i, 'b' FROM generate_series(1, 3000) i")
        try sources.follow()
        // The second shard has much to send before it sends the deletions.
        try shards[1].execute("INSERT INTO public.item SELECT i, 'b' FROM generate_series(10001, 30000) i")
        try shards[0].execute("INSERT INTO public.item SELECT i, 'a' FROM generate_series(1, 3000) i")
        try shards[1].execute("DELETE FROM public.item WHERE id <= 3000")
        try shards[2].execute("INSERT INTO public.item SELECT i, 'c' FROM generate_series(1, 100) i")
        try shards[0].execute("DELETE FROM public.item WHERE id <= 100")
        try sources.follow()
        let rows = try sources.rows("Item", ["id", "shard", "note"])
        #expect(rows.count == 23000)
        #expect(rows.prefix(3000).allSatisfy { $0[1] == (Int($0[0] ?? "") ?? 0 <= 100 ? "c" : "a") && $0[1] == $0[2] })
        try sources.followed.check()
    }

    /// A further attempt doesn't begin a copy anew.
    @Test func tablesAreCopiedAgainOnce() throws {
        let sources = FollowedSources(isInKey: false)
        let shards = try Self.shards(["a", "b"], ["item=Item"], sources, Self.items)
        for shard in shards { try shard.execute("INSERT INTO public.item VALUES (1, 'both')") }
        #expect(throws: SourceError.self) { try sources.follow { $0.recopies = true } }
        #expect(sources.copies.sorted() == ["a", "a", "b", "b"])
    }

    /// More rows than may be left out move while both sources are followed.
    @Test func manyRowsMoveWhileTheyAreFollowed() throws {
        let sources = FollowedSources(isInKey: false)
        let shards = try Self.shards(["a", "b"], ["item=Item"], sources, Self.items)
        try shards[0].execute("INSERT INTO public.item SELECT i, 'a' FROM generate_series(1, 4000) i")
        try sources.follow()
        let follower = try Child(Followed.executable, [sources.followed.store], errors: "/dev/null")
        defer { follower.interrupt() }
        usleep(500_000)
        try shards[1].execute("INSERT INTO public.item SELECT i, 'b' FROM generate_series(1, 4000) i")
        usleep(500_000)
        try shards[0].execute("DELETE FROM public.item")
        let end = Date() + 60
        while Date() < end, try sources.rows("Item", ["id", "shard"]).filter({ $0[1] == "b" }).count < 4000 {
            usleep(200_000)
        }
        #expect(Date() < end)
    }

    /// Rows of a source that isn't followed any more don't keep their keys.
    @Test func rowsOfAnEndedSourceAreTakenOver() throws {
        let sources = FollowedSources(isInKey: false)
        let shards = try Self.shards(["a", "b"], ["item=Item"], sources, Self.items)
        try shards[0].execute("INSERT INTO public.item SELECT i, 'a' FROM generate_series(1, 5) i")
        try sources.follow()
        _ = try Follower.end(storeAt: sources.followed.store, named: "a")
        try shards[1].execute("INSERT INTO public.item VALUES (1, 'b'), (2, 'b'); DELETE FROM public.item WHERE id = 2")
        try sources.follow()
        let rows = try sources.rows("Item", ["id", "shard", "note"]).map { $0.map { $0 ?? "-" }.joined(separator: " ") }
        #expect(rows == ["1 b b", "3 a a", "4 a a", "5 a a"])
        try sources.followed.check()
    }

    // MARK: Ends

    /// An interruption ends a follower with 0, also while a source can't be followed, and while a server hangs.
    @Test func anInterruptedFollowerEnds() throws {
        let sources = FollowedSources()
        let shards = try Self.shards(["a"], ["item=Item"], sources, Self.items)
        let server = try TestServer()
        defer { server.stop() }
        try server.run(Self.items)
        try sources.follow("b", server.address(), ["item=Item"])
        try shards[0].execute(
            "ALTER TABLE public.item RENAME TO other; CREATE TABLE public.item(id integer PRIMARY KEY)")
        let follower = try Child(Followed.executable, [sources.followed.store], errors: "/dev/null")
        usleep(1_500_000)
        let information = try PersistentContainer(at: URL(fileURLWithPath: sources.followed.store)).information()
        #expect(information.sources.map(\.isRunning) == [false, true])
        follower.interrupt()
        #expect(follower.wait() == 0)
    }
}
