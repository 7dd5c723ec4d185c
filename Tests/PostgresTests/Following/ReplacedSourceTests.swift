import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing

/// Another source answers under the address of the followed one: another server, a standby, a recreated table, or a
/// copy of the database.
@Suite(.enabled(if: TestServer.isInstalled)) struct ReplacedSourceTests {
    private static let table = "CREATE TABLE public.t(id integer PRIMARY KEY, a text, b text)"

    private func setUp(_ address: String) throws {
        try Connection(address).execute(Follower.setup(address, [TableChoice("t")]))
    }

    private func requireEqual(_ followed: Followed, _ columns: [String] = ["id", "a", "b"]) throws {
        let columns = Dictionary(uniqueKeysWithValues: columns.map { ($0, $0) })
        #expect(try followed.rows("t", key: "id") == followed.sourceRows("public.t", key: "id", columns))
        try followed.check()
    }

    /// Another server is refused until the user asks to copy all tables again. Rows that it lacks are then deleted, and
    /// equal rows aren't written.
    @Test(arguments: [false, true]) func anotherServerIsCopiedOnlyIfTheUserAsks(usesChangeTable: Bool) throws {
        let servers = try (0..<2).map { _ in try TestServer() }
        defer { for server in servers { server.stop() } }
        var followed = Followed(address: servers[0].address())
        followed.usesChangeTable = usesChangeTable
        // On the first server, column numbers have a gap after a dropped column.
        try servers[0].run("\(Self.table); ALTER TABLE public.t DROP a; ALTER TABLE public.t ADD a text")
        try servers[1].run(Self.table)
        for (number, server) in servers.enumerated() {
            if usesChangeTable { try setUp(server.address()) }
            try server.run(
                "INSERT INTO public.t(id, a, b) SELECT i, 'a' || i, 'b' FROM generate_series(\(10 * number), 20) i")
        }
        try followed.follow(["t"])
        try requireEqual(followed)
        servers[0].stop()
        try servers[1].takePlace(of: servers[0])
        let refused = #expect(throws: SourceError.self) { try followed.follow { $0.recopiesWhenLost = true } }
        #expect(refused?.kind == .refused)
        #expect(refused?.reason.hasSuffix("than the one that the store follows") ?? false)
        #expect(refused?.remedy == .copyAgainOrEnd)
        #expect(try followed.rows("t", key: "id").count == 21)
        let events = try followed.follow { $0.recopies = true }
        // The remaining rows are equal, so no row is written.
        #expect(events.contains("copied public.t: 0"), "\(events)")
        try requireEqual(followed)
        try servers[1].run("UPDATE public.t SET b = 'c' WHERE id = 15")
        #expect(try followed.follow() == ["+0 ~1 -0"])
        try requireEqual(followed)
    }

    /// A standby that was behind takes over: it has other transactions at positions that the store has followed.
    @Test func aStandbyThatLacksTransactionsIsNoticed() throws {
        let server = try TestServer()
        defer { server.stop() }
        let followed = Followed(address: server.address())
        try server.run("\(Self.table); INSERT INTO public.t VALUES (1, 'a', 'b')")
        try followed.follow(["t"])
        try server.keepFiles()
        try server.run("INSERT INTO public.t VALUES (2, 'a', 'b')")
        try followed.follow()
        try server.takeOver(withKeptFiles: true)
        try server.run("INSERT INTO public.t SELECT i, 'new', 'b' FROM generate_series(3, 2000) i")
        let error = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(
            error?.kind == .lost
                && error?.description.contains(
                    "the source's log is on another timeline, which continues the old one from 0/") ?? false,
            "\(String(describing: error))")
        try followed.follow { $0.recopiesWhenLost = true }
        try requireEqual(followed)
        // If a standby that has all transactions takes over, following goes on.
        for id in [5000, 5001] {
            try server.takeOver(withKeptFiles: false)
            try server.run("INSERT INTO public.t VALUES (\(id), 'a', 'b')")
            #expect(try followed.follow() == ["+1 ~0 -0"])
        }
        try requireEqual(followed)
    }

    @Test func aRecreatedTableIsMatchedByColumnNames() throws {
        let followed = Followed(address: try TestServer.shared().makeDatabase())
        let connection = try Connection(followed.address)
        try connection.execute(Self.table)
        try connection.execute("INSERT INTO public.t VALUES (1, 'a', 'b')")
        try followed.follow(["t"])
        for (table, columns) in [
            ("b text, a text, id integer PRIMARY KEY", ["id", "a", "b"]),
            ("id integer PRIMARY KEY, c integer, b text", ["id", "b", "c"]),
        ] {
            try connection.execute("DROP TABLE public.t; CREATE TABLE public.t(\(table))")
            try connection.execute("INSERT INTO public.t(id, b) VALUES (1, 'new'), (2, 'b')")
            #expect(throws: SourceError.self) { try followed.follow() }
            try followed.follow { $0.recopies = true }
            try requireEqual(followed, columns)
        }
    }

    /// A copy of the database takes its place. The copy's change table lacks the changes made since.
    @Test func aReplacedDatabaseIsNoticed() throws {
        let server = try TestServer.shared()
        var followed = Followed(address: try server.makeDatabase())
        followed.usesChangeTable = true
        try Connection(followed.address).execute(Self.table)
        try setUp(followed.address)
        let name = String(followed.address.split(separator: "/").last ?? "")
        try server.run("CREATE DATABASE \(name)_copy TEMPLATE \(name)")
        try Connection(followed.address).execute("INSERT INTO public.t VALUES (1, 'a', 'b')")
        try followed.follow(["t"])
        try server.run("ALTER DATABASE \(name) RENAME TO \(name)_old")
        try server.run("ALTER DATABASE \(name)_copy RENAME TO \(name)")
        let error = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(error?.kind == .lost && error?.description.hasPrefix("the source's database was replaced") ?? false)
        try followed.follow { $0.recopies = true }
        #expect(try followed.rows("t", key: "id").isEmpty)
        // The change table was dropped and made again.
        try Connection(followed.address).execute("DROP SCHEMA fetchindex CASCADE")
        try setUp(followed.address)
        try Connection(followed.address).execute("INSERT INTO public.t VALUES (2, 'a', 'b')")
        let other = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(other?.description.contains("has another change table") ?? false)
        try followed.follow { $0.recopies = true }
        try requireEqual(followed)
    }
}
