import FetchIndexTestSupport
import Foundation
import Testing

/// `apply --if-changed` and `import --if-changed`: exit code 3 if nothing changes.
@Suite struct IfChangedTests {
    private static let rows = "code,size\n1,10\n2,20\n"
    let tool: Tool

    init() throws {
        tool = try Tool()
        let file = try tool.file("rows.csv", Self.rows)
        #expect(try tool.run("import", tool.store, file, "--entity", "Item", "--key", "code").status == 0)
    }

    private func apply(_ lines: String..., options: String...) throws -> Tool.Result {
        let file = try tool.file("delta.jsonl", lines.joined(separator: "\n") + "\n")
        return try tool.run(["apply", tool.store, file, "--if-changed"] + options)
    }

    private func importing(_ text: String, _ options: String...) throws -> Tool.Result {
        let file = try tool.file("new.csv", text)
        return try tool.run(
            ["import", tool.store, file, "--entity", "Item", "--key", "code", "--if-changed"] + options)
    }

    @Test func aDeltaThatChangesNothingIsExitCode3() throws {
        let same = #"{"op":"update","key":1,"values":{"size":10}}"#
        let other = #"{"op":"update","key":1,"values":{"size":11}}"#
        for options in [[], ["--dry-run"], ["--output", "json"], ["--dry-run", "--output", "json"]] {
            let file = try tool.file("same.jsonl", same + "\n")
            let result = try tool.run(["apply", tool.store, file, "--if-changed"] + options)
            #expect(result.status == 3 && result.error.isEmpty, "\(options): \(result.error)")
            #expect(!result.output.isEmpty)
        }
        #expect(try apply(other, same).status == 3, "the updates undo each other")
        #expect(try apply(#"{"op":"delete","key":9}"#, options: "--ignore-missing").status == 3)
        #expect(try apply("").status == 3)
        #expect(try apply(other, options: "--dry-run").status == 0)
        #expect(try apply(other, options: "--rule", "updated at most 0").status == 1)
        #expect(try apply(same, options: "--rule", "updated at most 0").status == 3)
        #expect(try apply(other).status == 0)
        #expect(try apply(other).status == 3)
        #expect(try apply(#"{"op":"delete","key":1}"#).status == 0)
    }

    @Test func anImportThatChangesNothingIsExitCode3() throws {
        #expect(try importing(Self.rows).status == 3)
        let json = try importing(Self.rows, "--dry-run", "--output", "json")
        #expect(json.status == 3 && json["unchanged"] as? Int == 2, "\(json.error)")
        #expect(try importing("code,size\n1,10\n", "--replace", "--dry-run").status == 0)
        #expect(try importing("code,size\n1,10\n", "--replace").status == 0)
        #expect(try importing("code,size\n1,10\n", "--replace").status == 3)
        #expect(try importing("code,size\n3,10\n", "--dry-run").status == 0)
        #expect(try importing("").status == 3, "an empty file has no rows")
        // A new attribute is a change of the model, also if all its values are null.
        #expect(try importing("code,size,note\n1,10,\n", "--add-columns").status == 0)
        #expect(try importing("code,size,note\n1,10,\n", "--add-columns").status == 3)
    }

    @Test func relatedObjectsThatAnImportInsertsAreAChange() throws {
        let authors = try tool.file("authors.csv", "name\na\n")
        #expect(try tool.run("import", tool.store, authors, "--entity", "Author", "--key", "name").status == 0)
        func books(_ text: String) throws -> Int32 {
            try tool.run(
                "import", tool.store, try tool.file("books.csv", "code,author\n" + text), "--entity", "Book", "--key",
                "code", "--relate", "author=Author.name", "--create-related", "--if-changed"
            ).status
        }
        #expect(try books("1,a\n") == 0)
        #expect(try books("1,a\n") == 3)
        // The link changes, and an author is inserted.
        #expect(try books("1,b\n") == 0)
        // Only the link changes.
        #expect(try books("1,a\n") == 0)
        #expect(try books("1,a\n") == 3)
    }
}
