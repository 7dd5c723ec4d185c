import Foundation
import FetchIndexTestSupport
import Testing

/// `cache lock`, `fetch --cache` alone, `--require` and `--timeout`: they keep caches from being replaced or built by
/// mistake.
@Suite struct LockedCacheTests {
    let tool: Tool
    private let other = ["--entity", "Row", "--sort", "size:desc", "--cache", "c"]

    init() throws {
        tool = try Tool()
        let rows = (0..<50).map { "\($0),k\($0 % 5),\($0)\n" }.joined()
        try succeed(
            "import", tool.store, tool.file("rows.csv", "id,kind,size\n" + rows), "--entity", "Row", "--key", "id")
        try succeed("fetch", tool.store, "--entity", "Row", "--section", "kind", "--sort", "size", "--cache", "c")
    }

    @discardableResult
    private func succeed(_ arguments: String...) throws -> Tool.Result {
        let result = try tool.run(arguments)
        try #require(result.status == 0, "\(arguments): \(result.error)")
        return result
    }

    private func fetch(_ arguments: String...) throws -> Tool.Result {
        try tool.run(["fetch", tool.store, "--cache", "c", "--output", "json"] + arguments)
    }

    private func kind(_ result: Tool.Result) -> String? { (result["outcome"] as? [String: Any])?["kind"] as? String }

    private func change() throws {
        let line = #"{"op":"update","key":3,"values":{"size":900}}"# + "\n"
        try succeed("apply", tool.store, tool.file("delta.jsonl", line), "--entity", "Row")
    }

    @Test func anotherRequestCannotReplaceALockedCache() throws {
        try succeed("cache", "lock", tool.store, "c")
        for request in [
            other, ["--entity", "Row", "--where", "size > 3", "--section", "kind", "--sort", "size", "--cache", "c"],
        ] {
            let result = try tool.run(["fetch", tool.store] + request)
            #expect(result.status == 2)
            #expect(result.error.contains("\"c\" is locked"), "\(result.error)")
            #expect(result.output.isEmpty)
            let file = try tool.file("delta.jsonl", "{\"op\":\"delete\",\"key\":1}\n")
            #expect(try tool.run(["apply", tool.store, file] + request).status == 2)
        }
        for arguments in [["delete", tool.store, "c"], ["delete", tool.store, "--all"]] {
            #expect(try tool.run(["cache"] + arguments).error.contains("\"c\" is locked"))
        }
        #expect(kind(try fetch()) == "hit")
        // For its own request, a locked cache is still caught up and rebuilt.
        try change()
        #expect(kind(try fetch()) == "caughtUp")
        try succeed("cache", "rebuild", tool.store, "c")
        try succeed("refresh", tool.store)
        try succeed("cache", "maintain", tool.store, "c")
        try succeed("cache", "unlock", tool.store, "c")
        #expect(try tool.run(["fetch", tool.store] + other).status == 0)
        try succeed("cache", "delete", tool.store, "c")
    }

    @Test func aLockIsShownAndCopiedByABackup() throws {
        func isLocked() throws -> [Bool?] {
            let list = try succeed("cache", "list", tool.store, "--output", "json").json as? [[String: Any]]
            return (list ?? []).map { $0["locked"] as? Bool }
        }
        #expect(try isLocked() == [false])
        #expect(try succeed("cache", "lock", tool.store, "c", "--output", "json")["locked"] as? Bool == true)
        #expect(try isLocked() == [true])
        #expect(try succeed("cache", "list", tool.store).output.contains("fresh, locked"))
        #expect(try succeed("cache", "show", tool.store, "c").output.contains("fresh, locked"))
        let copy = tool.folder.path + "/copy"
        try succeed("backup", tool.store, copy)
        #expect(try tool.run(["fetch", copy] + other).status == 2)
        #expect(try tool.run("cache", "lock", tool.store, "d").error.contains("there is no cache \"d\""))
        try succeed("cache", "unlock", tool.store, "c")
        #expect(try isLocked() == [false])
        try succeed("check", tool.store)
    }

    @Test func fetchingACacheByNameUsesItsRequest() throws {
        let result = try fetch()
        #expect(result.status == 0, "\(result.error)")
        #expect(kind(result) == "hit")
        #expect((result["sections"] as? [Any])?.count == 5)
        let unknown = try tool.run("fetch", tool.store, "--cache", "d")
        #expect(unknown.status == 2)
        #expect(unknown.error.contains("there is no cache \"d\""))
    }

    @Test func anUnmetRequirementLeavesTheCacheUnchanged() throws {
        #expect(try fetch("--require", "hit").status == 0)
        try change()
        let behind = try fetch("--require", "hit")
        #expect(behind.status == 4)
        #expect(behind.output.isEmpty)
        #expect(behind.error.contains("is behind"), "\(behind.error)")
        #expect(try tool.run(["fetch", tool.store, "--require", "hit,caughtUp"] + other).status == 4)
        #expect(try tool.run("fetch", tool.store, "--entity", "Row", "--cache", "new", "--require", "hit").status == 4)
        #expect(try succeed("cache", "list", tool.store, "--output", "json").json.map { ($0 as? [Any])?.count } == 1)
        // The cache is still behind, and still has its first request.
        #expect(kind(try fetch("--require", "caughtUp")) == "caughtUp")
        #expect(try fetch("--require", "caughtUp").status == 4)
        #expect(kind(try fetch("--require", "hit,caughtUp")) == "hit")
        for wrong in [["--require", "rebuilt"], ["--require", ""]] {
            #expect(try tool.run(["fetch", tool.store, "--cache", "c"] + wrong).status == 2)
        }
        #expect(try tool.run("fetch", tool.store, "--entity", "Row", "--require", "hit").status == 2)
    }

    @Test func aBuildWaitsForAWriterUntilItsTimeout() throws {
        let lock = open(tool.store + "/writer.lock", O_RDWR)
        try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
        defer { close(lock) }
        let start = Date()
        let result = try tool.run("fetch", tool.store, "--entity", "Row", "--cache", "new", "--timeout", "0.2")
        #expect(result.status == 1)
        #expect(result.error.contains("writ"), "\(result.error)")
        #expect(Date().timeIntervalSince(start) < 20)
        #expect(try tool.run("fetch", tool.store, "--entity", "Row", "--cache", "new", "--timeout", "-1").status == 2)
        flock(lock, LOCK_UN)
        try succeed("fetch", tool.store, "--entity", "Row", "--cache", "new", "--timeout", "20")
    }

    /// The section key and the section order are separate members of the JSON.
    @Test func cacheShowPrintsSectionKeyAndSectionOrderSeparately() throws {
        let shown = try succeed("cache", "show", tool.store, "c", "--output", "json")["cache"] as? [String: Any]
        #expect(shown?["section"] as? String == "kind")
        #expect(shown?["sectionOrder"] as? String == "first-row")
    }
}
