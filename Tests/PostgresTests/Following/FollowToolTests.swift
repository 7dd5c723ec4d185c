import FetchIndexPostgresSource
import FetchIndexTestSupport
import Foundation
import Testing

/// The program behind `fetchindex follow` ends with sentences that say what to type.
@Suite(.enabled(if: TestServer.isInstalled)) struct FollowToolTests {
    /// Runs the program and requires its status and the last line of its errors.
    private func require(
        _ followed: Followed, _ arguments: [String], status: Int32, _ sentence: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let errors = followed.folder.path + ".errors"
        defer { unlink(errors) }
        let program = try Child(Followed.executable, [followed.store] + arguments, errors: errors)
        let found = program.wait()
        let last = try String(contentsOfFile: errors, encoding: .utf8).split(separator: "\n").last ?? ""
        #expect(found == status && last == "fetchindex follow: \(sentence)", "\(last)", sourceLocation: sourceLocation)
    }

    @Test func refusalsSayWhatToType() throws {
        let (followed, connection) = try Followed.database(
            "CREATE TABLE public.t(id integer PRIMARY KEY, v integer, tags text[])",
            "CREATE TABLE public.bare(v integer)", "CREATE TABLE public.u(id integer PRIMARY KEY)")
        let source = followed.address
        try require(
            followed, [], status: 2, "the store follows nothing yet: pass postgres://… and --table")
        try require(
            followed, [source, "--table", "bare"], status: 1,
            "public.bare has no primary key; --key can name columns that are NOT NULL and have a unique index, and "
                + "with REPLICA IDENTITY FULL the source's log needs no key"
        )
        try require(
            followed, [source, "--table", "t", "--change-table", "--text", "tags"], status: 1,
            "the source does not note all changes: `fetchindex follow … --print-setup` prints the SQL that creates the change table and its "
                + "triggers")
        try require(
            followed, [source, "--table", "t=E", "--table", "u=E", "--text", "E:tags"], status: 2,
            "two tables cannot become one entity: --table SCHEMA.TABLE=ENTITY names another entity")
        try followed.follow(["t"]) { $0.tables[0].asText = ["tags"] }
        try require(
            followed, [source, "--table", "t=Other"], status: 2,
            "the store follows public.t=t, and the entity of public.t cannot change; --end ends following, so that the store can follow anew"
        )
        try connection.execute("ALTER TABLE public.t ALTER v TYPE text; UPDATE public.t SET v = 'x'")
        try require(
            followed, ["--once"], status: 1,
            "public.t.v has another type now, text, but t.v is stored as integer: `fetchindex model migrate STORE --entity t --change "
                + "v:string` converts it; follow again after that")
        try connection.execute("DROP TABLE public.t")
        try require(
            followed, ["--once"], status: 1,
            "public.t was dropped or renamed, or is not published any more; --recopy copies all tables again if the source has the "
                + "table, and --drop-table public.t takes it out"
        )
    }

    @Test func theErrorForALostSlotSaysWhatToType() throws {
        let (followed, connection) = try Followed.database("CREATE TABLE public.t(id integer PRIMARY KEY)")
        try followed.follow(["t"])
        let name = try connection.value(
            "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()")
        let slot = try #require(name)
        try connection.dropSlot(slot)
        try require(
            followed, ["--once"], status: 1,
            "the source no longer has the slot \(slot); --recopy copies all tables again")
    }

    @Test func metricsTellTheGreatestLagAlsoAfterTheFollowerWasKilled() throws {
        let (followed, _) = try Followed.database("CREATE TABLE public.t(id integer PRIMARY KEY)")
        try followed.follow(["t"])
        let file = followed.folder.path + ".metrics"
        defer { unlink(file) }
        let tool = URL(fileURLWithPath: Followed.executable).deletingLastPathComponent()
            .appendingPathComponent("fetchindex").path
        func metric(_ name: String) throws -> Double? {
            let program = try Child(tool, ["info", followed.store, "--output", "prometheus"], output: file)
            #expect(program.wait() == 0)
            let line = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").first {
                $0.hasPrefix("fetchindex_source_\(name){") && $0.contains("source=\"main\"")
            }
            return line?.split(separator: " ").last.flatMap { Double($0) }
        }
        let follower = try Child(Followed.executable, [followed.store])
        let end = Date() + 60
        while try metric("lag_seconds") == nil, Date() < end { usleep(100_000) }
        #expect(try metric("greatest_lag_seconds") != nil)
        follower.killAtOnce()
        _ = follower.wait()
        let first = try #require(try metric("greatest_lag_seconds"))
        usleep(1_000_000)
        #expect(try #require(try metric("greatest_lag_seconds")) >= first + 1)
        #expect(try metric("lag_seconds") == nil)
    }
}
