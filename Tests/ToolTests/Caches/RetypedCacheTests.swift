import FetchIndexTestSupport
import Testing

/// Caches whose requests use an attribute that changes its type several times.
@Suite struct RetypedCacheTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        let rows = (0..<20).map { "k\($0),\($0 % 5)\n" }
        let file = try tool.file("rows.csv", "k,b\n" + rows.joined())
        #expect(try tool.run("import", tool.store, file, "--entity", "E", "--key", "k").status == 0)
        let options = ["--section", "b", "--sort", "b,k", "--where", "b > 1", "--aggregate", "sum(b)"]
        for name in ["c", "d"] {
            let fetch = ["fetch", tool.store, "--entity", "E", "--cache", name, "--sections-only"]
            #expect(try tool.run(fetch + options).status == 0)
        }
    }

    @Test func cachesKeepTheirRequestsAfterEachChangeOfAType() throws {
        for (index, type) in ["double", "decimal", "integer", "double"].enumerated() {
            #expect(try tool.run("model", "migrate", tool.store, "--change", "b:\(type)").status == 0)
            // The first two changes are followed by a refresh of c, and the last two by a refresh of d.
            let refreshed = try tool.run("refresh", tool.store, index < 2 ? "c" : "d", "--output", "json")
            #expect(refreshed.status == 0, "\(type): \(refreshed.error)")
            let result = try tool.run("cache", "show", tool.store, index < 2 ? "c" : "d", "--output", "json")
            let shown = try #require(result["cache"] as? [String: Any])
            #expect(shown["predicate"] as? String == "b > 1")
            #expect(shown["sort"] as? String == "b,k")
            #expect(shown["section"] as? String == "b")
            #expect(shown["aggregates"] as? String == "sum(b)")
            #expect(shown["rows"] as? Int == 12)
        }
        #expect(try tool.run("refresh", tool.store).status == 0)
        #expect(try tool.run("cache", "verify", tool.store).status == 0)
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func anAttributeMayHaveANameLikeThePermanentNameOfARetypedAttribute() throws {
        let migrations = ["b~3:integer=7", "b~2:integer=8"]
        for added in migrations {
            #expect(try tool.run("model", "migrate", tool.store, "--add", added).status == 0)
        }
        for type in ["double", "decimal"] {
            #expect(try tool.run("model", "migrate", tool.store, "--change", "b:\(type)").status == 0)
        }
        #expect(try tool.run("refresh", tool.store).status == 0)
        let rows = try tool.rows("--entity", "E", "--sort", "k", "--cache", "e", "--where", "b > 1")
        #expect(rows.count == 12)
        #expect(rows.allSatisfy { $0["b~3"] as? Int == 7 && $0["b~2"] as? Int == 8 })
        #expect(try tool.run("cache", "verify", tool.store).status == 0)
    }
}
