import Foundation
import FetchIndexTestSupport
import Testing

/// Files without rows, and entities without objects. The next import may still choose the types and the key of an empty
/// entity.
@Suite struct EmptyImportTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test func aFileWithoutRowsImportsZeroRowsIntoAKnownEntity() throws {
        let rows = try tool.file("rows.csv", "id,size\n1,2\n")
        let empty = try tool.file("empty.csv", "")
        let lines = try tool.file("empty.jsonl", String(repeating: "\n", count: 1500))
        for (file, error) in [(empty, "is empty"), (lines, "has no objects")] {
            let refused = try tool.run("import", tool.store, file, "--entity", "Row")
            #expect(refused.status == 1)
            #expect(refused.error.contains(error), "\(refused.error)")
        }
        #expect(try tool.run("import", tool.store, rows, "--entity", "Row", "--key", "id").status == 0)
        for file in [empty, lines] {
            let result = try tool.run("import", tool.store, file, "--entity", "Row", "--key", "id")
            #expect(result.status == 0, "\(result.error)")
            #expect(result.output.hasPrefix("0 rows in "), "\(result.output)")
            let typed = try tool.run(
                "import", tool.store, file, "--entity", "New", "--types", "name:string,size:integer", "--key", "name")
            #expect(typed.status == 0, "\(typed.error)")
        }
        let named = try tool.file("new.csv", "name,size\na,1\n")
        let more = try tool.run("import", tool.store, named, "--entity", "New", "--key", "name")
        #expect(more.output.hasPrefix("1 row in "), "\(more.output)\(more.error)")
    }

    @Test func objectsWithoutMembersAreNotAnEmptyFile() throws {
        let rows = try tool.file("rows.csv", "id,size\n1,2\n")
        #expect(try tool.run("import", tool.store, rows, "--entity", "Row", "--key", "id").status == 0)
        let lines = try tool.file("lines.jsonl", "{}\n{}\n")
        let refused = try tool.run("import", tool.store, lines, "--entity", "Row", "--key", "id")
        #expect(refused.status == 1, "\(refused.output)")
        #expect(refused.error.contains("has no objects with members"), "\(refused.error)")
    }

    @Test func anObjectAfterAThousandBlankLinesIsImported() throws {
        let lines = try tool.file("lines.jsonl", String(repeating: "\n", count: 1500) + "{\"id\":2}\n")
        let result = try tool.run("import", tool.store, lines, "--entity", "Row", "--key", "id")
        #expect(result.output.hasPrefix("1 row in "), "\(result.output)\(result.error)")
    }

    @Test func anEmptyEntityTakesTheKeyOfTheNextImport() throws {
        let header = try tool.file("header.csv", "id,size\n"), rows = try tool.file("rows.csv", "id,size\n1,x\n2,y\n")
        #expect(try tool.run("import", tool.store, header, "--entity", "Row").status == 0)
        let keyed = try tool.run(
            "import", tool.store, rows, "--entity", "Row", "--key", "id", "--types", "id:integer,size:string")
        #expect(keyed.output.hasPrefix("2 rows in "), "\(keyed.error)")
        #expect(
            try tool.run("export", tool.store, "--entity", "Row", "--print-types").output == "id:integer,size:string\n")
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func anEmptyEntityKeepsAttributesThatTheNextImportOmits() throws {
        let header = try tool.file("header.csv", "id,size,name\n"), rows = try tool.file("rows.csv", "id,size\n1,2\n")
        let keyed = ["import", tool.store, header, "--entity", "Row", "--key", "id", "--types", "id:integer"]
        #expect(try tool.run(keyed).status == 0)
        let typed = try tool.run(
            "import", tool.store, rows, "--entity", "Row", "--types", "size:integer", "--key", "id")
        #expect(typed.output.hasPrefix("1 row in "), "\(typed.error)")
        let printed = try tool.run("export", tool.store, "--entity", "Row", "--print-types").output
        #expect(printed == "id:integer,size:integer,name:string\n")
        let again = try tool.run("import", tool.store, rows, "--entity", "Row", "--key", "id")
        #expect(again.output.contains("0 inserted, 0 updated, 1 unchanged"), "\(again.output)\(again.error)")
    }

    @Test func aKeyThatNeitherFileNorTypesNameIsRefused() throws {
        let empty = try tool.file("empty.csv", "")
        let unknown = try tool.run(
            "import", tool.store, empty, "--entity", "Row", "--types", "name:string", "--key", "id")
        #expect(unknown.status == 2)
        #expect(unknown.error.contains("id"), "\(unknown.error)")
    }

    /// An import that stopped at a bad row has saved rows with a type that is wrong for the rest of the file.
    @Test func aDroppedEntityIsImportedAgainWithOtherTypes() throws {
        let text = (0..<1200).map { "\($0),\($0)\n" }.joined() + "1200,text\n"
        let rows = try tool.file("rows.csv", "id,size\n" + text)
        let wrong = ["import", tool.store, rows, "--entity", "Row", "--key", "id", "--types", "size:integer"]
        let first = try tool.run(wrong)
        #expect(first.status == 1)
        #expect(first.error.contains("line 1202"), "\(first.error)")
        let typed = ["import", tool.store, rows, "--entity", "Row", "--key", "id", "--types", "size:string"]
        let refused = try tool.run(typed)
        #expect(refused.status == 2)
        #expect(
            refused.error.contains(
                "--change size:string changes it; after a failed first import, drop the entity with `fetchindex model drop-entity`"
            ),
            "\(refused.error)")
        let request = ["--entity", "Row", "--sort", "size", "--cache", "c", "--limit", "1"]
        #expect(try tool.run(["fetch", tool.store] + request).status == 0)
        let dropped = try tool.run("model", "drop-entity", tool.store, "--entity", "Row")
        #expect(dropped.output == "dropped Row with 1,200 objects\n", "\(dropped.error)")
        #expect(try tool.run("check", tool.store).status == 0)
        #expect(try tool.run("cache", "list", tool.store).output == "the store has no caches\n")
        #expect(try !tool.run("info", tool.store).output.contains("Row"))
        #expect(try tool.run("fetch", tool.store, "--entity", "Row").status == 2)
        let again = try tool.run(typed)
        #expect(again.output.hasPrefix("1,201 rows in "), "\(again.error)")
        #expect(try tool.run("check", tool.store).status == 0)
    }
}
