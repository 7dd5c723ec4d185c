import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// The server crashes, connections and slots are lost, and runs are interrupted.
extension FollowFaultTests {
    @Test func aFollowerSurvivesCrashesOfTheServerAndCutConnections() throws {
        let seed = 20 &+ TestSettings.seed
        let server = try TestServer(["fsync=on"])
        defer { server.stop() }
        let followed = try Followed.ofBooks(on: server)
        try followed.follow(["books=Book", "notes"])
        let traffic = Traffic(followed.address, writers: 2, seed: seed)
        defer { traffic.letEnd() }
        let follower = try Child(Followed.executable, [followed.store], errors: "/dev/null")
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
        #expect(follower.isRunning)
        try traffic.stop()
        follower.interrupt()
        #expect(follower.wait() == 0)
        try followed.follow()
        try followed.requireEqual()
        try followed.requireSingleTransactions()
    }

    /// Each run is interrupted after some ranges, and rows change between the runs.
    @Test func anInterruptedCopyContinuesInTheNextRun() throws {
        var random = SeededGenerator(seed: 21)
        let followed = try Followed.ofBooks(on: TestServer.shared())
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
        try followed.requireEqual()
    }

    @Test func anInterruptionEndsAFollowerThatCannotConnect() throws {
        let server = try TestServer()
        defer { server.stop() }
        let followed = try Followed.ofBooks(on: server)
        try followed.follow(["books=Book", "notes"])
        let follower = try Child(Followed.executable, [followed.store], errors: "/dev/null")
        usleep(400_000)
        server.stop()
        usleep(1_500_000)
        #expect(follower.isRunning)
        follower.interrupt()
        for _ in 0..<40 where follower.isRunning { usleep(50_000) }
        #expect(!follower.isRunning)
    }

    /// The command connection is lost while rows are read again.
    @Test func aLostCommandConnectionLosesNoRow() throws {
        let followed = try Followed.ofBooks(on: TestServer.shared())
        let connection = try Connection(followed.address)
        try connection.execute("INSERT INTO public.books VALUES (900, 'Large', 'P', 1, repeat('0123456789', 1000))")
        try followed.follow(["books=Book", "notes"])
        let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
        let writer = try BatchWriter(container, entity: "Book", key: "id")
        if let object = try writer.object(key: 900) { try writer.delete(object) }
        try writer.commit()
        try connection.execute("INSERT INTO public.notes SELECT 'n' || i, i FROM generate_series(1, 500) i")
        try connection.execute("UPDATE public.books SET title = 'again' WHERE id = 900")
        try connection.execute("DELETE FROM public.notes WHERE book < 10")
        var wasCut = false
        var options = FollowOptions()
        options.endsWhenCurrent = true
        let follower = try Follower(storeAt: followed.store, options) {
            if !wasCut {
                wasCut = true
                _ = try? connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fetchindex' AND pid <> pg_backend_pid() AND datname = current_database()"
                )
            }
            return false
        } report: { _ in
        }
        try follower.run()
        try followed.requireEqual()
    }

    /// A lost slot is reported in one sentence. A recopy then gives the exact difference to the stored rows.
    @Test func aLostSlotIsReportedAndRecopied() throws {
        let followed = try Followed.ofBooks(on: TestServer.shared())
        let connection = try Connection(followed.address)
        try followed.follow(["books=Book", "notes"])
        try followed.fetchOrders()
        let slot = try #require(
            try PersistentContainer(at: URL(fileURLWithPath: followed.store)).followedSource(as: FollowedSource.self)?
                .slot)
        try connection.execute("SELECT pg_drop_replication_slot('\(slot)')")
        try connection.execute(
            "DELETE FROM public.books WHERE id <= 10; UPDATE public.books SET title = 'New' WHERE id = 11; INSERT INTO public.books(id) VALUES (1000)"
        )
        let lost = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(lost?.description == "the slot \(slot) is gone from the source; --recopy copies all tables again")
        let events = try followed.follow { $0.recopiesWhenLost = true }
        #expect(events.first == "warning: \(lost?.description ?? "")", "\(events)")
        #expect(events.contains("copied public.books: 2"), "\(events)")
        try followed.requireEqual()
        let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
        let order = OrderDefinition(entity: "Book", sortKeys: [SortKey("publisher"), SortKey("price", .descending)])
        try container.withOrder(order, .init(cacheName: "by price")) { order in
            guard case .caughtUp(let change) = order.outcome else { throw Unexpected() }
            // Ten rows are deleted, one is new, and one has another title.
            #expect(change.rows.count == 12)
        }
        // Another reader has advanced the slot.
        try connection.execute("INSERT INTO public.books(id) VALUES (1001)")
        try connection.execute("SELECT pg_replication_slot_advance('\(slot)', pg_current_wal_lsn())")
        let passed = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(passed?.description.contains("ahead of this store") ?? false)
        try followed.follow { $0.recopies = true }
        try followed.requireEqual()
    }

    private struct Unexpected: Error {}
}
