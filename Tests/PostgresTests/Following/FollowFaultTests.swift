import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexRecords
import Synchronization
import FetchIndexTestSupport
import Testing

/// Stores follow while the source changes, processes are killed, and connections are cut. Afterwards the stores equal
/// the tables.
@Suite(.enabled(if: TestServer.isInstalled), .serialized) struct FollowFaultTests {
    private static let books = [
        "id": "id", "title": "title", "publisher": "publisher", "price": "trim_scale(price)", "body": "body",
    ]
    private static let notes = [
        "code": "code", "book": "book",
        "stamp": "to_char(stamp AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')",
    ]

    /// The number of states that are compared.
    var points: Int { TestSettings.isLong ? 100 : 6 }

    func start(_ server: TestServer) throws -> Followed {
        let followed = Followed(address: try server.makeDatabase())
        let connection = try Connection(followed.address)
        for command in Traffic.tables { try connection.execute(command) }
        try connection.execute(
            "INSERT INTO public.books SELECT i, 'Title ' || i, 'P' || i % 5, i, 'short' FROM generate_series(1, 150) i")
        return followed
    }

    func fetchOrders(_ followed: Followed) throws {
        _ = try followed.fetch(
            OrderDefinition(entity: "Book", sortKeys: [SortKey("publisher"), SortKey("price", .descending)]),
            cache: "by price")
        _ = try followed.fetch(OrderDefinition(entity: "notes", sortKeys: [SortKey("stamp")]), cache: "notes")
    }

    func requireEqual(_ followed: Followed) throws {
        let connection = try Connection(followed.address)
        #expect(
            try followed.rows("Book", key: "id")
                == followed.sourceRows("public.books", key: "id", Self.books, in: connection))
        #expect(
            try followed.rows("notes", key: "code")
                == followed.sourceRows("public.notes", key: "code", Self.notes, in: connection))
        try followed.check()
    }

    /// Requires that the store's history has no transaction of the source twice, and has them in the order of their
    /// positions.
    func requireSingleTransactions(_ followed: Followed) throws {
        let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
        let positions = try container.newContext().fetchHistory(after: container.store.snapshot().state.logStart)
            .compactMap {
                $0.author.hasPrefix("postgres ") ? LogPosition(String($0.author.dropFirst(9))) : nil
            }
        #expect(positions == Set(positions).sorted() && !positions.isEmpty)
    }

    @Test func theStoreEqualsTheTablesWheneverTheWritersPause() throws {
        let seed = 18 &+ TestSettings.seed
        let followed = try start(TestServer.shared())
        let traffic = Traffic(followed.address, writers: 3, seed: seed)
        defer { traffic.letEnd() }
        try followed.follow(["books=Book", "notes"])
        try fetchOrders(followed)
        for point in 0..<points {
            usleep(200_000)
            try traffic.held {
                try followed.follow { $0.caches = point % 2 == 0 ? ["by price"] : [] }
                try requireEqual(followed)
            }
        }
        try traffic.stop()
        try followed.follow()
        try requireEqual(followed)
        try requireSingleTransactions(followed)
        #expect(traffic.transactions > 20, "seed \(seed)")
    }

    @Test(arguments: [false, true]) func aNewFollowerContinuesWhereAKilledOneStopped(usesChangeTable: Bool) throws {
        let seed = 19 &+ TestSettings.seed
        var random = SeededGenerator(seed: seed)
        var followed = try start(TestServer.shared())
        followed.usesChangeTable = usesChangeTable
        if usesChangeTable {
            let choices = try ["books=Book", "notes"].map { try TableChoice($0) }
            try Connection(followed.address).execute(Follower.setup(followed.address, choices))
        }
        let traffic = Traffic(followed.address, writers: 2, seed: seed)
        defer { traffic.letEnd() }
        let tables = ["--table", "public.books=Book", "--table", "notes"] + (usesChangeTable ? ["--change-table"] : [])
        for round in 0..<(TestSettings.isLong ? 200 : 12) {
            // In every third round, a limit on file sizes may make writes fail.
            let limit = round % 3 == 2 ? "\(Int.random(in: 40...1000, using: &random))" : "unlimited"
            let follower = try Child(
                "/bin/bash",
                ["-c", "ulimit -f \(limit); exec \"$0\" \"$@\"", Followed.executable, followed.store, followed.address]
                    + tables,
                errors: "/dev/null")
            usleep(UInt32.random(in: 20_000...800_000, using: &random))
            follower.killAtOnce()
            _ = follower.wait()
            if round == 6 {
                try traffic.held {
                    try followed.follow(["books=Book", "notes"])
                    try requireEqual(followed)
                }
            }
        }
        try traffic.stop()
        try followed.follow(["books=Book", "notes"])
        try requireEqual(followed)
        if !usesChangeTable { try requireSingleTransactions(followed) }
    }

    /// A limit on file sizes stands for a full disk. The limit ends the follower with one sentence, and a follower
    /// without the limit continues. The smallest limit is left out under a sanitizer, whose own file must fit.
    @Test(arguments: [false, true]) func aFullDiskLosesNothing(usesChangeTable: Bool) throws {
        var followed = try start(TestServer.shared())
        followed.usesChangeTable = usesChangeTable
        let connection = try Connection(followed.address)
        if usesChangeTable {
            try connection.execute(Follower.setup(followed.address, [TableChoice("books=Book"), TableChoice("notes")]))
        }
        try followed.follow(["books=Book", "notes"])
        try fetchOrders(followed)
        // In the stream, the transaction exceeds its buffer in memory, so it is kept in a file.
        try connection.execute(
            "INSERT INTO public.books SELECT i, 'T' || i, 'P', i, repeat(md5(i::text), 40) FROM generate_series(1000, 9000) i"
        )
        try connection.execute("UPDATE public.books SET price = price + 1; DELETE FROM public.books WHERE id < 20")
        let errors = followed.folder.path + ".errors"
        defer { unlink(errors) }
        for limit in (isUnderSanitizer ? [] : [40]) + [400, 2000, 6000] {
            let follower = try Child(
                "/bin/bash",
                ["-c", "ulimit -f \(limit); exec \"$0\" \"$1\" --once", Followed.executable, followed.store],
                errors: errors)
            #expect(follower.wait() == 1)
            let text = try String(contentsOfFile: errors, encoding: .utf8)
            let lines = text.split(separator: "\n").filter { !$0.contains("max_slot_wal_keep_size") }
            #expect(
                lines.count == 1 && lines[0].hasPrefix("fetchindex follow: ") && lines[0].contains("saved"),
                "\(limit): \(text)")
            try followed.check()
        }
        try followed.follow()
        try requireEqual(followed)
        if !usesChangeTable { try requireSingleTransactions(followed) }
    }

    /// For each limit of open files, the follower either follows, until it is interrupted, or ends with a message.
    @Test(.disabled(if: isUnderSanitizer)) func tooFewOpenFilesEndAFollowerWithAMessage() throws {
        let followed = try start(TestServer.shared())
        try followed.follow(["books=Book", "notes"])
        let errors = followed.folder.path + ".errors", output = followed.folder.path + ".lines"
        defer { for file in [errors, output] { unlink(file) } }
        for limit in 3...24 {
            let follower = try Child(
                "/bin/bash", ["-c", "ulimit -n \(limit); exec \"$0\" \"$1\"", Followed.executable, followed.store],
                output: output, errors: errors)
            let end = Date() + 30
            while follower.isRunning, Date() < end,
                try !String(contentsOfFile: output, encoding: .utf8).contains("following")
            {
                usleep(2000)
            }
            usleep(20_000)
            let isFollowing = follower.isRunning
            follower.send(limit % 2 == 0 ? SIGTERM : SIGINT)
            let status = follower.wait(seconds: 20)
            let text = try String(contentsOfFile: errors, encoding: .utf8)
            if isFollowing {
                #expect(status == 0, "\(limit): \(text)")
            } else {
                #expect(limit < 24 && [1, 127].contains(status) && !text.isEmpty, "\(limit): \(text)")
            }
        }
    }

    @Test func aFollowerSurvivesServerCrashesAndCutConnections() throws {
        let seed = 20 &+ TestSettings.seed
        let server = try TestServer(["fsync=on"])
        defer { server.stop() }
        let followed = try start(server)
        try followed.follow(["books=Book", "notes"])
        let traffic = Traffic(followed.address, writers: 2, seed: seed)
        defer { traffic.letEnd() }
        let errors = followed.folder.path + ".errors"
        defer { unlink(errors) }
        let follower = try Child(Followed.executable, [followed.store], errors: errors)
        for round in 0..<(TestSettings.isLong ? 20 : 3) {
            usleep(400_000)
            if round % 3 == 1 {
                try Connection(followed.address).execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fetchindex' AND pid <> pg_backend_pid()"
                )
            } else {
                server.crash()
                try server.start()
            }
        }
        usleep(1_500_000)
        let text = try String(contentsOfFile: errors, encoding: .utf8)
        #expect(follower.isRunning, "\(text)")
        try traffic.stop()
        follower.interrupt()
        #expect(follower.wait() == 0)
        try followed.follow()
        try requireEqual(followed)
        try requireSingleTransactions(followed)
    }

    @Test func aStartingFollowerWaitsForAStoppedSource() throws {
        let server = try TestServer()
        defer { server.stop() }
        let followed = try start(server)
        try followed.follow(["books=Book", "notes"])
        server.stop()
        let errors = followed.folder.path + ".errors"
        defer { unlink(errors) }
        func startWaiting() throws -> Child {
            let follower = try Child(Followed.executable, [followed.store], errors: errors)
            let end = Date() + 60
            while follower.isRunning, Date() < end,
                try !String(contentsOfFile: errors, encoding: .utf8).contains("trying again in")
            {
                usleep(20_000)
            }
            let text = try String(contentsOfFile: errors, encoding: .utf8)
            #expect(follower.isRunning, "\(text)")
            return follower
        }
        let interrupted = try startWaiting()
        interrupted.interrupt()
        #expect(interrupted.wait() == 0)
        // A job that only has to catch up doesn't wait.
        #expect(try Child(Followed.executable, [followed.store, "--once"], errors: errors).wait() == 1)
        let follower = try startWaiting()
        try server.start()
        try Connection(followed.address).execute("UPDATE public.books SET title = 'changed' WHERE id = 3")
        let end = Date() + 60
        while Date() < end, try followed.rows("Book", key: "id")["3"]?["title"] != "changed" { usleep(50_000) }
        follower.interrupt()
        #expect(follower.wait() == 0)
        try requireEqual(followed)
    }

    /// Runs are interrupted during the copy, and rows change before the next run.
    @Test func aFollowerContinuesAnInterruptedCopy() throws {
        var random = SeededGenerator(seed: 21)
        let followed = try start(TestServer.shared())
        let connection = try Connection(followed.address)
        var runs = 0
        while true {
            var left = Int.random(in: 1...4, using: &random)
            var isWhole = false
            var options = FollowOptions()
            options.address = followed.address
            options.tables = try ["books=Book", "notes"].map { try TableChoice($0) }
            (options.rangeLength, options.endsWhenCurrent) = (7, true)
            let follower = try Follower(storeAt: followed.store, options) {
                left <= 0
            } report: { event in
                if case .copying = event { left -= 1 }
                if case .consistent = event { isWhole = true }
            }
            try follower.run()
            runs += 1
            if isWhole { break }
            let id = Int.random(in: 1...150, using: &random)
            try connection.execute(
                """
                UPDATE public.books SET title = 'run \(runs)' WHERE id % 10 = \(id % 10); DELETE FROM public.books WHERE id = \(id);
                UPDATE public.books SET id = id + 1000 WHERE id = \(id / 2); INSERT INTO public.notes(code) VALUES ('\(runs)')
                """)
        }
        #expect(runs > 5)
        try requireEqual(followed)
    }
}
