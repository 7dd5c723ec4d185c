import Foundation
import FetchIndexTestSupport
import Testing

/// Each batch that `apply` and `changes` print as JSON has an outcome. A batch with empty lists means that nothing
/// changed; the batch of a rebuilt cache has no lists.
@Suite struct BatchOutcomeTests {
    let tool: Tool
    let request = ["--entity", "Row", "--section", "kind", "--sort", "size", "--cache", "c"]

    init() throws { tool = try Tool() }

    private func importRows(_ count: Int) throws {
        let rows = (0..<count).map { "\($0),k\($0 % 7),\($0 * 7919 % count)\n" }.joined()
        let file = try tool.file("rows.csv", "id,kind,size\n" + rows)
        #expect(try tool.run("import", tool.store, file, "--entity", "Row", "--key", "id").status == 0)
    }

    private func changes(_ keys: some Sequence<Int>, kind: String) throws -> String {
        try tool.file(
            "changes.jsonl",
            keys.map { "{\"op\":\"update\",\"key\":\($0),\"values\":{\"kind\":\"\(kind)\"}}\n" }.joined())
    }

    private func batches(_ result: Tool.Result) -> [[String: Any]] {
        result.output.split(separator: "\n").map {
            (try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) ?? [:]
        }
    }

    private func outcome(_ batch: [String: Any]?) -> String {
        let outcome = batch?["outcome"] as? [String: Any]
        let reason = outcome?["reason"] as? String
        return (outcome?["kind"] as? String ?? "") + (reason.map { " " + $0 } ?? "")
    }

    /// After this number of changes, a fetch would rebuild the cache. `apply` and `changes` print the exact batch.
    @Test(arguments: ["apply", "changes"]) func aBatchOfThirtyThousandRowsIsReportedExactly(command: String) throws {
        try importRows(31_000)
        #expect(try tool.run(["fetch", tool.store, "--sections-only"] + request).status == 0)
        let file = try changes(0..<30_000, kind: "new")
        var result = try tool.run(
            ["apply", tool.store, file, "--output", "json"] + (command == "apply" ? request : ["--entity", "Row"]))
        #expect(result.status == 0)
        if command == "changes" {
            result = try tool.run("changes", tool.store, "--cache", "c", "--output", "json")
        }
        let batch = batches(result).first
        #expect(outcome(batch) == "caughtUp")
        #expect((batch?["rows"] as? [Any])?.count == 30_000)
        #expect((batch?["sections"] as? [Any])?.isEmpty == false)
        let verified = try tool.run("cache", "verify", tool.store)
        #expect(verified.status == 0, "\(verified.output)")
    }

    @Test func aRebuiltCacheIsReportedWithoutRowsAndSections() throws {
        try importRows(400)
        #expect(try tool.run(["fetch", tool.store, "--sections-only"] + request).status == 0)
        try damageNodes()
        let file = try changes([3], kind: "new")
        let result = try tool.run(["apply", tool.store, file, "--output", "json"] + request)
        #expect(result.status == 0, "\(result.error)")
        let batch = batches(result).first
        #expect(outcome(batch) == "rebuilt damaged")
        #expect(batch?["rows"] == nil)
        #expect(batch?["sections"] == nil)
    }

    /// Formats that have only rows cannot express a rebuild. So `changes` reports an error once, and rows the next
    /// time.
    @Test(arguments: ["csv", "jsonl"]) func aRebuildIsAnErrorInFormatsOfRows(format: String) throws {
        try importRows(400)
        #expect(try tool.run(["fetch", tool.store, "--sections-only"] + request).status == 0)
        try damageNodes()
        let file = try changes([3], kind: "new")
        #expect(try tool.run(["apply", tool.store, file, "--entity", "Row"]).status == 0)
        let result = try tool.run("changes", tool.store, "--cache", "c", "--output", format)
        #expect(result.status == 1)
        #expect(result.output.isEmpty)
        #expect(result.error.contains("the changes of \"c\" are unknown"), "\(result.error)")
        let later = try changes([5], kind: "newer")
        #expect(try tool.run(["apply", tool.store, later, "--entity", "Row"]).status == 0)
        let next = try tool.run("changes", tool.store, "--cache", "c", "--output", format)
        #expect(next.status == 0 && next.error.isEmpty, "\(next.error)")
        #expect(next.output.split(separator: "\n").count == (format == "csv" ? 2 : 1), "\(next.output)")
    }

