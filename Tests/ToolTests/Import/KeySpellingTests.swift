import Foundation
import FetchIndexTestSupport
import Testing

/// A key must be spelled as it's printed. For some types, a file may use another spelling, but then in all of its rows.
/// A row with a wrong spelling is a bad row, and doesn't update the object.
@Suite struct KeySpellingTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test(arguments: [
        ("integer", "0042", "\"0042\" is another spelling of the key 42; a text key would keep both"),
        ("integer", "+42", "\"+42\" is another spelling of the key 42"),
        ("integer", "-0", "another spelling of the key 0"),
        ("decimal", "1.10", "\"1.10\" is another spelling of the key 1.1"),
        ("double", "1.50", "another spelling of the key 1.5"),
        ("date", "2024-01-02T03:04:05.0000001234567Z", "another spelling of the key 2024-01-02T03:04:05"),
        ("boolean", "yes", "another spelling of the key true"),
    ]) func anotherSpellingOfAKeyIsReportedAsABadRow(type: String, text: String, reason: String) throws {
        let file = try tool.file("a.csv", "code,n\n\(text),1\n")
        let command = [
            "import", tool.store, file, "--entity", "E", "--types", "code:\(type),n:integer", "--key", "code",
        ]
        let result = try tool.run(command)
        #expect(result.status == 1 && result.error.contains("line 2, column 1 (code): "), "\(result.error)")
        #expect(result.error.contains(reason), "\(result.error)")
        // The other spelling is also refused by `apply`, and in a column that names related objects.
        let change = try tool.file("c.jsonl", "{\"op\":\"insert\",\"values\":{\"code\":\"\(text)\"}}\n")
        let applied = try tool.run("apply", tool.store, change, "--entity", "E")
        #expect(applied.status == 1 && applied.error.contains(reason), "\(applied.error)")
        let found = try tool.file("d.jsonl", "{\"op\":\"delete\",\"key\":\"\(text)\"}\n")
        let deleted = try tool.run("apply", tool.store, found, "--entity", "E")
        #expect(deleted.status == 1 && deleted.error.contains(reason), "\(deleted.error)")
        let related = try tool.file("e.csv", "name,e\nx,\(text)\n")
        let linked = try tool.run("import", tool.store, related, "--entity", "F", "--relate", "e=E.code")
        #expect(linked.status == 1 && linked.error.contains(reason), "\(linked.error)")
    }

    /// The key's type is inferred so that each spelling is an object of its own.
    @Test(arguments: [
        (["2.0", "2", "20e-1"], "string"), (["1e2", "100"], "string"), (["1E+2", "100"], "string"),
        (["2", "3"], "integer"), (["1.5", "2"], "decimal"), (["1.50", "1.5"], "string"), (["true", "false"], "string"),
        (["\"2\"", "\"2.0\""], "string"), (["\"a\"", "7", "true"], "string"), (["0", "-0"], "string"),
        (["\"0042\"", "42"], "string"),
    ]) func aKeyInJSONKeepsItsSpelling(texts: [String], type: String) throws {
        let file = try tool.file("a.jsonl", texts.enumerated().map { "{\"k\":\($1),\"n\":\($0)}\n" }.joined())
        #expect(try tool.importedTypes(file, "--key", "k") == "k:\(type),n:integer\n")
        let rows = try tool.exportedRows().split(separator: "\n").dropFirst().map { $0.split(separator: ",")[0] }
        #expect(rows == texts.map { $0.filter { $0 != "\"" }[...] })
        let again = try tool.run("import", tool.store, file, "--entity", "E", "--key", "k")
        #expect(again.output.contains("0 inserted, 0 updated, \(texts.count) unchanged"), "\(again.error)")
    }

    @Test(arguments: [
        ("\"2\"", "2", "2 is not in quotation marks, but earlier keys are; \"2\" would be the same key"),
        ("2", "\"3\"", "\"3\" is in quotation marks, but earlier keys are not; 3 would be the same key"),
        ("true", "\"true\"", "\"true\" is in quotation marks, but earlier keys are not"),
    ]) func aKeyWithAndWithoutQuotationMarksIsReportedAsABadRow(first: String, second: String, reason: String) throws {
        let text = "{\"k\":\(first)}\n{\"k\":\"x\"}\n{\"k\":\(second)}\n"
        let result = try tool.run(
            "import", tool.store, tool.file("a.jsonl", text), "--entity", "E", "--key", "k", "--skip-bad-rows")
        #expect(result.output.contains("2 inserted") && result.output.contains("line 3, column 1 (k): \(reason)"))
        let lines = "{\"k\":\"a\",\"e\":\(first)}\n{\"k\":\"b\",\"e\":\(second)}\n"
        let related = try tool.run(
            "import", tool.store, tool.file("b.jsonl", lines), "--entity", "F", "--key", "k", "--relate", "e=E.k",
            "--create-related", "--skip-bad-rows")
        #expect(related.output.contains("line 2, column 1 (e): \(reason)"), "\(related.output)\(related.error)")
    }

    @Test(arguments: ["42.0", "4.2e1", "\"042\""]) func aChangeMustSpellAKeyAsItIsPrinted(key: String) throws {
        let file = try tool.file("a.csv", "k,v\n42,1\n")
        #expect(try tool.importedTypes(file, "--key", "k") == "k:integer,v:integer\n")
        let result = try tool.run(
            "apply", tool.store, tool.file("c.jsonl", "{\"op\":\"delete\",\"key\":\(key)}\n"), "--entity", "E")
        #expect(result.status == 1 && result.error.contains("another spelling of the key 42"), "\(result.error)")
        let unkeyed = try tool.file("b.csv", "v\n1\n")
        #expect(try tool.run("import", tool.store, unkeyed, "--entity", "F").status == 0)
        let number = try tool.run(
            "apply", tool.store, tool.file("d.jsonl", "{\"op\":\"delete\",\"key\":1.0}\n"), "--entity", "F")
        #expect(number.error.contains("there is no F with number 1.0"), "\(number.error)")
    }

    /// Some types have several valid spellings of a value. The first key of a file decides which one its keys must have.
    @Test(arguments: [
        ("date", "2024-01-02", "2024-01-03", "2024-01-03T00:00:00Z"),
        ("date", "2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z", "2024-01-03"),
        (
            "uuid", "a0000000-0000-0000-0000-000000000001", "a0000000-0000-0000-0000-000000000002",
            "A0000000-0000-0000-0000-000000000001"
        ),
        ("data", "AB", "AC", "ac"), ("double", "0.0", "1.0", "-0.0"),
        (
            "uuid", "a0000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002",
            "a0000000-0000-0000-0000-00000000000A"
        ),
    ]) func aFileMustSpellAllItsKeysInOneWay(type: String, first: String, second: String, other: String) throws {
        let file = try tool.file("a.csv", "k,v\n\(first),1\n\(second),2\n\(other),3\n")
        let result = try tool.run(
            "import", tool.store, file, "--entity", "E", "--key", "k", "--types", "k:\(type)", "--skip-bad-rows")
        #expect(result.output.contains("2 inserted"), "\(result.output)\(result.error)")
        let isMixed = other.lowercased() != other && other.uppercased() != other
        let isNone = type == "double" || type == "uuid" && isMixed
        let reason = isNone ? "is another spelling of the key" : "is written in another way than"
        #expect(result.output.contains("line 4, column 1 (k): \"\(other)\" \(reason)"), "\(result.output)")
        let exported = try tool.file("b.jsonl", tool.run("export", tool.store, "--entity", "E").output)
        let again = try tool.run("import", tool.store, exported, "--entity", "E", "--key", "k")
        #expect(again.output.contains("0 inserted, 0 updated, 2 unchanged"), "\(again.error)")
        let text = tool.store + " text"
        #expect(try tool.run("import", text, file, "--entity", "E", "--key", "k").output.contains("3 inserted"))
    }

    /// The first date of a key column decides the form of all its dates. In one form, each moment has only one text, so
    /// that two texts of the column don't name the same key.
    @Test(arguments: [
        (
            ["2024-01-02T03:04:05.000Z", "2024-01-02T03:04:07.120Z"],
            ["2024-01-02T03:04:05Z", "2024-01-02T03:04:05.00Z", "2024-01-02 03:04:05.000Z"]
        ),
        (["2024-01-02T03:04:07.120Z", "2024-01-02T03:04:05.000Z"], ["2024-01-02T03:04:05Z"]),
        (["2024-01-02T03:04:07.120Z", "2024-01-02T03:04:05Z"], ["2024-01-02T03:04:05.000Z"]),
        (["2024-01-02T03:04:05+00:00", "2024-01-03T00:00:00+00:00"], ["2024-01-02T03:04:05Z", "2024-01-03"]),
        (["2024-01-02 03:04:05", "2024-01-03 00:00:00"], ["2024-01-02T03:04:05", "2024-01-03"]),
        (
            ["2024-01-02T12:00:00+09:00", "2024-01-03T00:00:00+09:00"],
            ["2024-01-02T03:00:00Z", "2024-01-02T11:00:00+08:00"]
        ),
        (["2024-01-02 03:04:05,50 +0900", "2024-01-02 03:04:05,00 +0900"], ["2024-01-02 03:04:05.50 +0900"]),
    ]) func aKeyColumnMustWriteAllItsDatesInOneForm(texts: [String], others: [String]) throws {
        func rows(_ texts: [String]) -> String {
            "k;v\n" + texts.enumerated().map { "\($1);\($0)\n" }.joined()
        }
        let command = ["--entity", "E", "--key", "k", "--types", "k:date,v:integer"]
        let file = try tool.file("a.csv", rows(texts))
        let first = try tool.run(["import", tool.store, file] + command + ["--delimiter", ";"])
        #expect(first.output.contains("2 inserted"), "\(first.output)\(first.error)")
        for other in others {
            let mixed = try tool.file("b.csv", rows(texts + [other]))
            let result = try tool.run(
                ["import", tool.store, mixed, "--skip-bad-rows", "--delimiter", ";"] + command)
            #expect(result.output.contains("2 unchanged"), "\(result.output)\(result.error)")
            #expect(result.output.contains("line 4, column 1 (k): \"\(other)\" is written in another way than"))
        }
    }
}
