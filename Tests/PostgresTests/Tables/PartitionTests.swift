import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Testing

/// Partitioned tables are followed as one entity, while their partitions come, go and are emptied.
@Suite(.enabled(if: TestServer.isInstalled)) struct PartitionTests {
    private static let columns = ["id": "id", "year": "year", "v": "v"]

    private func requireEqual(_ followed: Followed, _ comment: String) throws {
        // Keys of several columns aren't texts, so rows are compared by `id`, which is unique in these tests.
        let stored = try followed.rows("sales", key: "id")
        #expect(try stored == followed.sourceRows("public.sales", key: "id", Self.columns), "\(comment)")
        try followed.check()
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>) func randomChangesOfRowsAndPartitions(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.sales(id integer, year integer, v text, PRIMARY KEY (year, id)) PARTITION BY RANGE (year)",
            "CREATE TABLE public.s1 PARTITION OF public.sales FOR VALUES FROM (1) TO (10) PARTITION BY LIST (year)",
            "CREATE TABLE public.s1a PARTITION OF public.s1 FOR VALUES IN (1, 2, 3)",
            "CREATE TABLE public.s1b PARTITION OF public.s1 DEFAULT",
            "CREATE TABLE public.s2 PARTITION OF public.sales FOR VALUES FROM (10) TO (20)",
            "INSERT INTO public.sales SELECT i, 1 + i % 19, 'v' || i FROM generate_series(1, 100) i")
        try followed.follow(["sales"])
        try requireEqual(followed, "the first copy")
        var next = 1000
        var isAttached = true
        for round in 0..<14 {
            var commands: [String] = []
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let year = Int.random(in: 1..<20, using: &generator)
                let id = Int.random(in: 1...100, using: &generator)
                next += 1
                switch Int.random(in: 0..<9, using: &generator) {
                case 0...1 where year < 10 || isAttached:
                    commands.append("INSERT INTO public.sales VALUES (\(next), \(year), 'new')")
                case 2: commands.append("UPDATE public.sales SET v = v || '+' WHERE id % 7 = \(id % 7)")
                // Rows move to another partition.
                case 3:
                    commands.append("UPDATE public.sales SET year = 1 + (year + 4) % 9 WHERE id = \(id) AND year < 10")
                case 4: commands.append("DELETE FROM public.sales WHERE id = \(id)")
                case 5: commands.append("TRUNCATE public.s1a")
                case 6 where isAttached:
                    commands.append("ALTER TABLE public.sales DETACH PARTITION public.s2")
                    isAttached = false
                case 7 where !isAttached:
                    commands.append("INSERT INTO public.s2 VALUES (\(next), 15, 'apart')")
                    commands.append(
                        "ALTER TABLE public.sales ATTACH PARTITION public.s2 FOR VALUES FROM (10) TO (20)")
                    isAttached = true
                default: break
                }
            }
            try connection.execute((["BEGIN"] + commands + ["COMMIT"]).joined(separator: "; "))
            try followed.follow()
            try requireEqual(followed, "seed \(seed), round \(round): \(commands)")
        }
        try connection.execute("DROP TABLE public.s1a")
        try followed.follow()
        try requireEqual(followed, "seed \(seed): dropped")
        // Changes of rows alone copy nothing again.
        try connection.execute(
            "INSERT INTO public.sales VALUES (5000, 7, 'last')")
        #expect(try followed.follow() == ["+1 ~0 -0"])
        try requireEqual(followed, "seed \(seed): at the end")
    }

    @Test func aPartitionWithAnotherReplicaIdentityIsRefused() throws {
        let (followed, _) = try Followed.database(
            "CREATE TABLE public.sales(id integer PRIMARY KEY, v text) PARTITION BY HASH (id)",
            "CREATE TABLE public.part PARTITION OF public.sales FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
            "ALTER TABLE public.part REPLICA IDENTITY NOTHING")
        let error = #expect(throws: SourceError.self) { try followed.follow(["sales"]) }
        #expect(
            error?.reason.contains("the partition public.part of public.sales has another replica identity")
                ?? false)
    }

    @Test func foreignTablesAreRefused() throws {
        let (followed, _) = try Followed.database(
            "CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER shard FOREIGN DATA WRAPPER nothing",
            "CREATE FOREIGN TABLE public.far(id integer) SERVER shard",
            "CREATE TABLE public.sales(id integer, v text) PARTITION BY RANGE (id)",
            "CREATE TABLE public.near PARTITION OF public.sales FOR VALUES FROM (0) TO (10)",
            "CREATE FOREIGN TABLE public.part PARTITION OF public.sales FOR VALUES FROM (10) TO (20) SERVER shard")
        for (table, foreign) in [("far", "public.far"), ("sales", "public.part"), ("part", "public.part")] {
            let error = #expect(throws: SourceError.self) { try followed.follow([table]) { $0.tables[0].key = ["id"] } }
            #expect(
                error?.reason.hasPrefix("\(foreign) is a foreign table, whose rows change on another server") == true)
        }
    }
}