    /// If a change of the model makes a cache unusable, the cache's unread changes are lost, and `apply` reports a
    /// rebuild. If the cache stays usable, `apply` also reports the unread changes.
    @Test(arguments: [false, true]) func afterAModelChangeApplyReportsARebuildOnlyIfTheCacheIsUnusable(readsType: Bool)
        throws
    {
        try importRows(400)
        #expect(try tool.run(["fetch", tool.store, "--sections-only"] + request).status == 0)
        let first = try changes([3], kind: "new")
        #expect(try tool.run(["apply", tool.store, first, "--entity", "Row"]).status == 0)
        let migration = readsType ? ["--change", "size:double"] : ["--add", "note:string"]
        #expect(try tool.run(["model", "migrate", tool.store, "--entity", "Row"] + migration).status == 0)
        let second = try changes([4], kind: "new")
        let result = try tool.run(
            ["apply", tool.store, second, "--entity", "Row", "--cache", "c", "--output", "json"])
        #expect(result.status == 0, "\(result.error)")
        let told = batches(result)
        #expect(told.map(outcome) == (readsType ? ["rebuilt modelChanged", "caughtUp"] : ["caughtUp"]))
        #expect((told.last?["rows"] as? [Any])?.count == (readsType ? 1 : 2))
        let next = try tool.run("changes", tool.store, "--cache", "c", "--output", "json")
        #expect(outcome(next.json as? [String: Any]) == "hit")
    }

    /// Nobody has read a missing cache, so `apply` doesn't report that it was built.
    @Test func applyBuildsAMissingCacheSilently() throws {
        try importRows(400)
        let result = try tool.run(["apply", tool.store, try changes([3], kind: "new"), "--output", "json"] + request)
        #expect(batches(result).map(outcome) == ["caughtUp"])
    }

    /// A repaired cache is current, but its reader hasn't received the changes from before the repair.
    @Test func aRepairedCacheReportsTheRebuildToItsReader() throws {
        try importRows(400)
        #expect(try tool.run(["fetch", tool.store, "--sections-only"] + request).status == 0)
        #expect(try tool.run(["apply", tool.store, try changes([3], kind: "new"), "--entity", "Row"]).status == 0)
        try damageNodes()
        let repair = try tool.run("check", tool.store, "--repair")
        #expect(repair.output.contains("cache \"c\" was damaged: rebuilt"), "\(repair.output)")
        func next() throws -> String {
            try outcome(tool.run("changes", tool.store, "--cache", "c", "--output", "json").json as? [String: Any])
        }
        #expect(try next() == "rebuilt damaged")
        #expect(try next() == "hit")
    }

    /// A maintained cache is fresh, even if its reader hasn't received the last changes.
    @Test func cacheListsShowUnreadChanges() throws {
        try importRows(400)
        #expect(try tool.run(["fetch", tool.store, "--sections-only"] + request).status == 0)
        #expect(try tool.run("cache", "maintain", tool.store, "c").status == 0)
        func unread() throws -> UInt64? {
            let shown = try tool.run("cache", "show", tool.store, "c", "--output", "json")["cache"] as? [String: Any]
            let list = try tool.run("cache", "list", tool.store, "--output", "json").json as? [[String: Any]]
            #expect(shown?["state"] as? String == "fresh")
            #expect(list?.first?["unreadSince"] as? UInt64 == shown?["unreadSince"] as? UInt64)
            return shown?["unreadSince"] as? UInt64
        }
        #expect(try unread() == nil)
        #expect(try tool.run(["apply", tool.store, try changes([3], kind: "new"), "--entity", "Row"]).status == 0)
        let commit = try #require(try unread())
        for command in ["list", "show"] {
            let table = try tool.run(["cache", command, tool.store] + (command == "show" ? ["c"] : [])).output
            #expect(table.contains("fresh, maintained, unread since commit \(commit)"), "\(table)")
        }
        #expect(try tool.run("cache", "maintain", tool.store, "c", "--stop").status == 0)
        #expect(try unread() == commit)
        #expect(try tool.run("changes", tool.store, "--cache", "c").status == 0)
        #expect(try unread() == nil)
    }

