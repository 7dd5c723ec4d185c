import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexRecords
import Synchronization
import FetchIndexTestSupport
import Testing

/// Stores that follow while the source changes and processes are killed. They equal the tables at the end and at each
/// point between.
@Suite(.enabled(if: TestServer.isInstalled), .serialized) struct FollowFaultTests {
    /// The number of compared states.
    private var points: Int { TestSettings.isLong ? 100 : 6 }

    @Test func theStoreEqualsTheTablesAfterEachCatchUpDuringWrites() throws {
        let seed = 18 &+ TestSettings.seed
        let followed = try Followed.ofBooks(on: TestServer.shared())
        let traffic = Traffic(followed.address, writers: 3, seed: seed)
        defer { traffic.letEnd() }
        try followed.follow(["books=Book", "notes"])
        try followed.fetchOrders()
        for point in 0..<points {
            usleep(200_000)
            try traffic.held {
                try followed.follow { $0.caches = point % 2 == 0 ? ["by price"] : [] }
                try followed.requireEqual()
            }
        }
        try traffic.stop()
        try followed.follow()
        try followed.requireEqual()
        try followed.requireSingleTransactions()
        #expect(traffic.transactions > 20, "seed \(seed)")
    }

    @Test(arguments: [false, true]) func theNextFollowerContinuesAfterAKilledOne(usesChangeTable: Bool) throws {
        let seed = 19 &+ TestSettings.seed
        var random = SeededGenerator(seed: seed)
        var followed = try Followed.ofBooks(on: TestServer.shared())
        followed.usesChangeTable = usesChangeTable
        if usesChangeTable {
            let choices = try ["books=Book", "notes"].map { try TableChoice($0) }
            try Connection(followed.address).execute(Follower.setup(followed.address, choices))
        }
        let traffic = Traffic(followed.address, writers: 2, seed: seed)
        defer { traffic.letEnd() }
        let tables = ["--table", "public.books=Book", "--table", "notes"] + (usesChangeTable ? ["--change-table"] : [])
        for round in 0..<(TestSettings.isLong ? 200 : 12) {
            // In each third round, the size of files is limited.
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
                    try followed.requireEqual()
                }
            }
        }
        try traffic.stop()
        try followed.follow(["books=Book", "notes"])
        try followed.requireEqual()
        if !usesChangeTable { try followed.requireSingleTransactions() }
    }

    /// A follower that meets a full disk ends with one sentence, and the next one goes on. A sanitizer's own file must fit.
    @Test(arguments: [false, true]) func aFullDiskLosesNoChangeOfAFollower(usesChangeTable: Bool) throws {
        var followed = try Followed.ofBooks(on: TestServer.shared())
        followed.usesChangeTable = usesChangeTable
        let connection = try Connection(followed.address)
        if usesChangeTable {
            try connection.execute(Follower.setup(followed.address, [TableChoice("books=Book"), TableChoice("notes")]))
        }
        try followed.follow(["books=Book", "notes"])
        try followed.fetchOrders()
        // The transaction is larger than its buffer, so that it waits in a file.
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
        try followed.requireEqual()
        if !usesChangeTable { try followed.requireSingleTransactions() }
    }

    /// With any limit of files, the follower follows or says at its start what it needs. A signal ends it in any case.
    @Test(.disabled(if: isUnderSanitizer)) func aFollowerWorksOrReportsItsFileLimitAtItsStart() throws {
        let followed = try Followed.ofBooks(on: TestServer.shared())
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
}
