import Foundation
import TestSupport
import Testing

/// `refresh`: caches are brought up to date before they are fetched.
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

    @Test func allCachesOrSomeAreBroughtUpToDate() throws {
        #expect(kinds(try refresh()) == ["hit", "hit"])
        try change(3)
        let one = try refresh("b")
        #expect(one.map { $0["name"] as? String } == ["b"])
        #expect(kinds(one) == ["caughtUp"])
        #expect(kinds(try refresh()) == ["caughtUp", "hit"])
        try change(4)
        #expect(kinds(try refresh("b", "a")) == ["caughtUp", "caughtUp"])
        #expect(try fetch("b", "size") == "hit")
        // Indexes are up to date always.
        #expect(try tool.run("model", "index", "add", tool.store, "size").status == 0)
        let table = try tool.run("refresh", tool.store)
        #expect(table.status == 0)
        #expect(table.output.contains("a: hit, in "))
        #expect(table.output.contains(": 200 rows"))
    }

    @Test func anUnknownCacheIsNamedBeforeAnythingIsDone() throws {
        try change(3)
        let result = try tool.run("refresh", tool.store, "b", "c")
        #expect(result.status == 2)
        #expect(result.error.contains("there is no cache \"c\""))
        #expect(try fetch("b", "size") == "caughtUp")
    }
}
