import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing

/// Rows with values that cannot be stored are left out until they get others.
@Suite(.enabled(if: TestServer.isInstalled)) struct OmittedRowTests {
    private static func statement(using generator: inout SeededGenerator) -> String {
        let id = Int.random(in: 1...12, using: &generator)
        let number = ["'NaN'", "1.5", "2", "'Infinity'"].randomElement(using: &generator) ?? "1"
        let date =
            ["'infinity'", "'2024-01-01'", "'2025-02-02'", "'2026-03-03'"].randomElement(using: &generator) ?? ""
        // Infinite decimals are new in PostgreSQL 14.
        let n = number.replacing("'Infinity'", with: "'NaN'")
        switch Int.random(in: 0..<12, using: &generator) {
        case 0..<4:
            return """
                INSERT INTO public.t VALUES (\(id), \(n), \(date), repeat(md5('\(Int.random(in: 0...9, using: &generator))'), 300))
                    ON CONFLICT DO NOTHING
                """
        case 4..<7: return "UPDATE public.t SET n = \(n) WHERE id = \(id)"
        case 7: return "UPDATE public.t SET d = \(date) WHERE id % 3 = \(id % 3)"
        case 8: return "UPDATE public.t SET large = repeat(md5(id::text || '\(id)'), 300), n = \(n) WHERE id = \(id)"
        case 9:
            return
                "UPDATE public.t SET id = id + 100 WHERE id = \(id) AND NOT EXISTS (SELECT FROM public.t WHERE id = \(id + 100))"
        case 10: return "DELETE FROM public.t WHERE id = \(id) OR id = \(100 + id)"
        default:
            return Int.random(in: 0..<6, using: &generator) == 0
                ? "TRUNCATE public.t" : "UPDATE public.t SET n = 7 WHERE n = 'NaN' AND id = \(id)"
        }
    }

    @Test(arguments: [false, true], 1...3 as ClosedRange<UInt64>)
    func rowsComeBackWhenTheyCanBeStored(usesChangeTable: Bool, seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, n numeric, d date, large text)",
            "ALTER TABLE public.t ALTER large SET STORAGE EXTERNAL")
        followed.usesChangeTable = usesChangeTable
        if usesChangeTable { try connection.execute(Follower.setup(followed.address, [TableChoice("t")])) }
        let columns = [
            "id": "id", "n": "trim_scale(n)", "d": "to_char(d, 'YYYY-MM-DD\"T00:00:00Z\"')", "large": "large",
        ]
        for round in 0..<25 {
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let count = Int.random(in: 1...4, using: &generator)
                let statements = (0..<count).map { _ in Self.statement(using: &generator) }
                try connection.execute("BEGIN; " + statements.joined(separator: "; ") + "; COMMIT")
            }
            let omitted = try connection.value("SELECT count(*) FROM public.t WHERE n = 'NaN' OR NOT isfinite(d)") ?? ""
            let recopies = round > 0 && Int.random(in: 0..<8, using: &generator) == 0
            func follow() throws { try followed.follow(round == 0 ? ["t"] : []) { $0.recopies = recopies } }
            if omitted == "0" {
                try follow()
            } else {
                let error = #expect(throws: SourceError.self) { try follow() }
                #expect(error?.kind == .incomplete, "\(String(describing: error))")
            }
            let expected = try followed.sourceRows("public.t WHERE n <> 'NaN' AND isfinite(d)", key: "id", columns)
            #expect(try followed.rows("t", key: "id") == expected, "seed \(seed), round \(round)")
            let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
            let told = try container.information().sources.first?.tables[0].omittedRows.count
            #expect(told.map { "\($0)" } == omitted, "seed \(seed), round \(round)")
        }
        try followed.check()
        try followed.follow { $0.unstorable = ["t": .null] }
        #expect(try "\(followed.rows("t", key: "id").count)" == connection.value("SELECT count(*) FROM public.t") ?? "")
    }

    /// Objects that refer to a row wait for it.
    @Test(arguments: [false, true]) func linksComeBackWithTheRow(dropsColumn: Bool) throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.a(id integer PRIMARY KEY, n numeric)",
            "CREATE TABLE public.b(id integer PRIMARY KEY, a_id integer REFERENCES public.a)",
            "INSERT INTO public.a VALUES (1, 'NaN'), (2, 2); INSERT INTO public.b VALUES (1, 1), (2, 2), (3, 2)")
        #expect(throws: SourceError.self) { try followed.follow(["a", "b"]) }
        func linked(_ id: Int) throws -> Int {
            let context = try PersistentContainer(at: URL(fileURLWithPath: followed.store)).newContext()
            return try context.count(
                for: FetchRequest<ManagedObject>(entityName: "b", predicate: try FetchPredicate("a.id == \(id)")))
        }
        #expect(try linked(1) == 0 && linked(2) == 2)
        try connection.execute("UPDATE public.a SET n = 'NaN' WHERE id = 2")
        #expect(throws: SourceError.self) { try followed.follow() }
        #expect(try linked(2) == 0)
        try connection.execute(
            dropsColumn ? "ALTER TABLE public.a DROP n" : "UPDATE public.a SET n = id WHERE n = 'NaN'")
        try followed.follow()
        #expect(try linked(1) == 1 && linked(2) == 2)
        try followed.check()
    }

    @Test func tooManySuchRowsEndFollowing() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, n numeric)",
            "INSERT INTO public.t SELECT i, 'NaN' FROM generate_series(1, 1001) i")
        let error = #expect(throws: SourceError.self) { try followed.follow(["t"]) }
        #expect(
            error?.reason.contains("and 1000 other rows are left out already") ?? false, "\(String(describing: error))")
        try connection.execute("DELETE FROM public.t WHERE id <= 999")
        let two = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(
            two?.reason
                == "public.t.n of the row with the key 1000 is NaN, not a decimal of at most 38 digits, and 1 other row is left out",
            "\(String(describing: two))")
    }
}
