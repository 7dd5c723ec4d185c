import FetchIndex
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Foundation
import Testing

/// The SQL for fingerprints in the source: a store that follows a table has the same.
@Suite(.enabled(if: TestServer.isInstalled)) struct FingerprintQueryTests {
    /// The rows of the statement in the middle of the query, which begins and ends a transaction.
    private func inSource(_ followed: Followed, _ entity: String, by column: String? = nil) throws -> [[String?]] {
        let query = try Follower.fingerprintQuery(storeAt: followed.store, entity: entity, by: column)
        let start = try #require(query.range(of: "WITH texts")).lowerBound
        let end = try #require(query.range(of: "COMMIT;")).lowerBound
        let connection = try Connection(followed.address)
        try connection.execute(String(query[..<start]))
        let rows = try connection.execute(String(query[start..<end]))
        try connection.execute(String(query[end...]))
        return rows
    }

    private func inStore(_ followed: Followed, _ entity: String, by column: String? = nil) throws -> [[String?]] {
        let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
        let definition = OrderDefinition(
            entity: entity, sectionKey: column.map { .attribute($0) }, aggregates: [.fingerprint])
        return try container.withOrder(definition, .init(cacheName: "c")) { order in
            var rows: [[String?]] = []
            try order.forEachSection { section in
                let fingerprint = try section.aggregate(.fingerprint).description
                let name: [String?] = column == nil ? [] : [section.isNull ? nil : section.name]
                rows.append(name + ["\(section.count)", fingerprint])
                return true
            }
            return rows.sorted(by: Self.precedes)
        }
    }

    @Test func theSourceComputesTheSameFingerprints() throws {
        let (followed, connection) = try Followed.database(
            """
            CREATE TYPE public.mood AS ENUM ('sad', 'happy'); CREATE DOMAIN public.price AS numeric(8,2);
            CREATE DOMAIN public.instant AS timestamptz;
            CREATE TABLE public.things(id integer PRIMARY KEY, "Grupp ä" text, small smallint, big bigint, number numeric,
                price public.price, single real, double double precision, short varchar(20), fixed char(4), yes boolean,
                day date, moment timestamp, zoned timestamptz, at public.instant, clock time, gap interval, uid uuid, raw bytea,
                doc json, docb jsonb, feeling public.mood, net inet, tags text[])
            """,
            """
            INSERT INTO public.things SELECT i, CASE WHEN i % 7 > 0 THEN 'gr' || i % 7 END, i - 200, (i - 200)::bigint * 12345678901,
                (random() * 1000 - 500)::numeric(12, 4), i / 10.0, random()::real, exp(random() * 100 - 50), 'ß' || i, 'ab', i % 2 = 0,
                date '1999-12-31' + i, timestamp '2000-12-31 23:59:50' + random() * 20 * interval '1 s' * i,
                timestamptz '1969-12-31 23:00:00.000001+00' + random() * interval '70 days' * i, now() - random() * interval '100 years',
                time '10:00' + i * interval '1.5 s', i * interval '1 day 02:03',
                gen_random_uuid(), decode(md5(i::text), 'hex'), json_build_object('a', i), jsonb_build_object('b', i), 'happy',
                '10.0.0.1', ARRAY['x', 'y, ' || i]
            FROM generate_series(1, 400) i
            """,
            "INSERT INTO public.things(id, number, double, price) VALUES (1000, 1200.50, 'NaN', 1200)",
            "INSERT INTO public.things(id, double, single, short) VALUES (1001, '-0', '-Infinity', '')")
        try followed.follow(["public.things=Thing"]) { $0.tables[0].asText = ["tags"] }
        func compare(_ comment: Comment) throws {
            #expect(try inSource(followed, "Thing") == inStore(followed, "Thing"), comment)
            let groups = try inSource(followed, "Thing", by: "Grupp ä")
            #expect(groups.count == 7, comment)
            #expect(
                try groups.sorted(by: Self.precedes) == inStore(followed, "Thing", by: "Grupp ä"),
                comment)
        }
        try compare("after the copy")
        try connection.execute("UPDATE public.things SET small = small + 1, number = number / 3 WHERE id % 3 = 0")
        #expect(try inSource(followed, "Thing") != inStore(followed, "Thing"))
        try connection.execute("DELETE FROM public.things WHERE id % 5 = 0")
        try followed.follow()
        try compare("after changes")
    }

    @Test(.enabled(if: TestServer.hasFilters)) func onlyFollowedRowsAndColumnsCount() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, v text, w text)",
            "INSERT INTO public.t SELECT i, 'v' || i, 'w' || i FROM generate_series(1, 50) i")
        try #require(connection.serverVersion >= 150_000)
        try followed.follow(["public.t=T"]) {
            $0.tables[0].columns = ["v"]
            $0.tables[0].condition = "id % 2 = 0"
        }
        let source = try inSource(followed, "T")
        #expect(source[0][0] == "25")
        #expect(try source == inStore(followed, "T"))
    }

    @Test func whatIsNotFollowedIsNamed() throws {
        let (followed, _) = try Followed.database("CREATE TABLE public.t(id integer PRIMARY KEY, v text)")
        func sentence(_ entity: String, _ column: String? = nil) -> String {
            do { return try Follower.fingerprintQuery(storeAt: followed.store, entity: entity, by: column) } catch {
                return "\(error)"
            }
        }
        try followed.follow(["public.t=T"])
        #expect(sentence("U") == "the store follows no table as the entity \"U\"; its entities are: T")
        #expect(sentence("T", "w") == "the entity T has no attribute \"w\"")
        #expect(sentence("T", "v").contains("GROUP BY section"))
        let errors = followed.folder.path + ".errors"
        defer { unlink(errors) }
        let program = try Child(
            Followed.executable, [followed.store, "--print-fingerprint", "T"], errors: errors)
        #expect(program.wait() == 0)
    }

    private static func precedes(_ left: [String?], _ right: [String?]) -> Bool {
        (left[0] == nil ? 0 : 1, left[0] ?? "") < (right[0] == nil ? 0 : 1, right[0] ?? "")
    }

    /// Groups have the names of the store's sections, and null isn't the empty text.
    @Test(.enabled(if: TestServer.hasICU)) func groupsAreTheSectionsOfTheStore() throws {
        let (followed, _) = try Followed.database(
            "CREATE COLLATION public.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
            """
            CREATE TABLE public.t(id integer PRIMARY KEY, a text, b boolean, n numeric, u uuid, raw bytea, d date,
                c text COLLATE public.loose)
            """,
            """
            INSERT INTO public.t SELECT i, (ARRAY[NULL, '', 'x'])[1 + i % 3], (ARRAY[true, false, NULL])[1 + i % 3],
                (ARRAY[1.5, 1.50, 10.00, -0.0])[1 + i % 4], md5((i % 2)::text)::uuid, decode(md5((i % 2)::text), 'hex'),
                date '2020-01-01' + i, (ARRAY['abc', 'ABC'])[1 + i % 2]
            FROM generate_series(1, 60) i
            """, "INSERT INTO public.t(id, d) VALUES (100, '5874897-12-31'), (101, '4713-01-01 BC')")
        try followed.follow(["public.t=T"])
        #expect(try inSource(followed, "T") == inStore(followed, "T"))
        for column in ["a", "b", "n", "u", "raw", "c"] {
            // A boolean's section is named 0 or 1 in Swift, but false or true by the tool.
            let names = ["false": "0", "true": "1"]
            let groups = try inSource(followed, "T", by: column).map { row in
                [row[0].map { names[$0] ?? $0 }] + row.dropFirst()
            }
            #expect(try groups.sorted(by: Self.precedes) == inStore(followed, "T", by: column), "by \(column)")
        }
        #expect(throws: SourceError.self) { try inSource(followed, "T", by: "d") }
    }
}
