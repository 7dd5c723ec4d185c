import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing
import FetchIndexValues

/// Tables whose rows are identified by several columns together.
@Suite(.enabled(if: TestServer.isInstalled)) struct CompositeKeyTests {
    private static let tables = [
        "CREATE TABLE public.orders(shop text, number integer, note text, PRIMARY KEY (shop, number))",
        """
        CREATE TABLE public.lines(line integer, number integer, shop text, amount numeric, body text,
            PRIMARY KEY (number, line, shop), FOREIGN KEY (number, shop) REFERENCES public.orders(number, shop)
            ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED)
        """,
        "ALTER TABLE public.lines ALTER body SET STORAGE EXTERNAL",
    ]

    /// The rows of an entity as texts, in sorted order; the last text is the note of the related order.
    private func stored(_ followed: Followed, _ entity: String, _ columns: [String]) throws -> [[String?]] {
        sorted(try followed.values(entity, columns, sortedBy: ["number"]))
    }

    private func sorted(_ rows: [[String?]]) -> [[String?]] { rows.sorted { "\($0)" < "\($1)" } }

    private func requireEqual(_ followed: Followed, _ connection: Connection, _ comment: String) throws {
        let orders = try connection.execute("SELECT shop, number::text, note FROM public.orders")
        #expect(try stored(followed, "Order", ["shop", "number", "note"]) == sorted(orders), "\(comment)")
        let lines = try connection.execute(
            """
            SELECT l.shop, l.number::text, l.line::text, trim_scale(l.amount)::text, md5(l.body), o.note
            FROM public.lines l LEFT JOIN public.orders o ON o.shop = l.shop AND o.number = l.number
            """)
        var found = try stored(followed, "lines", ["shop", "number", "line", "amount", "body", "order.note"])
        let digests = try found.map { row in
            try row[4].map { try connection.value("SELECT md5($1)", [$0]) } ?? nil
        }
        for index in found.indices { found[index][4] = digests[index] }
        #expect(sorted(found) == sorted(lines), "\(comment)")
        try followed.check()
    }

    /// Random transactions, with keys that change and rows that exchange their keys, against the source.
    @Test(arguments: [false, true], [1, 2] as [UInt64]) func randomTransactions(
        usesChangeTable: Bool, seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed)
        var (followed, connection) = try Followed.database()
        followed.usesChangeTable = usesChangeTable
        for command in Self.tables { try connection.execute(command) }
        func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
        func shop() -> String { ["'a'", "'b,c'", "'d\"e'", "'{x}'", "'NULL'"][number(0..<5)] }
        try connection.execute(
            """
            INSERT INTO public.orders SELECT s, i, s || i FROM generate_series(1, 9) i, unnest(ARRAY['a', 'b,c', 'd"e', '{x}', 'NULL']) s;
            INSERT INTO public.lines SELECT l, i, s, l * 1.50, repeat('x', 3000) FROM generate_series(1, 9) i,
                unnest(ARRAY['a', 'b,c', 'd"e']) s, generate_series(1, 3) l
            """)
        if usesChangeTable {
            let setup = try Follower.setup(
                followed.address, [TableChoice("orders=Order"), TableChoice("lines")])
            try connection.execute(setup)
        }
        try followed.follow(["orders=Order", "lines"])
        try requireEqual(followed, connection, "the first copy")
        for round in 0..<12 {
            var commands: [String] = []
            for _ in 0..<number(1..<6) {
                let (order, line) = (number(1..<12), number(1..<5))
                commands.append(
                    [
                        "INSERT INTO public.orders VALUES (\(shop()), \(order), 'new \(round)') ON CONFLICT DO NOTHING",
                        "UPDATE public.orders SET note = note || '+' WHERE number = \(order)",
                        "UPDATE public.orders SET number = number + 20 WHERE shop = \(shop()) AND number = \(order)",
                        "UPDATE public.orders SET number = number - 20 WHERE number > 20 AND NOT EXISTS (SELECT FROM public.orders o WHERE o.shop = orders.shop AND o.number = orders.number - 20)",
                        "DELETE FROM public.orders WHERE shop = \(shop()) AND number = \(order)",
                        "INSERT INTO public.lines SELECT \(line), o.number, o.shop, \(round), repeat('y', 2500) FROM public.orders o WHERE o.number = \(order) ON CONFLICT DO NOTHING",
                        "UPDATE public.lines SET amount = amount + 1 WHERE line = \(line)",
                        "UPDATE public.lines SET line = line + 10 WHERE number = \(order) AND line < 10",
                        "UPDATE public.lines SET line = line - 10 WHERE number = \(order) AND line > 10 AND NOT EXISTS (SELECT FROM public.lines l WHERE l.number = lines.number AND l.shop = lines.shop AND l.line = lines.line - 10)",
                        "DELETE FROM public.lines WHERE number = \(order) AND line = \(line)",
                    ][number(0..<10)])
            }
            if round == 7 { commands = ["TRUNCATE public.lines"] }
            try connection.execute("BEGIN; " + commands.joined(separator: "; ") + "; COMMIT")
            try followed.follow()
            try requireEqual(followed, connection, "seed \(seed), round \(round): \(commands)")
        }
        // A column of the key is renamed, and all rows are copied again.
        if !usesChangeTable {
            try connection.execute("ALTER TABLE public.lines RENAME line TO place")
            try connection.execute("UPDATE public.lines SET place = place + 100")
            try followed.follow()
            try connection.execute("ALTER TABLE public.lines RENAME place TO line")
            try connection.execute("UPDATE public.lines SET line = line - 100")
            try followed.follow()
            try requireEqual(followed, connection, "seed \(seed): renamed")
            try followed.follow { $0.recopies = true }
            try requireEqual(followed, connection, "seed \(seed): copied again")
        }
    }

    @Test func aKeyOfSeveralColumnsMustBeUniqueAndWhole() throws {
        let (followed, _) = try Followed.database(
            "CREATE TABLE public.t(a integer NOT NULL, b integer NOT NULL, c integer, UNIQUE (b, a), UNIQUE (a, c))")
        func refusal(_ key: [String]) -> String {
            let error = #expect(throws: SourceError.self) { try followed.follow(["t"]) { $0.tables[0].key = key } }
            return error?.reason ?? ""
        }
        #expect(
            refusal(["a", "c"]).hasPrefix(
                "a, c cannot be the key of public.t: it needs to be NOT NULL and to have a unique index"))
        #expect(refusal(["a", "c"]).hasSuffix("ALTER TABLE \"public\".\"t\" ALTER \"c\" SET NOT NULL"))
        #expect(refusal(["a"]).hasSuffix("ALTER TABLE \"public\".\"t\" ADD UNIQUE (\"a\")"))
        #expect(refusal(["a", "x"]) == "public.t has no column x")
        #expect(refusal(["a", "b"]).hasSuffix("REPLICA IDENTITY USING INDEX \"t_b_a_key\""))
    }

    /// Rows of a join table are links of two other tables.
    @Test func aJoinTableRelatesBothSides() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.film(id integer PRIMARY KEY, title text)",
            "CREATE TABLE public.actor(id integer PRIMARY KEY, name text)",
            "CREATE TABLE public.film_actor(film_id integer REFERENCES public.film, actor_id integer REFERENCES public.actor, PRIMARY KEY (film_id, actor_id))",
            "INSERT INTO public.film SELECT i, 'F' || i FROM generate_series(1, 6) i",
            "INSERT INTO public.actor SELECT i, 'A' || i FROM generate_series(1, 4) i",
            "INSERT INTO public.film_actor SELECT f, a FROM generate_series(1, 6) f, generate_series(1, 4) a WHERE f % a = 0"
        )
        try followed.follow(["film", "actor", "film_actor"])
        try connection.execute(
            "DELETE FROM public.film_actor WHERE film_id = 6; INSERT INTO public.film_actor VALUES (1, 4)")
        try followed.follow()
        let context = try PersistentContainer(at: URL(fileURLWithPath: followed.store)).newContext()
        let request = FetchRequest<ManagedObject>(
            entityName: "actor",
            predicate: try FetchPredicate("SUBQUERY(film_actors, $f, $f.film.title == 'F1').@count > 0"))
        let names = try context.fetch(request).compactMap { $0["name"].stringValue }
        #expect(names.sorted() == ["A1", "A4"])
    }
}
