import FetchIndex
import FetchIndexPostgresSource
import Foundation
import FetchIndexTestSupport
import Testing

/// Foreign keys that name unique columns which aren't the primary key.
@Suite(.enabled(if: TestServer.isInstalled)) struct UniqueReferenceTests {
    private static let tables = """
        CREATE TABLE public.product(id integer PRIMARY KEY, code text UNIQUE, name text, body text);
        ALTER TABLE public.product ALTER body SET STORAGE EXTERNAL;
        CREATE TABLE public.shelf(id integer PRIMARY KEY, room text, place integer, UNIQUE (room, place));
        CREATE TABLE public.sale(id integer PRIMARY KEY, product_code text REFERENCES public.product(code) ON UPDATE CASCADE ON DELETE SET NULL,
            place integer, room text, FOREIGN KEY (place, room) REFERENCES public.shelf(place, room) ON UPDATE CASCADE ON DELETE SET NULL);
        INSERT INTO public.product SELECT i, 'c' || i, 'P' || i, repeat('x', 3000) FROM generate_series(1, 30) i;
        INSERT INTO public.shelf SELECT i, 'r' || i % 3, i FROM generate_series(1, 12) i;
        INSERT INTO public.sale SELECT i, 'c' || 1 + i % 30, 1 + i % 12, 'r' || (1 + i % 12) % 3 FROM generate_series(1, 60) i
        """

    private static let choices = ["product=Product", "shelf=Shelf", "sale=Sale"]

    @Sendable private static func transaction(_ generator: inout SeededGenerator) -> String {
        func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
        let commands = (0..<number(1..<5)).map { _ -> String in
            let (id, other) = (number(1..<36), number(1..<36))
            return [
                // PostgreSQL 13.4 can't decode large values of an insertion that a conflict ended.
                "INSERT INTO public.product SELECT \(id), 'c\(other)', 'new', repeat('y', 2500) WHERE NOT EXISTS (SELECT FROM public.product WHERE id = \(id) OR code = 'c\(other)')",
                // Two products exchange their codes.
                "UPDATE public.product SET code = 'x' || id WHERE id = \(id); UPDATE public.product SET code = 'c\(id)' WHERE id = \(other) AND NOT EXISTS (SELECT FROM public.product WHERE code = 'c\(id)'); UPDATE public.product SET code = 'c\(other)' WHERE id = \(id) AND NOT EXISTS (SELECT FROM public.product WHERE code = 'c\(other)')",
                "UPDATE public.product SET name = name || '+' WHERE id < \(id)",
                "UPDATE public.product SET code = NULL WHERE id = \(id)",
                "UPDATE public.product SET id = id + 100 WHERE id = \(id) AND NOT EXISTS (SELECT FROM public.product p WHERE p.id = \(id + 100))",
                "DELETE FROM public.product WHERE id IN (\(id), \(other + 100))",
                "UPDATE public.shelf SET place = place + 50 WHERE id = \(id) AND place < 50",
                "UPDATE public.shelf SET place = place - 50 WHERE place > 50 AND id = \(other)",
                "DELETE FROM public.shelf WHERE id = \(id)",
                "INSERT INTO public.shelf VALUES (\(id), 'r\(other % 3)', \(other)) ON CONFLICT DO NOTHING",
                "UPDATE public.sale SET product_code = (SELECT max(code) FROM public.product WHERE id < \(id)) WHERE id % 9 = \(other % 9)",
                "UPDATE public.sale SET (room, place) = (SELECT room, place FROM public.shelf WHERE id <= \(id) ORDER BY id DESC LIMIT 1) WHERE id = \(other)",
                "DELETE FROM public.sale WHERE id = \(other)",
                "INSERT INTO public.sale SELECT \(id), max(code) FROM public.product ON CONFLICT DO NOTHING",
            ][number(0..<14)]
        }
        return "BEGIN; \(commands.joined(separator: "; ")); COMMIT"
    }

    private func requireEqual(_ followed: Followed, _ connection: Connection, _ comment: String) throws {
        try followed.check()
        let products = try connection.execute(
            "SELECT id::text, code, name, md5(body) FROM public.product ORDER BY product.id", columns: 4)
        var stored = try rows(followed, "Product", ["id", "code", "name", "body"])
        for index in stored.indices {
            stored[index][3] = try stored[index][3].flatMap { try connection.value("SELECT md5($1)", [$0]) }
        }
        #expect(stored == products, "\(comment)")
        let sales = try connection.execute(
            """
            SELECT s.id::text, s.product_code, p.id::text, h.id::text FROM public.sale s
                LEFT JOIN public.product p ON p.code = s.product_code
                LEFT JOIN public.shelf h ON h.room = s.room AND h.place = s.place ORDER BY s.id
            """, columns: 4)
        #expect(try rows(followed, "Sale", ["id", "product_code", "product.id", "shelf.id"]) == sales, "\(comment)")
    }

    /// The values of all objects as texts, in the order of the first column.
    private func rows(_ followed: Followed, _ entity: String, _ columns: [String]) throws -> [[String?]] {
        try followed.values(entity, columns, sortedBy: [columns[0]])
    }

    /// Random transactions, also while tables are copied.
    @Test(arguments: [false, true], TestSettings.isLong ? [1, 2, 3, 4] : [1, 2] as [UInt64]) func randomTransactions(
        usesChangeTable: Bool, seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed &+ TestSettings.seed)
        var (followed, connection) = try Followed.database(Self.tables)
        followed.usesChangeTable = usesChangeTable
        if usesChangeTable {
            try connection.execute(Follower.setup(followed.address, Self.choices.map { try TableChoice($0) }))
        }
        for round in 0..<9 {
            let isBusy = round % 4 == 0
            if isBusy {
                // A writer changes rows while all tables are copied.
                let writerSeed = (seed &+ TestSettings.seed) &* 100 &+ UInt64(round)
                try followed.whileWriting(1, seed: writerSeed, Self.transaction) {
                    try followed.follow(round == 0 ? Self.choices : []) { options in
                        options.recopies = round > 0
                        options.rangeLength = 3
                    }
                }
            }
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                do { try connection.execute(Self.transaction(&generator)) } catch is SourceError {
                    _ = try? connection.execute("ROLLBACK")
                }
            }
            try followed.follow()
            try requireEqual(followed, connection, "seed \(seed), round \(round)")
        }
    }

    /// Without their unique index, columns may have the same values, and relationships stay as they are.
    @Test func aDroppedIndexLeavesValuesAlone() throws {
        let (followed, connection) = try Followed.database(Self.tables)
        try followed.follow(Self.choices)
        try connection.execute("ALTER TABLE public.product RENAME code TO label")
        try connection.execute("UPDATE public.product SET label = 'd' || id WHERE id < 4")
        try followed.follow()
        #expect(try rows(followed, "Sale", ["id", "product.label"]).prefix(3).map { $0[1] } == ["d2", "d3", "c4"])
        try connection.execute("ALTER TABLE public.product DROP CONSTRAINT product_code_key CASCADE")
        try connection.execute("UPDATE public.product SET label = 'same'")
        try followed.follow()
        #expect(try rows(followed, "Product", ["id", "label"]).allSatisfy { $0[1] == "same" })
        #expect(try rows(followed, "Sale", ["id", "product.id"]).prefix(3).map { $0[1] } == ["2", "3", "4"])
        try followed.check()
    }

    @Test func valuesThatAreTooLongLeaveTheirRowsOut() throws {
        let (followed, connection) = try Followed.database(Self.tables)
        try connection.execute("INSERT INTO public.product VALUES (50, repeat('z', 600), 'long', '')")
        let error = #expect(throws: SourceError.self) { try followed.follow(Self.choices) }
        #expect(
            error?.reason == "public.product.code of the row with the key 50 is too long to be found by foreign keys")
        #expect(try rows(followed, "Product", ["id"]).count == 30)
        try connection.execute("UPDATE public.product SET code = 'short' WHERE id = 50")
        try followed.follow()
        #expect(try rows(followed, "Product", ["id"]).count == 31)
    }
}
