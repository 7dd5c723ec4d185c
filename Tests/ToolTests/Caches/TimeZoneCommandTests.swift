import Foundation
import FetchIndexTestSupport
import Testing

/// Sections of dates in a time zone can depend on the machine's time zone data. Their caches are rebuilt when the data
/// of their time zone change.
@Suite struct TimeZoneCommandTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        let file = try tool.file("rows.csv", "code,at\n1,2030-01-01T10:00:00Z\n2,2030-01-01T09:59:59Z\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Item", "--types", "at:date").status == 0)
    }

    /// Writes a folder of time zone data in which Cairo is `hours` ahead of UTC. Returns the environment that selects
    /// it.
    private func zones(_ version: String, hours: Int) throws -> [String: String] {
        let folder = tool.folder.path + "/zones \(version) \(hours)"
        let zone = CompiledZone(offsets: [Int32(hours * 3600)], rule: "<HERE>-\(hours)")
        try CompiledZone.write(["Africa/Cairo": zone], version: version, to: folder)
        return ["TZDIR": folder]
    }

    private func fetch(_ section: String, _ environment: [String: String]) throws -> (String, [String]) {
        let result = try tool.run(
            [
                "fetch", tool.store, "--entity", "Item", "--sort", "code", "--section", section, "--cache", section,
                "--sections-only", "--output", "json",
            ], environment: environment)
        #expect(result.status == 0, "\(result.error)")
        let outcome = try #require(result["outcome"] as? [String: Any])
        let sections = try #require(result["sections"] as? [[String: Any]])
        let kind = [outcome["kind"], outcome["reason"]].compactMap { $0 as? String }.joined(separator: " ")
        return (kind, sections.compactMap { $0["name"] as? String })
    }

    @Test func cachesWithSectionsInATimeZoneAreRebuiltWhenItsDataChange() throws {
        let old = try zones("2098a", hours: 2)
        #expect(try fetch("day(at,Africa/Cairo)", old) == ("rebuilt first", ["2030-01-01"]))
        #expect(try fetch("year(at,Africa/Cairo,coptic)", old) == ("rebuilt first", ["2029-09-11"]))
        for section in ["day(at)", "day(at,Asia/Tokyo)"] { #expect(try fetch(section, old).0 == "rebuilt first") }
        let new = try zones("2098b", hours: 14)
        #expect(try fetch("day(at,Africa/Cairo)", new) == ("rebuilt collationChanged", ["2030-01-02", "2030-01-01"]))
        #expect(try fetch("year(at,Africa/Cairo,coptic)", new).0 == "rebuilt collationChanged")
        #expect(try fetch("day(at,Africa/Cairo)", new) == ("hit", ["2030-01-02", "2030-01-01"]))
        // ICU supplies a time zone that the system's data lack, and UTC needs no data.
        #expect(try fetch("day(at)", new).0 == "hit")
        #expect(try fetch("day(at,Asia/Tokyo)", new).0 == "hit")
        // The time zone changes, but the version of the data stays.
        #expect(try fetch("day(at,Africa/Cairo)", zones("2098b", hours: 2)).0 == "rebuilt collationChanged")
        // Data older than ICU's are not used.
        #expect(try fetch("day(at,Africa/Cairo)", zones("2001a", hours: 14)).1 == ["2030-01-01"])
    }

    @Test func infoShowsWhichTimeZoneDataAreUsed() throws {
        let environment = try zones("2098c", hours: 2)
        let table = try tool.run(["info", tool.store], environment: environment)
        #expect(table.output.contains("zones   time zones of the system, 2098c; ICU has 20"), "\(table.output)")
        let new = try #require(
            tool.run(["info", tool.store, "--output", "json"], environment: environment)["timeZones"] as? [String: Any])
        #expect(new["version"] as? String == "2098c" && new["source"] as? String == "system")
        let old = try #require(
            tool.run(["info", tool.store, "--output", "json"], environment: zones("2001a", hours: 2))["timeZones"]
                as? [String: Any])
        #expect(old["source"] as? String == "ICU" && old["version"] as? String == old["icuVersion"] as? String)
        #expect(old["systemVersion"] as? String == "2001a")
        let none = try tool.run(["info", tool.store], environment: ["TZDIR": tool.folder.path + "/none"])
        #expect(none.status == 0 && none.output.contains("; the system does not tell a version"), "\(none.output)")
    }

    /// The error is one sentence. An import, a check and `info` work, and the store is sound.
    @Test func aFetchThatNeedsDamagedTimeZoneDataFailsButAnImportAndACheckWork() throws {
        let good = try zones("2098a", hours: 2)
        #expect(try fetch("day(at,Africa/Cairo)", good).0 == "rebuilt first")
        #expect(
            try tool.run(["cache", "maintain", tool.store, "day(at,Africa/Cairo)"], environment: good).status == 0)
        let bad = try zones("2098b", hours: 2)
        let file = try #require(bad["TZDIR"]) + "/Africa/Cairo"
        try Data("TZif2 damaged".utf8).write(to: URL(fileURLWithPath: file))
        let fetched = try tool.run(
            ["fetch", tool.store, "--entity", "Item", "--sort", "code", "--section", "day(at,Africa/Cairo)"],
            environment: bad)
        #expect(fetched.status == 1)
        #expect(fetched.error.hasSuffix("\(file) is damaged: it ends too soon; install the time zone data again\n"))
        #expect(fetched.error.split(separator: "\n").count == 1)
        let more = try tool.file("more.csv", "code,at\n3,2030-01-01T10:00:00Z\n")
        for command in [
            ["import", tool.store, more, "--entity", "Item"], ["check", tool.store], ["info", tool.store],
        ] {
            let result = try tool.run(command, environment: bad)
            #expect(result.status == 0, "\(command): \(result.error)")
        }
        #expect(try fetch("day(at,Africa/Cairo)", good).0 == "caughtUp")
    }
}