    /// The fetch notices the damage before it prints anything.
    @Test func aFetchFromADamagedCachePrintsOneDocument() throws {
        try importRows(40_000)
        let fetch = ["fetch", tool.store, "--output", "json"] + request
        let whole = try tool.run(fetch)
        try damageNodes()
        let result = try tool.run(fetch)
        #expect(result.status == 0, "\(result.error)")
        #expect(result.json != nil)
        #expect(outcome(result.json as? [String: Any]) == "rebuilt damaged")
        #expect(result["rows"] as? NSArray == whole["rows"] as? NSArray)
        #expect(result["sections"] as? NSArray == whole["sections"] as? NSArray)
    }

    /// Changes a byte of some row keys in the cache's nodes. The records stay as they are.
    private func damageNodes() throws {
        let file = URL(fileURLWithPath: tool.store + "/data.mdb")
        var data = try Data(contentsOf: file)
        // In a row key, these bytes are the end of the section's text "k5" and the beginning of the size. A row key
        // lacks them if they are in the prefix that its node stores once for several keys.
        let key = Data([0x35, 0x00, 0x01, 0x04, 0x80])
        var found = 0
        var start = data.startIndex
        while let range = data.range(of: key, in: start..<data.endIndex) {
            if found % 50 == 25 || found < 3 { data[range.lowerBound] = 0x36 }
            found += 1
            start = range.upperBound
        }
        try #require(found > 0)
        try data.write(to: file)
    }

    @Test func sectionOffsetAndLimitSelectSections() throws {
        let rows = "id,kind\n" + (0..<60).map { "\($0),s\($0 + 10)\n" }.joined() + "60,\n61,\"\"\n"
        let file = try tool.file("rows.csv", rows)
        #expect(try tool.run("import", tool.store, file, "--entity", "Row", "--key", "id").status == 0)
        let request = ["--entity", "Row", "--section", "kind", "--section-order", "name", "--sections-only"]
        let json = try tool.run(["fetch", tool.store, "--output", "json"] + request)
        let names = (json["sections"] as? [[String: Any]] ?? []).map { $0["name"] as? String }
        #expect(names.count == 62)
        #expect(names.filter { $0 == nil }.count == 1)
        #expect(names.filter { $0 == "" }.count == 1)
        let page = try tool.run(
            ["fetch", tool.store, "--output", "json", "--section-offset", "3", "--section-limit", "2"] + request)
        #expect((page["sections"] as? [[String: Any]] ?? []).map { $0["name"] as? String } == ["s11", "s12"])
        #expect(page["sectionCount"] as? Int == 62)
        let table = try tool.run(["fetch", tool.store, "--section-limit", "2"] + request).output
        #expect(table.contains("(no value)"))
        #expect(table.contains("\"\""))
        #expect(table.contains("… 60 more sections"))
        #expect(try tool.run(["fetch", tool.store, "--section-offset", "-1"] + request).status == 2)
    }

    /// Batches distinguish the section of null from the section of "", like lists of sections do.
    @Test func theSectionOfNullIsNullInBatches() throws {
        let file = try tool.file("rows.csv", "id,kind\n1,a\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Row", "--key", "id").status == 0)
        let request = ["--entity", "Row", "--section", "kind", "--sort", "id", "--cache", "kinds"]
        #expect(try tool.run(["fetch", tool.store] + request).status == 0)
        let changes = try tool.file(
            "changes.jsonl",
            """
            {"op":"insert","values":{"id":2,"kind":null}}
            {"op":"insert","values":{"id":3,"kind":""}}

            """)
        let batch = try tool.run(["apply", tool.store, changes, "--key", "id", "--output", "json"] + request)
        let sections = batch["sections"] as? [[String: Any]] ?? []
        #expect(sections.count == 2)
        #expect(sections.filter { $0["name"] is NSNull }.count == 1)
        #expect(sections.filter { $0["name"] as? String == "" }.count == 1)
        let more = try tool.file("more.jsonl", "{\"op\":\"delete\",\"key\":2}\n{\"op\":\"delete\",\"key\":3}\n")
        let table = try tool.run(["apply", tool.store, more, "--key", "id"] + request).output
        #expect(table.contains("(no value)"))
        #expect(table.contains("\"\""))
    }
}
