import Foundation
import Testing

/// An import of several files, of a JSON document, and of a table of SQLite.
@Suite struct SeveralFilesTests {
    private let tool: Tool

    init() throws { tool = try Tool() }

    @Test func theTypesOfSeveralFilesFitAllRows() throws {
        let files = try [
            tool.file("1.csv", "id,price\n1,10\n2,20\n"), tool.file("2.csv", ""),
            tool.file("3.csv", "id,price\nx,3.5\n"),
        ]
        let result = try tool.run(["import", tool.store] + files + ["--entity", "E", "--key", "id"])
        #expect(result.status == 0 && result.output.contains("3 inserted"), "\(result.error)")
        #expect(try tool.run("export", tool.store, "--print-types").output == "id:string,price:decimal\n")
        let again = try tool.run(["import", tool.store] + files + ["--entity", "E", "--key", "id"])
        #expect(again.output.contains("3 unchanged"))
        let replaced = try tool.run([
            "import", tool.store, files[0], files[1], "--entity", "E", "--key", "id", "--replace",
        ])
        #expect(replaced.output.contains("1 deleted"), "\(replaced.output) \(replaced.error)")
    }

    @Test func linesOfJSONMayHaveDifferentMembers() throws {
        let files = try [
            tool.file("1.jsonl", "{\"id\":1,\"a\":1}\n"),
            tool.file("2.jsonl", "{\"id\":2,\"b\":true}\n{\"id\":3,\"a\":0.5}\n"),
        ]
        let result = try tool.run(["import", tool.store] + files + ["--entity", "E", "--key", "id"])
        #expect(result.status == 0, "\(result.error)")
        #expect(try tool.run("export", tool.store, "--format", "csv").output == "a,b,id\n1.0,,1\n,true,2\n0.5,,3\n")
    }

    @Test func anErrorNamesItsFileAndLine() throws {
        let files = try [tool.file("1.csv", "id,n\n1,1\n"), tool.file("2.csv", "id,n\n2,2\n1x,zwei\n3,3\n")]
        let types = ["--types", "n:integer,id:string"]
        let stopped = try tool.run(["import", tool.store] + files + ["--entity", "E", "--key", "id"] + types)
        #expect(
            stopped.status == 1 && stopped.error.contains("\(files[1]), line 3, column 2 (n): \"zwei\""),
            "\(stopped.error)")
        let skipped = try tool.run(
            ["import", tool.store] + files + ["--entity", "E", "--key", "id", "--skip-bad-rows", "--output", "json"]
                + types)
        #expect(skipped["badRowCount"] as? Int == 1)
        #expect((skipped["badRows"] as? [String])?.first?.hasPrefix("\(files[1]), line 3") == true, "\(skipped.output)")
        let other = try tool.file("3.csv", "id,m\n4,4\n")
        let refused = try tool.run("import", tool.store, files[0], other, "--entity", "E", "--key", "id")
        #expect(
            refused.status == 1 && refused.error.contains("\(other) lacks columns of \(files[0]): n"),
            "\(refused.error)")
        let mixed = try tool.file("4.jsonl", "{\"id\":1}\n")
        #expect(try tool.run("import", tool.store, files[0], mixed, "--entity", "E").status == 2)
    }

    @Test func standardInputIsReadOnce() throws {
        #expect(try tool.run("import", tool.store, "-", "-", "--entity", "E", "--format", "csv").status == 2)
        let first = try tool.file("1.jsonl", "{\"id\":1}\n")
        let second = try tool.file("2.jsonl", "{\"id\":2,\"b\":1}\n")
        #expect(try tool.run("import", tool.store, first, "--entity", "E", "--key", "id").status == 0)
        let unknown = try tool.run("import", tool.store, first, second, "--entity", "E", "--key", "id")
        #expect(
            unknown.status == 1 && unknown.error.contains("one of ") && unknown.error.contains("(b)"),
            "\(unknown.error)")
    }

    @Test func aJSONDocumentIsImported() throws {
        let file = try tool.file(
            "document.json",
            "{\"data\":{\"items\":[{\"id\":1,\"author\":{\"name\":\"x\"}},{\"id\":2,\"author\":{\"name\":\"y\"}}]}}")
        let options = ["--entity", "E", "--key", "id", "--flatten"]
        let result = try tool.run(["import", tool.store, file, "--path", "data.items"] + options)
        #expect(result.status == 0, "\(result.error)")
        #expect(try tool.run("export", tool.store, "--format", "csv").output == "author.name,id\nx,1\ny,2\n")
        let sorted = try tool.run("fetch", tool.store, "--sort", "`author.name`:desc", "--output", "csv")
        #expect(sorted.status == 0, "\(sorted.error)")
        let wrong = try tool.run(["import", tool.store, file] + options)
        #expect(wrong.status == 1 && wrong.error.contains("has no list in line 1"), "\(wrong.error)")
        let list = try tool.file("list.json", "[{\"id\":3}]")
        #expect(try tool.run("import", tool.store, list, "--entity", "E", "--key", "id").output.contains("1 inserted"))
    }
}
