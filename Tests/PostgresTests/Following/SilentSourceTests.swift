import FetchIndex
import Foundation
import FetchIndexPostgresSource
import FetchIndexTestSupport
import Synchronization
import Testing

/// Sources that send nothing for a while, and first starts that are disturbed.
@Suite(.enabled(if: TestServer.isInstalled)) struct SilentSourceTests {
    /// The server's sending process is stopped, as if it waited, while the server answers commands.
    @Test func aSourceThatSendsNothingIsTold() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY); INSERT INTO public.t VALUES (1)")
        try followed.follow(["t"])
        let warnings = Mutex<[String]>([])
        let isEnding = Atomic(false)
        let (hasBegun, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        try connection.execute("INSERT INTO public.t SELECT generate_series(2, 2000)")
        Thread.detachNewThread {
            var options = FollowOptions()
            options.stallSeconds = 0.6
            // The follower is released before the test goes on.
            try? Follower(
                storeAt: followed.store, options, isInterrupted: { isEnding.load(ordering: .relaxed) }
            ) { event in
                if case .warning(let text) = event { warnings.withLock { $0.append(text) } }
                if case .transaction = event { hasBegun.signal() }
            }.run()
            done.signal()
        }
        // The stream has begun.
        #expect(hasBegun.wait(timeout: .now() + 60) == .success)
        let sender = """
            SELECT r.pid FROM pg_stat_replication r JOIN pg_stat_activity a ON a.pid = r.pid
            WHERE a.datname = current_database()
            """
        let process = try connection.value(sender).flatMap { pid_t($0) }
        let stopped = try #require(process)
        kill(stopped, SIGSTOP)
        defer { kill(stopped, SIGCONT) }
        try connection.execute("INSERT INTO public.t SELECT generate_series(2001, 4000)")
        func hasToldStall() -> Bool {
            warnings.withLock { $0.contains { $0.hasPrefix("the source has sent nothing for ") } }
        }
        let end = Date() + 60
        while !hasToldStall(), Date() < end { usleep(50_000) }
        #expect(hasToldStall(), "\(warnings.withLock { $0 })")
        kill(stopped, SIGCONT)
        isEnding.store(true, ordering: .relaxed)
        done.wait()
        try followed.follow()
        #expect(try followed.rows("t", key: "id").count == 4000)
    }

    /// The process that answers commands is stopped, as if the server hung.
    @Test func anInterruptionEndsTheWaitForAnAnswer() throws {
        let (followed, connection) = try Followed.database("CREATE TABLE public.t(id integer PRIMARY KEY)")
        try followed.follow(["t"])
        let isEnding = Atomic(false)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            var options = FollowOptions()
            options.stallSeconds = 0.6
            try? Follower(
                storeAt: followed.store, options, isInterrupted: { isEnding.load(ordering: .relaxed) }
            ) { _ in }.run()
            done.signal()
        }
        let other = """
            SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
                AND pid <> pg_backend_pid()
            """
        var process: pid_t?
        let end = Date() + 60
        while process == nil, Date() < end {
            usleep(500_000)
            process = try connection.value(other).flatMap { pid_t($0) }
        }
        let stopped = try #require(process)
        kill(stopped, SIGSTOP)
        defer { kill(stopped, SIGCONT) }
        usleep(3_000_000)
        isEnding.store(true, ordering: .relaxed)
        #expect(done.wait(timeout: .now() + 30) == .success)
    }

    /// The server waits for a standby that is away, and is shut down meanwhile.
    @Test(.enabled(if: TestServer.hasFailoverSlots)) func aServerThatWaitsForAStandbyMayBeShutDown() throws {
        let server = try TestServer()
        defer { server.stop() }
        let followed = Followed(address: try server.makeDatabase())
        try Connection(followed.address).execute("CREATE TABLE public.t(id integer PRIMARY KEY)")
        try followed.follow(["t"])
        try server.run("SELECT pg_create_physical_replication_slot('standby')")
        try server.run("ALTER SYSTEM SET synchronized_standby_slots = 'standby'")
        try server.run("SELECT pg_reload_conf()")
        let follower = try Child(Followed.executable, [followed.store], errors: "/dev/null")
        try Connection(followed.address).execute("INSERT INTO public.t VALUES (1)")
        usleep(1_500_000)
        server.stop()
        usleep(500_000)
        #expect(follower.isRunning)
        try server.start()
        try server.run("ALTER SYSTEM RESET synchronized_standby_slots")
        try server.run("SELECT pg_reload_conf()")
        let end = Date() + 60
        while try followed.rows("t", key: "id").isEmpty, follower.isRunning, Date() < end { usleep(100_000) }
        #expect(try followed.rows("t", key: "id").keys.sorted() == ["1"])
        follower.interrupt()
        _ = follower.wait()
    }

    /// The table is locked for longer than a follower waits, so its condition can't be checked at first.
    @Test(.enabled(if: TestServer.hasFilters)) func aDisturbedFirstStartIsTriedAgain() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY); INSERT INTO public.t VALUES (1), (2)")
        try connection.execute("BEGIN; LOCK TABLE public.t IN ACCESS EXCLUSIVE MODE")
        let errors = followed.folder.path + ".errors"
        defer { try? FileManager.default.removeItem(atPath: errors) }
        let follower = try Child(
            Followed.executable, [followed.store, followed.address, "--table", "t", "--where", "id > 1"], errors: errors
        )
        func text() -> String { (try? String(contentsOfFile: errors, encoding: .utf8)) ?? "" }
        let end = Date() + 60
        while !text().contains("trying again in 1 s"), follower.isRunning, Date() < end { usleep(50_000) }
        try connection.execute("COMMIT")
        func hasRows() -> Bool { (try? followed.rows("t", key: "id").isEmpty) == false }
        while !hasRows(), follower.isRunning, Date() < end { usleep(50_000) }
        follower.interrupt()
        while follower.isRunning, Date() < end { usleep(20_000) }
        #expect(text().contains("trying again in 1 s"), "\(text())")
        #expect(try followed.rows("t", key: "id").keys.sorted() == ["2"])
        // A job that only catches up fails instead.
        let other = Followed(address: followed.address)
        try connection.execute("BEGIN; LOCK TABLE public.t IN ACCESS EXCLUSIVE MODE")
        let error = #expect(throws: SourceError.self) { try other.follow(["t"]) { $0.tables[0].condition = "id > 1" } }
        #expect(error?.kind == .connection)
        try connection.execute("COMMIT")
    }

    /// The first attempt is killed after it made its slot and its publication in one database. The next one follows
    /// another database.
    @Test func whatAFailedFirstStartMadeIsTakenAway() throws {
        let (followed, connection) = try Followed.database("CREATE TABLE public.t(id integer PRIMARY KEY)")
        let (second, _) = try Followed.database("CREATE TABLE public.u(id integer PRIMARY KEY)")
        let waiting = try Connection(followed.address)
        try waiting.execute("BEGIN; SELECT pg_current_xact_id()")
        let follower = try Child(
            Followed.executable, [followed.store, followed.address, "--table", "t"], errors: "/dev/null")
        let slots = "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
        while try connection.value(slots) == "0", follower.isRunning { usleep(20_000) }
        follower.killAtOnce()
        _ = follower.wait()
        try waiting.execute("COMMIT")
        let end = Date() + 60
        while try connection.value(slots + " AND active") != "0", Date() < end { usleep(20_000) }
        try followed.follow(["u"]) { $0.address = second.address }
        #expect(try connection.value(slots) == "0")
        #expect(try connection.value("SELECT count(*) FROM pg_publication") == "0")
    }
}
