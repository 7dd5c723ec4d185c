import Foundation
import FetchIndexTestSupport
import Testing

/// Hierarchies of entities on the command line.
@Suite struct InheritanceCommandTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        let base = try tool.file("base.csv", "code,title\n1,b\n2,d\n")
        #expect(try tool.run("import", tool.store, base, "--entity", "Work", "--key", "code").status == 0)
        let model = try tool.file(
            "model.json",
            """
            {"entities": [
                {"name": "Tome", "superentity": "Work", "attributes": [{"name": "pages", "type": "integer"}]},
                {"name": "Work", "attributes": [
                    {"name": "code", "type": "integer", "isUnique": true}, {"name": "title", "type": "string"}]}]}
            """)
        let migrated = try tool.run("model", "migrate", tool.store, "--to", model)
        #expect(migrated.status == 0, "\(migrated.error)")
        let tomes = try tool.file("tomes.csv", "code,title,pages\n3,a,100\n4,c,200\n")
        let imported = try tool.run("import", tool.store, tomes, "--entity", "Tome", "--key", "code")
        #expect(imported.status == 0, "\(imported.error)")
    }

    @Test func aFetchOfABaseEntityIncludesItsSubentities() throws {
        let request = ["fetch", tool.store, "--entity", "Work", "--sort", "title", "--cache", "all"]
        let fetched = try tool.run(request + ["--output", "json"])
        let rows = try #require(fetched["rows"] as? [[String: Any]], "\(fetched.error)")
        #expect(rows.map { $0["entity"] as? String } == ["Tome", nil, "Tome", nil])
        #expect(rows.map { ($0["values"] as? [String: Any])?["title"] as? String } == ["a", "b", "c", "d"])
        let table = try tool.run(request).output
        #expect(table.contains("entity"))
        #expect(table.contains("Tome"))
        let own = try tool.run(
            "fetch", tool.store, "--entity", "Work", "--sort", "title", "--no-include-subentities", "--output", "json")
        #expect((own["rows"] as? [[String: Any]])?.count == 2)
        #expect(try tool.run("cache", "verify", tool.store).status == 0)
        #expect(try tool.run("check", tool.store).status == 0)
        #expect(try tool.run("check", tool.store, "--repair").status == 0)
    }

    @Test func reportedChangesNameTheSubentityOfEachObject() throws {
        let request = ["--entity", "Work", "--sort", "title", "--cache", "all"]
        #expect(try tool.run(["fetch", tool.store] + request).status == 0)
        let changes = try tool.file("changes.jsonl", #"{"op":"delete","key":3}"# + "\n")
        #expect(try tool.run("apply", tool.store, changes, "--entity", "Tome", "--key", "code").status == 0)
        let again = try tool.file("again.jsonl", #"{"op":"update","key":4,"values":{"title":"0"}}"# + "\n")
        let applied = try tool.run(
            "apply", tool.store, again, "--entity", "Tome", "--key", "code", "--cache", "all", "--output", "json")
        let moved = try #require(applied["rows"] as? [[String: Any]], "\(applied.error)")
        // The batch also has the deletion, which no command has reported.
        #expect(moved.map { $0["kind"] as? String } == ["delete", "move"])
        #expect(moved.map { $0["entity"] as? String } == ["Tome", "Tome"])
        let other = try tool.file("other.jsonl", #"{"op":"delete","key":4}"# + "\n")
        #expect(try tool.run("apply", tool.store, other, "--entity", "Tome", "--key", "code").status == 0)
        let told = try tool.run(["changes", tool.store] + request + ["--output", "json"])
        let rows = try #require(told["rows"] as? [[String: Any]], "\(told.error)")
        #expect(rows.count == 1)
        #expect(rows.first?["entity"] as? String == "Tome")
    }

    @Test func aModelWithSubentitiesIsShownAndChanged() throws {
        let shown = try tool.run("model", "show", tool.store).output
        #expect(shown.contains("Tome, a subentity of Work"))
        let model = try tool.file("same.json", try tool.run("model", "show", tool.store, "--output", "json").output)
        #expect(
            try tool.run("model", "plan", tool.store, "--to", model).output.contains("the store already has this model")
        )
        let added = try tool.run(
            "model", "migrate", tool.store, "--entity", "Work", "--add", "price:integer=5", "--rename", "title=name")
        #expect(added.status == 0, "\(added.error)")
        let fetched = try tool.run(
            "fetch", tool.store, "--entity", "Work", "--where", "price == 5 AND name < 'z'", "--output", "json")
        #expect((fetched["rows"] as? [[String: Any]])?.count == 4)
        let alone = try tool.run("model", "migrate", tool.store, "--entity", "Tome", "--drop", "name")
        #expect(alone.status != 0)
        #expect(alone.error.contains("Tome lacks the attribute name of Work"))
        let dropped = try tool.run("model", "drop-entity", tool.store, "--entity", "Work")
        #expect(dropped.error.contains("must be dropped first"))
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func anImportCannotChangeTheModelOfAnEmptySubentity() throws {
        let empty = try tool.file(
            "more.json",
            """
            {"entities": [
                {"name": "Serial", "superentity": "Work", "attributes": [{"name": "issue", "type": "integer"}]},
                {"name": "Work", "attributes": [
                    {"name": "code", "type": "integer", "isUnique": true}, {"name": "title", "type": "string"}]}]}
            """)
        #expect(try tool.run("model", "migrate", tool.store, "--to", empty).status == 0)
        let file = try tool.file("serials.csv", "code,title,issue\n11,p,first\n")
        for options in [["--types", "issue:string"], ["--types", "code:string"], ["--key", "title"]] {
            let result = try tool.run(["import", tool.store, file, "--entity", "Serial"] + options)
            #expect(result.status != 0, "\(options)")
            #expect(try tool.run("model", "show", tool.store).output.contains("Serial, a subentity of Work"))
        }
    }

    @Test func aNewSubentityMakesACacheUnusable() throws {
        let store = tool.folder.path + "/alone"
        let rows = try tool.file("alone.csv", "code,title\n1,b\n")
        #expect(try tool.run("import", store, rows, "--entity", "Work", "--key", "code").status == 0)
        let request = ["fetch", store, "--entity", "Work", "--sort", "title", "--cache", "c", "--output", "json"]
        #expect(try tool.run(request).status == 0)
        let model = try tool.run("model", "show", tool.store, "--output", "json").output
        #expect(try tool.run("model", "migrate", store, "--to", tool.file("two.json", model)).status == 0)
        let cache = try #require(
            (try tool.run("cache", "list", store, "--output", "json").json as? [[String: Any]])?.first)
        #expect(cache["fresh"] as? Bool == false)
        #expect((try tool.run(request)["outcome"] as? [String: Any])?["reason"] as? String == "modelChanged")
    }

    @Test func aUniqueValueOfASubentityIsRefusedInItsBaseEntity() throws {
        let file = try tool.file("taken.csv", "code,title\n3,again\n")
        let result = try tool.run("import", tool.store, file, "--entity", "Work", "--key", "code")
        #expect(result.status != 0)
        #expect(result.error.contains("must be unique"))
    }
}
