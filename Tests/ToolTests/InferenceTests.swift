import Foundation
import TestSupport
import Testing

/// Types that an import finds by itself lose no text and merge none.
@Suite struct InferenceTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    private func types(_ arguments: String...) throws -> String {
        let result = try tool.run(["import", tool.store] + arguments + ["--entity", "E"])
        #expect(result.status == 0, "\(result.error)")
        return try tool.run("export", tool.store, "--entity", "E", "--print-types").output
    }

    private func exported() throws -> String {
        try tool.run("fetch", tool.store, "--entity", "E", "--output", "csv").output
    }

    @Test(arguments: [
        (["42", "0042"], "string"), (["42", "+42"], "string"), (["1.1", "1.10"], "string"), (["1.0", "2.0"], "string"),
        (["1.1", "2"], "decimal"), (["42", "-7"], "integer"), (["12E4", "13E4"], "string"),
        (["12345678901234567890", "7"], "decimal"), (["9007199254740993", "0.5"], "decimal"),
        (["1234567890123456789012345678901234567890", "1234567890123456789012345678901234567891"], "string"),
        (["2024-01-02", "2024-01-03"], "string"), (["true", "false"], "string"), (["0", "-0"], "string"),
        (["1e-400", "1e-401"], "string"),
    ]) func aKeyIsANumberOnlyIfEachTextIsWhatTheNumberPrints(texts: [String], type: String) throws {
        let file = try tool.file("a.csv", "code\n" + texts.map { $0 + "\n" }.joined())
        #expect(try types(file, "--key", "code") == "code:\(type)\n")
        #expect(try Set(exported().split(separator: "\n")) == Set((["code"] + texts).map { $0[...] }))
    }

    @Test(arguments: [
        (["1", "2"], "integer"), (["1.50", "2"], "decimal"), (["0042", "7"], "string"), (["12E4", "1"], "string"),
        (["+4915112345678", "1"], "string"), (["0.1234567890123456789", "0.5"], "decimal"),
        (["1e-400", "1"], "string"),
        (["9007199254740993", "0.5"], "decimal"), (["1.5e300", "2.0"], "double"), (["1.5e3", "1e-5"], "decimal"),
        (["9007199254740993", "1.5e300"], "string"), (["-0.0", "1.5"], "double"), (["1.", "2"], "string"),
        ([".5", "2"], "string"), (["true", "FALSE"], "boolean"), (["2024-01-02", "2024-01-02 03:04:05,5"], "date"),
        ([String(repeating: "1", count: 38) + ".5", "1"], "string"),
        ([String(repeating: "9", count: 38), "1"], "decimal"),
    ]) func anotherColumnIsANumberOnlyIfEachTextIsPlainAndExact(texts: [String], type: String) throws {
        let file = try tool.file("a.csv", "k,v\n" + texts.enumerated().map { "\($0),\"\($1)\"\n" }.joined())
        #expect(try types(file, "--key", "k") == "k:integer,v:\(type)\n")
    }

    @Test(arguments: ["csv", "csv.gz", "pipe"]) func allRowsDecideTheTypes(form: String) throws {
        let rows = (0..<5000).map { "\($0),\($0),\($0 % 2 == 0 ? "" : "1")\n" }.joined()
        let file = try tool.file("a.csv", "k,n,m\n" + rows + "5000,0042,2.5\n")
        // More than a pipe keeps in memory.
        let filler = String(repeating: "x", count: 1000)
        let wide = try tool.file(
            "b.csv", "k,n,m,f\n" + rows.split(separator: "\n").map { "\($0),\(filler)\n" }.joined() + "5000,0042,2.5,\n"
        )
        switch form {
        case "csv": #expect(try types(file, "--key", "k") == "k:integer,n:string,m:decimal\n")
        case "csv.gz":
            _ = try TemporaryFolder.run("gzip", ["-k", file])
            #expect(try types(file + ".gz", "--key", "k") == "k:integer,n:string,m:decimal\n")
        default:
            let process = tool.process(["import", tool.store, "-", "--entity", "E", "--key", "k", "--format", "csv"])
            process.standardInput = Pipe()
            let cat = Process()
            cat.executableURL = URL(fileURLWithPath: "/bin/cat")
            cat.arguments = [wide]
            cat.standardOutput = process.standardInput
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            try cat.run()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
            let printed = try tool.run("export", tool.store, "--entity", "E", "--print-types").output
            #expect(printed == "k:integer,n:string,m:decimal,f:string\n")
            let count = try tool.run("fetch", tool.store, "--entity", "E", "--limit", "0", "--output", "json")
            #expect(count["count"] as? Int == 5001)
        }
    }

    @Test func jsonNumbersKeepTheirDigits() throws {
        let lines = (0..<1500).map { "{\"k\":\($0),\"a\":\($0),\"b\":0.5,\"c\":1}\n" }.joined()
        let file = try tool.file(
            "a.jsonl", lines + "{\"k\":1500,\"a\":1.5,\"b\":9007199254740993,\"c\":12345678901234567890}\n")
        #expect(try types(file, "--key", "k") == "a:double,b:decimal,c:decimal,k:integer\n")
    }

    @Test func aStarGivesTheTypeOfAllOthers() throws {
        let file = try tool.file("a.csv", "code,n,day\n1,2,2024-01-02\n3,4,2024-01-03\n")
        #expect(
            try types(file, "--types", "*:string,n:integer", "--key", "code") == "code:string,n:integer,day:string\n")
        #expect(
            try tool.run("import", tool.store, file, "--entity", "E", "--key", "code", "--types", "*:string,n:integer")
                .status == 0)
    }

    @Test(arguments: [
        ("integer", "0042", "\"0042\" is another spelling of the key 42; a key of texts would keep both"),
        ("integer", "+42", "\"+42\" is another spelling of the key 42"),
        ("integer", "-0", "another spelling of the key 0"),
        ("decimal", "1.10", "\"1.10\" is another spelling of the key 1.1"),
        ("double", "1.50", "another spelling of the key 1.5"),
        ("date", "2024-01-02T09:00:00+09:00", "another spelling of the key 2024-01-02T00:00:00Z"),
        ("boolean", "yes", "another spelling of the key true"),
    ]) func anotherSpellingOfAKeyIsABadRow(type: String, text: String, reason: String) throws {
        let file = try tool.file("a.csv", "code,n\n\(text),1\n")
        let command = [
            "import", tool.store, file, "--entity", "E", "--types", "code:\(type),n:integer", "--key", "code",
        ]
        let result = try tool.run(command)
        #expect(result.status == 1 && result.error.contains("line 2, column 1 (code): "), "\(result.error)")
        #expect(result.error.contains(reason), "\(result.error)")
        // The same of `apply`, and of columns that name related objects.
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

    @Test(arguments: [
        ("double", "0.1234567890123456789", "is a number that a double would change"),
        ("double", "9007199254740993", "is a number that a double would change"),
        ("double", "1e-400", "is a number that a double would change"),
        ("decimal", "1234567890123456789012345678901234567890.5", "of at most 38 digits, would change"),
        ("double", "NaN", "is not a double; write nan, inf or -inf"),
        ("double", "-Infinity", "is not a double; write nan, inf or -inf"),
        ("date", "2024/01/02", "is not a date; write 2024-01-31, 2024-01-31T03:04:05Z or "),
        ("integer", "1.5", "is not an integer"),
    ]) func aTextThatIsNotExactInItsTypeIsABadRow(type: String, text: String, reason: String) throws {
        let file = try tool.file("a.csv", "k,v\n1,\(text)\n")
        let result = try tool.run("import", tool.store, file, "--entity", "E", "--types", "v:\(type)")
        #expect(result.status == 1 && result.error.contains("\"\(text)\" ".prefix(30)), "\(result.error)")
        #expect(result.error.contains(reason), "\(result.error)")
        let change = try tool.file("c.jsonl", "{\"op\":\"insert\",\"values\":{\"v\":\"\(text)\"}}\n")
        let applied = try tool.run("apply", tool.store, change, "--entity", "E")
        #expect(applied.status == 1 && applied.error.contains(reason), "\(applied.error)")
    }

    @Test func exactTextsOfADeclaredTypeAreRead() throws {
        let file = try tool.file(
            "a.csv",
            "i,x,d\n0042,0.10000000000000001,001.50\n+7,5.684341886080802e-14,12E2\n-0,1e22,-0\n9,-0.0,.5\n9,2,1e-3\n")
        #expect(try types(file, "--types", "i:integer,x:double,d:decimal") == "i:integer,x:double,d:decimal\n")
        #expect(
            try exported() == "i,x,d\n42,0.1,1.5\n7,5.684341886080802e-14,1200\n0,1e+22,0\n9,-0.0,0.5\n9,2.0,0.001\n")
    }

    @Test func afterAFailedFirstImportAnErrorSaysHowTheTypeChanges() throws {
        let bad = try tool.file("bad.csv", "a code,n\n42,1,2\n43,1\n")
        let arguments = ["--entity", "E", "--key", "a code"]
        #expect(try tool.run(["import", tool.store, bad] + arguments).status == 1)
        for text in ["0042", "x"] {
            let file = try tool.file("a.csv", "a code,n\n\(text),1\n")
            let refused = try tool.run(["import", tool.store, file] + arguments)
            let way = "; --types `a code`:string makes the column one of texts; 0 rows before it are saved"
            #expect(refused.status == 1 && refused.error.contains(way), "\(refused.error)")
            let replaced = try tool.run(["import", tool.store, file, "--replace"] + arguments)
            #expect(replaced.error.contains("makes the column one of texts; --replace changed nothing"))
        }
        let file = try tool.file("b.csv", "a code,n\n0042,1\n0043,x\n")
        let result = try tool.run(["import", tool.store, file, "--types", "`a code`:string"] + arguments)
        #expect(result.status == 1 && !result.error.contains("--types"), "with objects there is another way")
        #expect(try exported() == "a code,n\n0042,1\n")
    }
}
