import Foundation
import FetchIndexTestSupport
import Testing

/// Names of attributes in headers, members, `--types` and output: names with commas, control characters or line ends,
/// and names of the output's own columns.
@Suite struct AttributeNameTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test func membersWithoutAUsableNameAreReportedAsBadRows() throws {
        let lines = ["{\"k\":1}", "{\"\":2}", "{\"k\":3,\"a\\tb\":4}", "{\"k\":5}"]
        let file = try tool.file("names.jsonl", lines.joined(separator: "\n") + "\n")
        let stopped = try tool.run("import", tool.store, file, "--entity", "E")
        #expect(
            stopped.error.contains("line 2: a member has an empty name; 1 row before it is saved"), "\(stopped.error)")
        let result = try tool.run("import", tool.store + "2", file, "--entity", "E", "--skip-bad-rows")
        #expect(result.output.contains("2 inserted") && result.output.contains("2 bad rows were skipped"))
        #expect(result.output.contains("line 3: the name of the member \"a b\" has the control character U+0009"))
        let only = try tool.file("only.jsonl", "{\"\":2}\n{\"a\\nb\":1}\n")
        let none = try tool.run("import", tool.store + "3", only, "--entity", "E")
        #expect(none.status == 1 && none.error.contains("line 1: a member has an empty name"))
    }

    @Test func aMemberNamedByTheTypesOptionMayHaveAControlCharacter() throws {
        let lines = (0..<3).map { "{\"k\":\($0),\"a\\tb\":\($0 * 2)}\n" }.joined()
        let file = try tool.file("names.jsonl", lines)
        let arguments = ["import", tool.store, file, "--entity", "E", "--key", "k"]
        let result = try tool.run(arguments + ["--types", "a\tb:integer"])
        #expect(result.output.contains("3 inserted"), "\(result.error)")
        let exported = try tool.run("export", tool.store, "--entity", "E").output
        #expect(exported.contains("{\"a\\tb\":4,\"k\":2}") || exported.contains("{\"k\":2,\"a\\tb\":4}"))
        let again = try tool.run(
            "import", tool.store, tool.file("again.jsonl", exported), "--entity", "E", "--key", "k")
        #expect(again.output.contains("0 inserted, 0 updated, 3 unchanged"), "\(again.error)")
        #expect(try tool.run(arguments + ["--types", ":integer"]).status == 2)
    }

    @Test(arguments: [
        ("a.csv", "a;b\n1;2\n", "pass --delimiter ';'; if not, pass --format csv --delimiter ,"),
        ("a.tsv", "a;b\n1;2\n", "pass --format csv --delimiter ';'; if not, pass --format csv --delimiter ,"),
        ("a.csv", "a\tb\n1\t2\n", "pass --delimiter tab; if not, pass --format csv --delimiter ,"),
    ]) func aHeaderWithAnotherDelimiterIsRefusedWithTheOptionToUse(name: String, text: String, advice: String) throws {
        let result = try tool.run("import", tool.store, tool.file(name, text), "--entity", "E")
        #expect(
            result.status == 1 && result.error.contains("which may separate columns or not: if it does, \(advice)"),
            "\(result.error)")
    }

    @Test(arguments: ["csv", "tsv"])
    func theNameOfANewColumnMayHaveControlCharactersOnlyIfTheTypesOptionHasIt(format: String) throws {
        let name = "a\u{1}b"
        let file = try tool.file("a.\(format)", format == "csv" ? "k,\(name)\n1,2\n" : "k\t\(name)\n1\t2\n")
        let arguments = ["import", tool.store, file, "--entity", "E", "--key", "k"]
        let refused = try tool.run(arguments)
        #expect(
            refused.status == 1
                && refused.error.contains(
                    "line 1, column 2: the header must name the columns, each with a name of its own in UTF-8; this name, "
                        + "\"a b\", has the control character U+0001 (␁), which only the name of a column with a given type or of a "
                        + "stored attribute may have; --types gives a column its type"),
            "\(refused.error)")
        #expect(try tool.run(arguments + ["--types", "\(name):integer"]).output.contains("1 inserted"))
        let exported = try tool.run("export", tool.store, "--entity", "E", "--format", format).output
        let again = try tool.file("b.\(format)", exported)
        let result = try tool.run("import", tool.store, again, "--entity", "E", "--key", "k")
        #expect(result.output.contains("0 inserted, 0 updated, 1 unchanged"), "\(result.error)")
    }

    @Test func theNameOfANewCSVColumnMayHaveLineEndsOnlyIfTheTypesOptionHasIt() throws {
        let file = try tool.file("a.csv", "k,\"a\nb\"\n1,2\n")
        let arguments = ["import", tool.store, file, "--entity", "E", "--key", "k"]
        #expect(try tool.run(arguments).error.contains("column 2: "))
        #expect(try tool.run(arguments + ["--types", "a\nb:integer"]).output.contains("1 inserted"))
        let exported = try tool.file("b.csv", tool.run("export", tool.store, "--entity", "E", "--format", "csv").output)
        let result = try tool.run("import", tool.store, exported, "--entity", "E", "--key", "k")
        #expect(result.output.contains("0 inserted, 0 updated, 1 unchanged"), "\(result.error)")
    }

    @Test func typesThatExportPrintsAreReadByImport() throws {
        let names = ["`", "``", "a`b", "`a`", ",", "a:b", "(", "a b", "k", "=", "名前"]
        let line = names.enumerated().map { "\"\($0.element)\":\"\($0.offset)\"" }.joined(separator: ",")
        let file = try tool.file("names.jsonl", "{\(line)}\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "E").status == 0)
        let types = try tool.run("export", tool.store, "--entity", "E", "--print-types").output.dropLast()
        let other = tool.store + " other"
        let result = try tool.run("import", other, file, "--entity", "E", "--types", String(types))
        #expect(result.output.contains("1 inserted"), "\(types): \(result.error)")
        #expect(try tool.run("export", other, "--entity", "E", "--print-types").output.dropLast() == types)
    }

    @Test func typesQuoteANameWithACommaInBackquotes() throws {
        let rows = try tool.file("rows.csv", "\"a,b\",c\n1,2\n")
        let types = ["--types", "`a,b`:integer,c:string"]
        #expect(try tool.run(["import", tool.store, rows, "--entity", "Row"] + types).status == 0)
        let printed = try tool.run("export", tool.store, "--entity", "Row", "--print-types").output
        #expect(printed == types[1] + "\n")
    }

    @Test func attributesNamedSectionAndRowHaveTheirOwnColumns() throws {
        let rows = try tool.file("rows.csv", "section,row\nx,7\n")
        #expect(try tool.run("import", tool.store, rows, "--entity", "Row").status == 0)
        let output = try tool.run("fetch", tool.store, "--entity", "Row").output
        let header = output.split(separator: "\n").first { $0.contains("section") } ?? ""
        #expect(header.split { $0 == " " } == ["in", "section", "at", "row", "section", "row"], "\(output)")
    }
}
