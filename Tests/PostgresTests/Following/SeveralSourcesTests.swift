import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing
import FetchIndexValues

/// Stores that follow several sources, which are databases of one server.
@Suite(.enabled(if: TestServer.isInstalled)) struct SeveralSourcesTests {
    /// Two shards with the same tables; only the first has countries that are followed.
    private static let tables = """
        CREATE TABLE public.country(code text PRIMARY KEY, title text);
        CREATE TABLE public.author(id integer PRIMARY KEY, name text);
        CREATE TABLE public.book(id integer PRIMARY KEY, title text, body text, price numeric,
            author_id integer REFERENCES public.author DEFERRABLE INITIALLY DEFERRED, country text REFERENCES public.country(code));
        ALTER TABLE public.book ALTER body SET STORAGE EXTERNAL;
        INSERT INTO public.country SELECT 'C' || i, 'Country ' || i FROM generate_series(1, 5) i;
        INSERT INTO public.author SELECT i, 'A' || i || current_database() FROM generate_series(1, 6) i;
        INSERT INTO public.book SELECT i, 'T' || i, repeat('x', 3000), i * 1.25, 1 + i % 6, 'C' || 1 + i % 5 FROM generate_series(1, 30) i
        """

    private static func random(_ range: Range<Int>, _ generator: inout SeededGenerator) -> Int {
        Int.random(in: range, using: &generator)
    }

    private static func transaction(_ generator: inout SeededGenerator) -> String {
        let (id, other) = (random(1..<40, &generator), random(1..<7, &generator))
        let commands = [
            "UPDATE public.book SET title = 'again' WHERE id = \(id); INSERT INTO public.book SELECT \(id), 'new', repeat('y', 2500), \(other).5, \(other), 'C1' WHERE NOT EXISTS (SELECT FROM public.book WHERE id = \(id))",
            "UPDATE public.book SET title = title || '+' WHERE id % 7 = \(other)",
            "UPDATE public.book SET id = id + 100 WHERE id = \(id)",
            "UPDATE public.book SET id = id - 100 WHERE id > 100 AND NOT EXISTS (SELECT FROM public.book b WHERE b.id = book.id - 100)",
            "UPDATE public.book SET author_id = \(other), country = 'C\(1 + id % 5)' WHERE id < \(id)",
            "DELETE FROM public.book WHERE id = \(id)",
            "UPDATE public.author SET name = name || '*' WHERE id = \(other)",
            "UPDATE public.book SET author_id = NULL WHERE author_id = \(other); DELETE FROM public.author WHERE id = \(other)",
            "INSERT INTO public.author VALUES (\(other), 'returned') ON CONFLICT DO NOTHING",
            "UPDATE public.country SET title = title || '!' WHERE code = 'C\(1 + id % 5)'",
        ]
        let count = random(1..<5, &generator)
        return (0..<count).map { _ in commands[random(0..<commands.count, &generator)] }.joined(separator: "; ")
    }

    /// The expected rows, sorted: shard, id, title, digest of the body, price, name of the author, title of the country.
    private func expected(_ shards: [(name: String, connection: Connection)]) throws -> [[String?]] {
        let countries = try shards[0].connection.execute("SELECT code, title FROM public.country", columns: 2)
        let titles = Dictionary(uniqueKeysWithValues: countries.map { ($0[0] ?? "", $0[1]) })
        return try shards.flatMap { shard in
            try shard.connection.execute(
                """
                SELECT b.id::text, b.title, length(b.body)::text, trim_scale(b.price)::text, a.name, b.country
                FROM public.book b LEFT JOIN public.author a ON a.id = b.author_id
                """, columns: 6
            ).map { (row: [String?]) -> [String?] in
                var row = row
                row[5] = row[5].flatMap { titles[$0] ?? nil }
                return [shard.name] + row
            }
        }.sorted { "\($0)" < "\($1)" }
    }

    private func stored(_ sources: FollowedSources) throws -> [[String?]] {
        try sources.followed.check()
        var rows = try sources.rows(
            "Book", ["shard", "id", "title", "body", "price", "author.name", "country_object.title"])
        for index in rows.indices { rows[index][3] = rows[index][3].map { "\($0.utf8.count)" } }
        return rows.sorted { "\($0)" < "\($1)" }
    }

    private static let choices = ["country=Country", "author=Author", "book=Book"]

    /// Random transactions in all shards, while the follower is started again and again.
    @Test(arguments: [false, true], [1, 2] as [UInt64]) func randomTransactions(
        usesChangeTable: Bool, seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed &+ TestSettings.seed)
        let sources = FollowedSources()
        var shards: [(name: String, connection: Connection)] = []
        for name in ["east", "north", "west"] {
            let address = try TestServer.shared().makeDatabase()
            let connection = try Connection(address)
            try connection.execute(Self.tables)
            if usesChangeTable {
                try connection.execute(Follower.setup(address, Self.choices.map { try TableChoice($0) }))
            }
            shards.append((name, connection))
            try sources.follow(name, address, name == "east" ? Self.choices : Array(Self.choices[1...])) { options in
                options.usesChangeTable = usesChangeTable
            }
            #expect(try stored(sources) == expected(shards), "seed \(seed): \(name)")
        }
        let information = try PersistentContainer(at: URL(fileURLWithPath: sources.followed.store)).information()
        #expect(information.sources.map(\.name) == ["east", "north", "west"])
        for round in 0..<12 {
            for shard in shards where Bool.random(using: &generator) {
                do { try shard.connection.execute("BEGIN; \(Self.transaction(&generator)); COMMIT") } catch let error
                    as SourceError where ["23503", "23505"].contains(error.code)
                {
                    // A foreign key would name a missing row, or two rows would have one key.
                    _ = try? shard.connection.execute("ROLLBACK")
                }
            }
            if round == 9 { try shards[1].connection.execute("TRUNCATE public.book") }
            try sources.follow { options in
                if round == 5 { options.recopies = true }
                if round == 10 { (options.name, options.recopies) = ("west", true) }
            }
            #expect(try stored(sources) == expected(shards), "seed \(seed), round \(round)")
        }
    }

    /// Columns that are added, renamed and dropped in one shard after the other.
    @Test func columnsChangeInOneShardAfterTheOther() throws {
        let sources = FollowedSources()
        var shards: [Connection] = []
        for name in ["a", "b"] {
            let address = try TestServer.shared().makeDatabase()
            let connection = try Connection(address)
            try connection.execute(
                "CREATE TABLE public.item(id integer PRIMARY KEY, note text); INSERT INTO public.item SELECT i, 'n' || i FROM generate_series(1, 3) i"
            )
            shards.append(connection)
            try sources.follow(name, address, ["item=Item"])
        }
        func rows(_ columns: String...) throws -> [[String?]] {
            try sources.follow()
            try sources.followed.check()
            return try sources.rows("Item", ["shard", "id"] + columns)
        }
        func expectation(_ a: (Int) -> [String?], _ b: (Int) -> [String?]) -> [[String?]] {
            (1...3).map { ["a", "\($0)"] + a($0) } + (1...3).map { ["b", "\($0)"] + b($0) }
        }
        #expect(try rows("note") == expectation({ ["n\($0)"] }, { ["n\($0)"] }))
        try shards[0].execute("ALTER TABLE public.item ADD size integer; UPDATE public.item SET size = id * 10")
        #expect(try rows("note", "size") == expectation({ ["n\($0)", "\($0 * 10)"] }, { ["n\($0)", nil] }))
        try shards[1].execute("ALTER TABLE public.item ADD size integer DEFAULT 7")
        #expect(try rows("note", "size") == expectation({ ["n\($0)", "\($0 * 10)"] }, { ["n\($0)", "7"] }))
        try shards[0].execute("ALTER TABLE public.item RENAME note TO remark")
        #expect(try rows("note", "remark") == expectation({ [nil, "n\($0)"] }, { ["n\($0)", nil] }))
        try shards[1].execute("ALTER TABLE public.item RENAME note TO remark; UPDATE public.item SET remark = 'new'")
        #expect(try rows("remark") == expectation({ ["n\($0)"] }, { _ in ["new"] }))
        let model = try PersistentContainer(at: URL(fileURLWithPath: sources.followed.store)).model()
        #expect(model.entity(named: "Item")?.attributes.map(\.name) == ["shard", "id", "size", "remark"])
        try shards[0].execute("ALTER TABLE public.item DROP size")
        #expect(try rows("size") == expectation({ _ in [nil] }, { _ in ["7"] }))
        // Text may be any type, but a number can't be text.
        try shards[0].execute("ALTER TABLE public.item ADD shard text, ADD price numeric, ADD code text")
        try sources.follow()
        try shards[1].execute("ALTER TABLE public.item ADD code integer; UPDATE public.item SET code = 5")
        #expect(try rows("code") == expectation({ _ in [nil] }, { _ in ["5"] }))
        try shards[1].execute("ALTER TABLE public.item ADD price text; UPDATE public.item SET price = '1'")
        let error = #expect(throws: SourceError.self) { try sources.follow() }
        #expect(error?.reason == "1 of 2 sources cannot be followed: b", "\(error?.reason ?? "")")
    }

    /// With keys of which each is in one source, a row waits while another source has its key.
    @Test(arguments: [false, true]) func aKeyIsInOneSource(usesChangeTable: Bool) throws {
        let sources = FollowedSources(isInKey: false)
        var shards: [Connection] = []
        for name in ["a", "b"] {
            let address = try TestServer.shared().makeDatabase()
            let connection = try Connection(address)
            let start = name == "a" ? 0 : 10
            try connection.execute(
                """
                CREATE TABLE public.item(id numeric PRIMARY KEY, note text);
                INSERT INTO public.item SELECT i, '\(name)' || i FROM generate_series(\(start), \(start + 9)) i
                """)
            if usesChangeTable { try connection.execute(Follower.setup(address, [TableChoice("item=Item")])) }
            if name == "b" { try connection.execute("INSERT INTO public.item VALUES (3.00, 'b3')") }
            shards.append(connection)
            if name == "a" {
                try sources.follow(name, address, ["item=Item"]) { $0.usesChangeTable = usesChangeTable }
            } else {
                let error = #expect(throws: SourceError.self) {
                    try sources.follow(name, address, ["item=Item"]) { $0.usesChangeTable = usesChangeTable }
                }
                #expect(error?.reason == "rows are left out of: b")
                #expect(
                    sources.failures.last
                        == "b: public.item: the source a has a row with the key 3.00, too; the row must be deleted in all sources but one"
                )
            }
        }
        func rows() throws -> [String: String?] {
            try sources.followed.check()
            let rows = try sources.rows("Item", ["id", "shard", "note"])
            return Dictionary(uniqueKeysWithValues: rows.map { ($0[0] ?? "", "\($0[1] ?? "") \($0[2] ?? "")") })
        }
        #expect(try rows()["3"] == "a a3")
        #expect(try rows().count == 20)
        // What the other source does with its row changes nothing.
        try shards[1].execute("UPDATE public.item SET note = 'later' WHERE id = 3")
        try shards[1].execute("UPDATE public.item SET id = 4.0 WHERE id = 3")
        #expect(throws: SourceError.self) { try sources.follow() }
        #expect(try rows()["3"] == "a a3")
        #expect(try rows()["4"] == "a a4")
        try shards[1].execute("DELETE FROM public.item WHERE id = 4")
        try sources.follow()
        #expect(try rows().count == 20)
        // A row moves: it is inserted before it is deleted.
        try shards[1].execute("INSERT INTO public.item VALUES (5, 'moved')")
        #expect(throws: SourceError.self) { try sources.follow() }
        #expect(try rows()["5"] == "a a5")
        try shards[0].execute("DELETE FROM public.item WHERE id = 5")
        // The sources are followed at the same time: one may still see the other's row.
        try? sources.follow()
        try sources.follow()
        #expect(try rows()["5"] == "b moved")
        // A truncated table, and a copy over its rows, leave the other source's rows.
        try shards[0].execute("TRUNCATE public.item; INSERT INTO public.item VALUES (1, 'again')")
        try sources.follow()
        try sources.follow { ($0.name, $0.recopies) = ("b", true) }
        #expect(try rows().filter { $0.value?.hasPrefix("a") ?? false } == ["1": "a again"])
        #expect(try rows().count == 12)
    }

    /// A source may end, and be followed again.
    @Test func aSourceEndsAndReturns() throws {
        let sources = FollowedSources()
        var shards: [Connection] = []
        var addresses: [String] = []
        for name in ["a", "b"] {
            addresses.append(try TestServer.shared().makeDatabase())
            shards.append(try Connection(addresses[addresses.count - 1]))
            try shards[shards.count - 1].execute(
                "CREATE TABLE public.item(id integer PRIMARY KEY, note text); INSERT INTO public.item SELECT i, 'n' FROM generate_series(1, 3) i"
            )
            try sources.follow(name, addresses[addresses.count - 1], ["item=Item"])
        }
        let store = sources.followed.store
        #expect(try Follower.end(storeAt: store, named: "a") == nil)
        #expect(
            try shards[0].value("SELECT count(*) FROM pg_replication_slots WHERE database = current_database()") == "0")
        try shards[0].execute("DELETE FROM public.item WHERE id = 1; INSERT INTO public.item VALUES (9, 'n')")
        try shards[1].execute("DELETE FROM public.item WHERE id = 2")
        try sources.follow()
        #expect(
            try sources.rows("Item", ["shard", "id"]).map { $0.map { $0 ?? "" }.joined() } == [
                "a1", "a2", "a3", "b1", "b3",
            ])
        try sources.follow("a", addresses[0], ["item=Item"])
        #expect(
            try sources.rows("Item", ["shard", "id"]).map { $0.map { $0 ?? "" }.joined() } == [
                "a2", "a3", "a9", "b1", "b3",
            ])
        try sources.followed.check()
    }

    /// Writers change two shards, while the process that follows both is killed again and again.
    @Test func aNewProcessContinuesWhereAKilledOneStopped() throws {
        let seed = 21 &+ TestSettings.seed
        var random = SeededGenerator(seed: seed)
        let sources = FollowedSources()
        var shards: [(name: String, address: String, traffic: Traffic)] = []
        defer { for shard in shards { shard.traffic.letEnd() } }
        for name in ["east", "west"] {
            let address = try TestServer.shared().makeDatabase()
            let connection = try Connection(address)
            for command in Traffic.tables { try connection.execute(command) }
            shards.append((name, address, Traffic(address, writers: 2, seed: seed &+ UInt64(shards.count * 100))))
            try sources.follow(name, address, ["books=Book", "notes=Note"])
        }
        for _ in 0..<(TestSettings.isLong ? 100 : 10) {
            let follower = try Child(Followed.executable, [sources.followed.store], errors: "/dev/null")
            usleep(UInt32.random(in: 20_000...800_000, using: &random))
            follower.killAtOnce()
            _ = follower.wait()
        }
        for shard in shards { try shard.traffic.stop() }
        try sources.follow()
        try sources.followed.check()
        var (books, notes): ([[String?]], [[String?]]) = ([], [])
        for shard in shards {
            let connection = try Connection(shard.address)
            books += try connection.execute(
                "SELECT '\(shard.name)', id::text, title, publisher, trim_scale(price)::text, body FROM public.books ORDER BY id",
                columns: 6)
            notes += try connection.execute(
                "SELECT '\(shard.name)', code, book::text FROM public.notes ORDER BY code COLLATE \"C\"", columns: 3)
        }
        let stored = try sources.rows("Book", ["shard", "id", "title", "publisher", "price", "body"])
        let different = Set(stored).symmetricDifference(books).map { "\($0.map { "\($0?.prefix(40) ?? "-")" })" }
        #expect(different.isEmpty && stored.count == books.count, "seed \(seed): \(different.prefix(10))")
        let found = try sources.rows("Note", ["shard", "code", "book"])
        #expect(Set(found) == Set(notes) && found.count == notes.count, "seed \(seed)")
    }
}
