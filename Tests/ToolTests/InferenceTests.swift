import Foundation
import FetchIndexTestSupport
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
        ("date", "2024-01-02T03:04:05.0000001234567Z", "another spelling of the key 2024-01-02T03:04:05"),
        ("boolean", "yes", "another spelling of the key true"),
    ]) func anotherSpellingOfAKeyIsABadRow(type: String, text: String, reason: String) throws {
        let file = try tool.file("a.csv", "code,n\n\(text),1\n")
        let command = [
            "import", tool.store, file, "--entity", "E", "--types", "code:\(type),n:integer", "--key", "code",
        ]
        let result = try tool.run(command)
        #expect(result.status == 1 && result.error.contains("line 2, column 1 (code): "), "\(result.error)")
        #expect(result.error.contains(reason), "\(result.error)")
        // `apply`, and columns that name related objects, refuse it too.
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

    /// What a file of JSON says is a key as it is written: no two spellings are one object.
    @Test(arguments: [
        (["2.0", "2", "20e-1"], "string"), (["1e2", "100"], "string"), (["1E+2", "100"], "string"),
        (["2", "3"], "integer"), (["1.5", "2"], "decimal"), (["1.50", "1.5"], "string"), (["true", "false"], "string"),
        (["\"2\"", "\"2.0\""], "string"), (["\"a\"", "7", "true"], "string"), (["0", "-0"], "string"),
        (["\"0042\"", "42"], "string"),
    ]) func aKeyOfJSONIsAsItIsWritten(texts: [String], type: String) throws {
        let file = try tool.file("a.jsonl", texts.enumerated().map { "{\"k\":\($1),\"n\":\($0)}\n" }.joined())
        #expect(try types(file, "--key", "k") == "k:\(type),n:integer\n")
        let rows = try exported().split(separator: "\n").dropFirst().map { $0.split(separator: ",")[0] }
        #expect(rows == texts.map { $0.filter { $0 != "\"" }[...] })
        let again = try tool.run("import", tool.store, file, "--entity", "E", "--key", "k")
        #expect(again.output.contains("0 inserted, 0 updated, \(texts.count) unchanged"), "\(again.error)")
    }

    @Test(arguments: [
        ("\"2\"", "2", "2 is not in quotation marks, as keys before it are; \"2\" would be the same key"),
        ("2", "\"3\"", "\"3\" is in quotation marks, which keys before it are not; 3 would be the same key"),
        ("true", "\"true\"", "\"true\" is in quotation marks, which keys before it are not"),
    ]) func aKeyInQuotationMarksIsNoOtherKeyThanTheOneWithout(first: String, second: String, reason: String) throws {
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

    @Test func textsKeepTheSpellingOfNumbers() throws {
        let file = try tool.file("a.jsonl", "{\"k\":2.0,\"v\":1e2,\"w\":true}\n{\"k\":2,\"v\":1E+2,\"w\":-0.0}\n")
        #expect(try types(file, "--types", "*:string", "--key", "k") == "k:string,v:string,w:string\n")
        #expect(try exported() == "k,v,w\n2.0,1e2,true\n2,1E+2,-0.0\n")
    }

    /// A number of JSON that isn't a key is its value, however it is written.
    @Test func wholeNumbersOfJSONAreIntegersWhereThatIsTheType() throws {
        let file = try tool.file("a.jsonl", "{\"k\":\"a\",\"v\":2.0}\n{\"k\":\"b\",\"v\":1e2}\n{\"k\":\"c\",\"v\":3}\n")
        #expect(try types(file, "--types", "v:integer", "--key", "k") == "k:string,v:integer\n")
        #expect(try exported() == "k,v\na,2\nb,100\nc,3\n")
        let other = tool.store + " other"
        #expect(try tool.run("import", other, file, "--entity", "E", "--key", "k").status == 0)
        #expect(try tool.run("export", other, "--entity", "E", "--print-types").output == "k:string,v:double\n")
    }

    @Test(arguments: ["42.0", "4.2e1", "\"042\""]) func aChangeNamesItsObjectAsItsKeyPrints(key: String) throws {
        let file = try tool.file("a.csv", "k,v\n42,1\n")
        #expect(try types(file, "--key", "k") == "k:integer,v:integer\n")
        let result = try tool.run(
            "apply", tool.store, tool.file("c.jsonl", "{\"op\":\"delete\",\"key\":\(key)}\n"), "--entity", "E")
        #expect(result.status == 1 && result.error.contains("another spelling of the key 42"), "\(result.error)")
        let unkeyed = try tool.file("b.csv", "v\n1\n")
        #expect(try tool.run("import", tool.store, unkeyed, "--entity", "F").status == 0)
        let number = try tool.run(
            "apply", tool.store, tool.file("d.jsonl", "{\"op\":\"delete\",\"key\":1.0}\n"), "--entity", "F")
        #expect(number.error.contains("there is no F with number 1.0"), "\(number.error)")
    }

    /// If a key can be written in two ways, a file has one of them.
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
    ]) func aFileWritesItsKeysInOneWay(type: String, first: String, second: String, other: String) throws {
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

    /// Times of a column may have any form, as long as it is one: in each a moment has one text.
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
    ]) func timesOfAColumnAreWrittenInOneWay(texts: [String], others: [String]) throws {
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

    @Test(arguments: ["http://a.example/ä", "http://a.example/a b", "http://a.example/%zz"])
    func aURLKeepsItsTextOrIsABadRow(url: String) throws {
        let file = try tool.file("a.csv", "k,u\n1,http://a.example/x?y=1\n2,\(url)\n")
        let result = try tool.run(
            "import", tool.store, file, "--entity", "E", "--key", "k", "--types", "u:url", "--skip-bad-rows")
        #expect(result.output.contains("1 inserted"), "\(result.output)\(result.error)")
        #expect(result.output.contains("(u): \"\(url)\" is not a URL"), "\(result.output)")
        #expect(try exported() == "k,u\n1,http://a.example/x?y=1\n")
    }

    /// Columns that are called as those of numbers and stores.
    @Test(arguments: ["csv", "jsonl"]) func columnsThatExportDoesNotWriteAreAttributes(format: String) throws {
        func file(_ name: String, _ columns: [String], _ rows: [[String]]) throws -> String {
            let lines = rows.map { row in
                format == "csv"
                    ? row.joined(separator: ",")
                    : "{"
                        + zip(columns, row).map { "\"\($0)\":\(Int($1) == nil ? "\"\($1)\"" : $1)" }.joined(
                            separator: ",")
                        + "}"
            }
            let header = format == "csv" ? [columns.joined(separator: ",")] : []
            return try tool.file(name + "." + format, (header + lines).joined(separator: "\n") + "\n")
        }
        func attributes(_ name: String, _ columns: [String], _ rows: [[String]], _ options: String...) throws
            -> [String]
        {
            let store = tool.store + name
            let path = try file(name, columns, rows)
            for counts in ["\(rows.count) inserted", "0 inserted, 0 updated, \(rows.count) unchanged"] {
                let result = try tool.run(["import", store, path, "--entity", "E", "--key", columns[0]] + options)
                #expect(result.output.contains(counts), "\(name): \(result.output)\(result.error)")
            }
            let types = try tool.run("export", store, "--entity", "E", "--print-types").output
            return types.split(separator: ",").map { String($0.split(separator: ":")[0]) }
        }
        let identifier = UUID().uuidString
        #expect(try attributes("shops", ["k", "@store"], [["1", "shop A"], ["2", "shop B"]]).contains("@store"))
        #expect(try attributes("ids", ["k", "@id"], [["a", "5"], ["b", "7"]]).contains("@id"))
        #expect(try attributes("key", ["@id", "v"], [["5", "x"], ["7", "y"]]).contains("@id"))
        let both = try attributes("both", ["k", "@id", "@store"], [["a", "1", "A"], ["b", "2", "B"]])
        #expect(both.contains("@id") && both.contains("@store"))
        #expect(try attributes("uuid", ["k", "@store"], [["a", identifier], ["b", identifier]]).contains("@store"))
        let ours = try attributes("ours", ["k", "@id", "@store"], [["a", "1", identifier], ["b", "2", identifier]])
        #expect(ours == ["k\n"] || ours == ["k"])
        // Without links, `export` writes no numbers, so a stored object is not what such a column names.
        let stored = tool.store + "shops"
        let refused = try tool.run(
            "import", stored, file("more", ["k", "@id"], [["9", "1"]]), "--entity", "E", "--format", format)
        #expect(refused.status == 1 && refused.error.contains("@id"), "\(refused.output)")
        let added = try attributes("shops", ["k", "@id"], [["9", "1"]], "--add-columns")
        #expect(added.contains("@id") && added.contains("@store"))
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
            let way = "; --types `a code`:string imports the column as text; 0 rows before it are saved"
            #expect(refused.status == 1 && refused.error.contains(way), "\(refused.error)")
            let replaced = try tool.run(["import", tool.store, file, "--replace"] + arguments)
            #expect(replaced.error.contains("imports the column as text; --replace changed nothing"))
        }
        let file = try tool.file("b.csv", "a code,n\n0042,1\n0043,x\n")
        let result = try tool.run(["import", tool.store, file, "--types", "`a code`:string"] + arguments)
        #expect(result.status == 1 && !result.error.contains("--types"), "with objects there is another way")
        #expect(try exported() == "a code,n\n0042,1\n")
    }
}
