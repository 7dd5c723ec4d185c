import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexRecords
import FetchIndexTestSupport
import Synchronization
import Testing

// Lost connections and a lost slot.
extension FollowFaultTests {
    @Test func anInterruptionEndsAFollowerThatCannotConnect() throws {
        let server = try TestServer()
        defer { server.stop() }
        let followed = try start(server)
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

    /// The connection for commands is cut once, when the follower begins its work. One row is missing in the store. The
    /// stream sends the row's update without the large value, so the row must be read from the source.
    @Test func aLostCommandConnectionLosesNoChanges() throws {
        let followed = try start(TestServer.shared())
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
        try requireEqual(followed)
    }

    /// A dropped slot ends the follower with one sentence. Another copy then changes exactly the rows that differ. A
    /// slot that another program has advanced is noticed, too.
    @Test func aDroppedOrAdvancedSlotIsNoticed() throws {
        let followed = try start(TestServer.shared())
        let connection = try Connection(followed.address)
        try followed.follow(["books=Book", "notes"])
        try fetchOrders(followed)
        let slot = try #require(
            try PersistentContainer(at: URL(fileURLWithPath: followed.store)).followedSource(as: FollowedSource.self)?
                .slot)
        try connection.dropSlot(slot)
        try connection.execute(
            "DELETE FROM public.books WHERE id <= 10; UPDATE public.books SET title = 'New' WHERE id = 11; INSERT INTO public.books(id) VALUES (1000)"
        )
        let lost = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(lost?.description == "the source no longer has the slot \(slot); all tables must be copied again")
        let events = try followed.follow { $0.recopiesWhenLost = true }
        #expect(events.first == "warning: \(lost?.reason ?? "")", "\(events)")
        #expect(events.contains("copied public.books: 2"), "\(events)")
        try requireEqual(followed)
        let container = try PersistentContainer(at: URL(fileURLWithPath: followed.store))
        let order = OrderDefinition(entity: "Book", sortKeys: [SortKey("publisher"), SortKey("price", .descending)])
        try container.withOrder(order, .init(cacheName: "by price")) { order in
            guard case .caughtUp(let change) = order.outcome else { throw Unexpected() }
            // Ten rows are deleted, one is new, and one has another title.
            #expect(change.rows.count == 12)
        }
        // Another program has advanced the slot.
        try connection.execute("INSERT INTO public.books(id) VALUES (1001)")
        try connection.execute("SELECT pg_replication_slot_advance('\(slot)', pg_current_wal_lsn())")
        let passed = #expect(throws: SourceError.self) { try followed.follow() }
        #expect(passed?.description.contains("ahead of this store") ?? false)
        try followed.follow { $0.recopies = true }
        try requireEqual(followed)
    }

    private struct Unexpected: Error {}
}
