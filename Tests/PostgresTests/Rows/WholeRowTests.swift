import FetchIndex
import FetchIndexPostgresSource
import Foundation
import FetchIndexTestSupport
import Testing

/// Tables without a key, whose old rows the source sends as a whole.
@Suite(.enabled(if: TestServer.isInstalled)) struct WholeRowTests {
    private static let tables = """
        CREATE TABLE public.visit(page text, size integer, body text, at timestamptz);
        ALTER TABLE public.visit REPLICA IDENTITY FULL, ALTER body SET STORAGE EXTERNAL;
        INSERT INTO public.visit SELECT 'p' || i % 5, i % 3, CASE WHEN i % 4 > 0 THEN repeat('x', 1000 * (i % 4)) END FROM generate_series(1, 40) i
        """

    @Sendable private static func transaction(_ generator: inout SeededGenerator) -> String {
        func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
        let commands = (0..<number(1..<5)).map { _ -> String in
            let (page, size) = ("'p\(number(0..<6))'", number(0..<4))
            return [
                "INSERT INTO public.visit VALUES (\(page), \(size), repeat('x', \(1000 * size)))",
                "INSERT INTO public.visit SELECT * FROM public.visit WHERE page = \(page) LIMIT 3",
                "INSERT INTO public.visit VALUES (NULL, NULL, '', '2024-01-01 00:00:00.5Z')",
                "UPDATE public.visit SET size = \(size) WHERE page = \(page)",
                "UPDATE public.visit SET page = \(page) WHERE size = \(size)",
                "UPDATE public.visit SET body = repeat('y', 2500) WHERE ctid = (SELECT min(ctid) FROM public.visit)",
                "DELETE FROM public.visit WHERE ctid = (SELECT max(ctid) FROM public.visit)",
                "DELETE FROM public.visit WHERE ctid IN (SELECT ctid FROM public.visit WHERE page = \(page) LIMIT 2)",
                number(0..<10) == 0 ? "TRUNCATE public.visit" : "SELECT 1",
            ][number(0..<9)]
        }
        return "BEGIN; \(commands.joined(separator: "; ")); COMMIT"
    }

    private func requireEqual(
        _ followed: Followed, _ connection: Connection, _ columns: [String] = ["page", "size", "body"],
        comment: String
    ) throws {
        try followed.check()
        var stored: [[String?]: Int] = [:]
        for row in try followed.values("Visit", columns + ["rowCount"], sortedBy: ["rowDigest"]) {
            stored[row.dropLast(), default: 0] += Int((row.last ?? nil) ?? "") ?? 0
        }
        var expected: [[String?]: Int] = [:]
        let names = columns.map { $0 + "::text" }.joined(separator: ", ")
        for row in try connection.execute("SELECT \(names) FROM public.visit", columns: columns.count) {
            expected[row, default: 0] += 1
        }
        #expect(stored == expected, "\(comment)")
    }

    /// Random transactions with equal rows, also while the table is copied.
    @Test(arguments: TestSettings.isLong ? [1, 2, 3, 4] : [1, 2] as [UInt64]) func randomTransactions(
        seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed &+ TestSettings.seed)
        let (followed, connection) = try Followed.database(Self.tables)
        for round in 0..<9 {
            if round % 4 == 0 {
                let writerSeed = (seed &+ TestSettings.seed) &* 100 &+ UInt64(round)
                try followed.whileWriting(2, seed: writerSeed, Self.transaction) {
                    try followed.follow(round == 0 ? ["visit=Visit"] : []) { $0.recopies = round > 0 }
                }
            }
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                try connection.execute(Self.transaction(&generator))
            }
            try followed.follow()
            try requireEqual(followed, connection, comment: "seed \(seed), round \(round)")
        }
    }

    @Test func columnsMayChange() throws {
        let (followed, connection) = try Followed.database(Self.tables, "CREATE TABLE public.page(id text PRIMARY KEY)")
        try followed.follow(["page"])
        try followed.follow(["visit=Visit"])
        try requireEqual(followed, connection, comment: "added")
        try connection.execute(
            "ALTER TABLE public.visit ADD note text; UPDATE public.visit SET note = 'n' WHERE size = 1; INSERT INTO public.visit SELECT * FROM public.visit WHERE size = 2"
        )
        try followed.follow()
        try requireEqual(followed, connection, ["page", "size", "note"], comment: "another column")
        try connection.execute(
            "ALTER TABLE public.visit RENAME size TO length; DELETE FROM public.visit WHERE length = 0")
        try connection.execute(
            "ALTER TABLE public.visit DROP body, ADD \"rowCount\" integer DEFAULT 3, ADD size integer")
        try followed.follow()
        try requireEqual(followed, connection, ["page", "note"], comment: "columns that others go")
        try connection.execute("ALTER TABLE public.visit REPLICA IDENTITY DEFAULT")
        let error = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(
            error?.reason.hasSuffix("ALTER TABLE \"public\".\"visit\" REPLICA IDENTITY FULL") == true,
            "\(String(describing: error))")
    }

    @Test func whatNeedsAKeyIsRefused() throws {
        let (followed, connection) = try Followed.database(Self.tables)
        func refusal(_ change: (inout FollowOptions) throws -> Void) -> String {
            let error = #expect(throws: SourceError.self) { try followed.follow(["visit=Visit"], change) }
            return error?.reason ?? ""
        }
        #expect(refusal { $0.tables[0].condition = "size > 1" }.hasPrefix("a condition for public.visit needs a key"))
        #expect(refusal { $0.tables[0].key = ["page"] }.hasPrefix("page cannot be the key of public.visit"))
        let error = #expect(throws: SourceError.self) {
            _ = try Follower.setup(followed.address, [TableChoice("visit")])
        }
        #expect(error?.reason == "public.visit has no primary key")
        try connection.execute("ALTER TABLE public.visit REPLICA IDENTITY DEFAULT")
        #expect(refusal { _ in } == "public.visit has no primary key")
    }

    /// The text of a value changes with the name of a table, without a change of the row.
    @Test func aRowThatTheStoreLacksIsNoticed() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.other(x integer); CREATE TABLE public.visit(size integer, kind regclass)",
            "ALTER TABLE public.visit REPLICA IDENTITY FULL; INSERT INTO public.visit VALUES (1, 'public.other'), (2, 'public.other')"
        )
        try followed.follow(["visit=Visit"])
        try connection.execute("ALTER TABLE public.other RENAME TO renamed; DELETE FROM public.visit WHERE size = 1")
        let events = try followed.follow()
        #expect(
            events.contains(
                "warning: the store lacks a row of public.visit that has changed: the table is copied again"))
        try requireEqual(followed, connection, ["size", "kind"], comment: "renamed")
    }

    /// Columns that the source computes don't keep it from changing rows.
    @Test func computedColumnsAreLeftOut() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.visit(size integer, double integer GENERATED ALWAYS AS (size * 2) STORED)",
            "ALTER TABLE public.visit REPLICA IDENTITY FULL; INSERT INTO public.visit VALUES (1), (1), (2)")
        try followed.follow(["visit=Visit"])
        try connection.execute(
            "UPDATE public.visit SET size = 3 WHERE size = 2; DELETE FROM public.visit WHERE size = 3")
        try followed.follow()
        try requireEqual(followed, connection, ["size"], comment: "computed")
    }

    /// A foreign key to a table without a key doesn't become a relationship, and such a table can't get a key.
    @Test func wholeRowsAreNotNamed() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.page(code text UNIQUE, n integer); ALTER TABLE public.page REPLICA IDENTITY FULL",
            "CREATE TABLE public.visit(id integer PRIMARY KEY, code text REFERENCES public.page(code))")
        try followed.follow(["page=Page", "visit=Visit"])
        let model = try PersistentContainer(at: URL(fileURLWithPath: followed.store)).model()
        #expect(model.entity(named: "Visit")?.relationships.isEmpty == true)
        try connection.execute("ALTER TABLE public.page ALTER code SET NOT NULL")
        let error = #expect(throws: SourceError.self) {
            try followed.follow(["page=Page"]) { $0.tables[0].key = ["code"] }
        }
        #expect(error?.reason == "the store follows public.page=Page by whole rows")
    }

    @Test(arguments: ["10:20:12,15", "4294967306:4294967316:4294967308,4294967311"])
    func aSnapshotShowsTransactionsThatHadCommitted(text: String) throws {
        let snapshot = try #require(SourceSnapshot(text))
        #expect([5, 10, 11, 13, 19].allSatisfy { snapshot.shows($0) })
        #expect(![12, 15, 20, 21].contains { snapshot.shows($0) })
        #expect(snapshot.shows(4_294_967_290))
        #expect(SourceSnapshot("10:20") == nil && SourceSnapshot("a:b:") == nil)
    }
}
