import Foundation
import FetchIndexTestSupport
import Testing

/// Indexes, maintained caches and derived attributes on the command line.
@Suite struct IndexCommandTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        var lines = "isbn,title,publisher,price\n"
        for number in 0..<60 { lines += "\(number),Title \(number),house \(number % 10),\(number * 10)\n" }
        let file = try tool.file("books.csv", lines)
        let result = try tool.run("import", tool.store, file, "--entity", "Book", "--key", "isbn")
        #expect(result.status == 0, "\(result.error)")
    }

    private func plan(_ predicate: String) throws -> [String: Any] {
        let result = try tool.run(
            "fetch", tool.store, "--entity", "Book", "--where", predicate, "--explain", "--output", "json")
        return try #require(result["plan"] as? [String: Any], "\(result.error)")
    }

    private func caches() throws -> [[String: Any]] {
        try #require(try tool.run("cache", "list", tool.store, "--output", "json").json as? [[String: Any]])
    }

    @Test func anIndexIsAddedUsedMaintainedAndDropped() throws {
        #expect(try plan("publisher == 'house 3'")["source"] as? String == "scan")
        let added = try tool.run("model", "index", "add", tool.store, "publisher,price:desc")
        #expect(added.status == 0, "\(added.error)")
        #expect(added.output.contains("add the index publisher,price:desc"))
        let name = "index:Book(publisher,price:desc)"
        let planned = try plan("publisher == 'house 3' AND price > 300")
        #expect(planned["source"] as? String == "order")
        #expect(planned["name"] as? String == name)
        #expect(planned["rowsRead"] as? Int == 3)
        let changes = try tool.file(
            "changes.jsonl",
            #"{"op":"insert","key":100,"values":{"title":"New","publisher":"house 3","price":999}}"# + "\n"
                + #"{"op":"delete","key":53}"# + "\n")
        #expect(try tool.run("apply", tool.store, changes, "--entity", "Book", "--key", "isbn").status == 0)
        let cache = try #require(try caches().first)
        #expect(cache["name"] as? String == name)
        #expect(cache["fresh"] as? Bool == true)
        #expect(cache["maintained"] as? Bool == true)
        #expect(cache["rows"] as? Int == 60)
        #expect(try tool.run("check", tool.store).status == 0)
        #expect(try tool.run("cache", "verify", tool.store, name).status == 0)
        #expect(try tool.run("cache", "rebuild", tool.store, name).status == 0)
        let refused = try tool.run("cache", "delete", tool.store, name)
        #expect(refused.status == 2)
        #expect(refused.error.contains("fetchindex model index"))
        let shown = try tool.run("model", "show", tool.store)
        #expect(shown.output.contains("index: publisher,price:desc"))
        let model = try tool.file("model.json", try tool.run("model", "show", tool.store, "--output", "json").output)
        let same = try tool.run("model", "plan", tool.store, "--to", model)
        #expect(same.output.contains("the store already has this model"))
        #expect(try tool.run("model", "index", "drop", tool.store, "publisher,price:desc").status == 0)
        #expect(try caches().isEmpty)
        #expect(try plan("publisher == 'house 3'")["source"] as? String == "scan")
    }

    @Test(arguments: [
        (["add", "color"], "Book has no attribute or to-one relationship \"color\" for the index color"),
        (["add", "price:caseInsensitive"], "an index cannot have a text order"),
        (["add", "price:down"], "is not one of desc"), (["drop", "price"], "Book has no index \"price\""),
        (["add", "price", "--entity", "Shop"], "no entity \"Shop\""),
    ])
    func anInvalidIndexIsReportedWithItsReason(arguments: [String], message: String) throws {
        let result = try tool.run(["model", "index", arguments[0], tool.store] + arguments.dropFirst())
        #expect(result.status != 0)
        #expect(result.error.contains(message), "\(result.error)")
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func applyKeepsAMaintainedCacheFresh() throws {
        let fetch = ["fetch", tool.store, "--entity", "Book", "--sort", "price:desc", "--cache", "by price"]
        #expect(try tool.run(fetch).status == 0)
        let maintained = try tool.run("cache", "maintain", tool.store, "by price")
        #expect(maintained.output == "by price is maintained by every writer\n")
        let changes = try tool.file("changes.jsonl", #"{"op":"update","key":5,"values":{"price":12345}}"# + "\n")
        #expect(try tool.run("apply", tool.store, changes, "--entity", "Book", "--key", "isbn").status == 0)
        #expect(try caches().first?["fresh"] as? Bool == true)
        #expect(try tool.run("cache", "list", tool.store).output.contains("fresh, maintained"))
        #expect(try tool.run("cache", "maintain", tool.store, "by price", "--stop").status == 0)
        #expect(try caches().first?["maintained"] as? Bool == false)
        let missing = try tool.run("cache", "maintain", tool.store, "missing")
        #expect(missing.error.contains("there is no cache \"missing\""))
    }

    @Test func aDerivedAttributeIsAddedAndComputed() throws {
        let planned = try tool.run("model", "plan", tool.store, "--derive", "double:integer=price * 2")
        #expect(planned.output.contains("it is computed for each object"), "\(planned.error)")
        let migrated = try tool.run("model", "migrate", tool.store, "--derive", "double:integer=price * 2")
        #expect(migrated.status == 0, "\(migrated.error)")
        #expect(try tool.run("model", "show", tool.store).output.contains("derived by price * 2"))
        let fetched = try tool.run(
            "fetch", tool.store, "--entity", "Book", "--where", "double == 20", "--output", "json")
        #expect(fetched["count"] as? Int == 1)
        // The file has no column for the derived attribute, which is computed again.
        let file = try tool.file("more.csv", "isbn,title,publisher,price\n1,Title 1,house 1,4321\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Book", "--key", "isbn").status == 0)
        let found = try tool.run(
            "fetch", tool.store, "--entity", "Book", "--where", "double == 8642", "--output", "json")
        #expect(found["count"] as? Int == 1)
        let wrong = try tool.run("model", "migrate", tool.store, "--derive", "x:integer=price * missing")
        #expect(wrong.error.contains("Book.x cannot be derived by \"price * missing\""), "\(wrong.error)")
        #expect(try tool.run("check", tool.store).status == 0)
    }
}
