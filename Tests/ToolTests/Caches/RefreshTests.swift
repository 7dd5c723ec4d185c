import Foundation
import FetchIndexTestSupport
import Testing

/// `refresh` makes caches current, so that the next fetches are hits.
@Suite struct RefreshTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        let rows = (0..<200).map { "\($0),name \($0 % 7),\($0 * 31 % 200)\n" }
        let file = try tool.file("rows.csv", "code,name,size\n" + rows.joined())
        #expect(try tool.run("import", tool.store, file, "--entity", "Item", "--key", "code").status == 0)
        for (name, sort) in [("a", "name"), ("b", "size")] { #expect(try fetch(name, sort) == "rebuilt") }
    }

    private func fetch(_ name: String, _ sort: String) throws -> String? {
        let result = try tool.run(
            "fetch", tool.store, "--entity", "Item", "--sort", sort, "--cache", name, "--output", "json")
        return (result["outcome"] as? [String: Any])?["kind"] as? String
    }

    private func change(_ code: Int) throws {
        let file = try tool.file(
            "changes.jsonl", #"{"op":"update","key":\#(code),"values":{"size":\#(code + 900)}}"# + "\n")
        #expect(try tool.run("apply", tool.store, file, "--entity", "Item", "--key", "code").status == 0)
    }

    private func refresh(_ names: String...) throws -> [[String: Any]] {
        let result = try tool.run(["refresh", tool.store] + names + ["--output", "json"])
        #expect(result.status == 0, "\(result.error)")
        return try #require(result.json as? [[String: Any]])
    }

    private func kinds(_ reports: [[String: Any]]) -> [String?] {
        reports.map { ($0["outcome"] as? [String: Any])?["kind"] as? String }
    }

    @Test func commandsForAllCachesSayThatThereAreNone() throws {
        #expect(try tool.run("cache", "delete", tool.store, "--all").status == 0)
        for command in [["refresh"], ["cache", "verify"], ["cache", "rebuild"], ["cache", "list"]] {
            #expect(try tool.run(command + [tool.store]).output == "the store has no caches\n")
            #expect(try tool.run(command + [tool.store, "--output", "json"]).output == "[]\n")
        }
    }

    @Test func refreshUpdatesAllOrNamedCaches() throws {
        #expect(kinds(try refresh()) == ["hit", "hit"])
        try change(3)
        let one = try refresh("b")
        #expect(one.map { $0["name"] as? String } == ["b"])
        #expect(kinds(one) == ["caughtUp"])
        #expect(kinds(try refresh()) == ["caughtUp", "hit"])
        try change(4)
        #expect(kinds(try refresh("b", "a")) == ["caughtUp", "caughtUp"])
        #expect(try fetch("b", "size") == "hit")
        // Every writer maintains indexes, so `refresh` leaves them out.
        #expect(try tool.run("model", "index", "add", tool.store, "size").status == 0)
        let table = try tool.run("refresh", tool.store)
        #expect(table.status == 0)
        #expect(table.output.contains("a: hit, in "))
        #expect(table.output.contains(": 200 rows"))
    }

    /// `cache rebuild --all` builds all caches in one shared scan. There are enough records for three threads.
    @Test(arguments: [1, 3]) func cachesRebuiltInASharedScanKeepTheirRows(threads: Int) throws {
        let rows = (0..<30_000).map { "\($0 * 7919 % 30_000),k\($0 % 40),\($0 % 1000)\n" }
        let file = try tool.file("many.csv", "id,kind,size\n" + rows.joined())
        let store = tool.store + "-many"
        let options = ["--threads", "\(threads)"]
        _ = try tool.run(["import", store, file, "--entity", "Row", "--key", "id"] + options)
        let requests = [
            "all": ["--section", "kind", "--sort", "size,id"], "few": ["--where", "size < 10", "--sort", "id:desc"],
            "none": ["--where", "size < 0", "--section", "kind", "--section-order", "count"],
        ]
        for (name, request) in requests {
            _ = try tool.run(["fetch", store, "--entity", "Row", "--cache", name, "--sections-only"] + request)
        }
        let fetch = ["fetch", store, "--cache", "all", "--output", "jsonl"]
        let before = try tool.run(fetch).output
        let rebuilt = try tool.run(["cache", "rebuild", store, "--all", "--output", "json"] + options)
        let reports = try #require(rebuilt.json as? [[String: Any]], "\(rebuilt)")
        #expect(reports.map { $0["name"] as? String } == ["all", "few", "none"])
        #expect(reports.map { $0["rows"] as? Int } == [30_000, 300, 0])
        let verified = try tool.run("cache", "verify", store)
        #expect(verified.status == 0, "\(verified.output)")
        #expect(try tool.run(fetch).output == before)
        #expect(before.split(separator: "\n").count == 30_000)
        #expect(
            kinds(
                try #require(try tool.run(["refresh", store, "--output", "json"] + options).json as? [[String: Any]]))
                == ["hit", "hit", "hit"])
    }

    /// Imports and fetches with 1, 2 and 4 threads store and print the same.
    @Test func resultsDoNotDependOnTheNumberOfThreads() throws {
        var generator = SeededGenerator(seed: 15)
        let rows = (0..<30_000).shuffled(using: &generator).map { "path/\($0 / 100)/\($0),\($0 % 70),\"a, \(($0))\"\n" }
        let file = try tool.file("many.csv", "path,kind,name\n" + rows.joined() + rows.prefix(50).joined())
        var outputs: Set<String> = []
        for threads in [1, 2, 4] {
            let (store, options) = (tool.store + "-\(threads)", ["--threads", "\(threads)"])
            let imported = try tool.run(["import", store, file, "--entity", "Row", "--key", "path"] + options)
            #expect(imported.status == 0, "\(imported)")
            let fetch = ["fetch", store, "--entity", "Row", "--output", "tsv"] + options
            let found = try tool.run(fetch + ["--where", "name CONTAINS '77' AND kind < 60"]).output
            let sorted = try tool.run(fetch + ["--where", "name CONTAINS '77'", "--sort", "kind:desc,path"]).output
            let sections = try tool.run(
                fetch + ["--section", "kind", "--sort", "name", "--cache", "c", "--sections-only"]
            ).output
            #expect(found.split(separator: "\n").count > 100)
            outputs.insert(try tool.run("export", store, "-").output + found + sorted + sections)
            #expect(try tool.run("check", store).status == 0)
        }
        #expect(outputs.count == 1)
    }

    @Test func anUnknownCacheIsRefusedBeforeAnyRefresh() throws {
        try change(3)
        let result = try tool.run("refresh", tool.store, "b", "c")
        #expect(result.status == 2)
        #expect(result.error.contains("there is no cache \"c\""))
        #expect(try fetch("b", "size") == "caughtUp")
    }

    @Test func otherCachesAreRefreshedAfterTheRefreshOfOneFails() throws {
        try change(3)
        #expect(try tool.run("model", "migrate", tool.store, "--entity", "Item", "--drop", "name").status == 0)
        let result = try tool.run("refresh", tool.store)
        #expect(result.status == 1)
        #expect(result.output.hasPrefix("b: "))
        #expect(result.error.contains("a: ") && result.error.contains("name"))
        #expect(result.error.hasSuffix("not all caches could be refreshed\n"))
        #expect(try fetch("b", "size") == "hit")
        let reports = try #require(try tool.run("refresh", tool.store, "--output", "json").json as? [[String: Any]])
        #expect(reports.map { $0["error"] != nil } == [true, false])
    }
}
