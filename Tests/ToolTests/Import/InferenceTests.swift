import Foundation
import FetchIndexTestSupport
import Testing

/// Types that an import infers keep the texts of keys, and the numbers of other columns to the last digit.
@Suite struct InferenceTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test(arguments: [
        (["42", "0042"], "string"), (["42", "+42"], "string"), (["1.1", "1.10"], "string"), (["1.0", "2.0"], "string"),
        (["1.1", "2"], "decimal"), (["42", "-7"], "integer"), (["12E4", "13E4"], "string"),
        (["12345678901234567890", "7"], "decimal"), (["9007199254740993", "0.5"], "decimal"),
        (["1234567890123456789012345678901234567890", "1234567890123456789012345678901234567891"], "string"),
        (["2024-01-02", "2024-01-03"], "string"), (["true", "false"], "string"), (["0", "-0"], "string"),
        (["1e-400", "1e-401"], "string"),
    ]) func aKeyColumnIsNumericOnlyIfEachTextPrintsBackUnchanged(texts: [String], type: String) throws {
        let file = try tool.file("a.csv", "code\n" + texts.map { $0 + "\n" }.joined())
        #expect(try tool.importedTypes(file, "--key", "code") == "code:\(type)\n")
        #expect(try Set(tool.exportedRows().split(separator: "\n")) == Set((["code"] + texts).map { $0[...] }))
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
    ]) func aColumnIsNumericOnlyIfEachTextIsPlainAndKeepsItsValue(texts: [String], type: String) throws {
        let file = try tool.file("a.csv", "k,v\n" + texts.enumerated().map { "\($0),\"\($1)\"\n" }.joined())
        #expect(try tool.importedTypes(file, "--key", "k") == "k:integer,v:\(type)\n")
    }

    @Test(arguments: ["csv", "csv.gz", "pipe"]) func typesOfACSVFileAreInferredFromAllRows(form: String) throws {
        let rows = (0..<5000).map { "\($0),\($0),\($0 % 2 == 0 ? "" : "1")\n" }.joined()
        let file = try tool.file("a.csv", "k,n,m\n" + rows + "5000,0042,2.5\n")
        // The wide file is larger than the part of a pipe that an import keeps in memory.
        let filler = String(repeating: "x", count: 1000)
        let wide = try tool.file(
            "b.csv", "k,n,m,f\n" + rows.split(separator: "\n").map { "\($0),\(filler)\n" }.joined() + "5000,0042,2.5,\n"
        )
        switch form {
        case "csv": #expect(try tool.importedTypes(file, "--key", "k") == "k:integer,n:string,m:decimal\n")
        case "csv.gz":
            _ = try TemporaryFolder.run("gzip", ["-k", file])
            #expect(try tool.importedTypes(file + ".gz", "--key", "k") == "k:integer,n:string,m:decimal\n")
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

    @Test func typesInferredForJSONNumbersKeepTheirDigits() throws {
        let lines = (0..<1500).map { "{\"k\":\($0),\"a\":\($0),\"b\":0.5,\"c\":1}\n" }.joined()
        let file = try tool.file(
            "a.jsonl", lines + "{\"k\":1500,\"a\":1.5,\"b\":9007199254740993,\"c\":12345678901234567890}\n")
        #expect(try tool.importedTypes(file, "--key", "k") == "a:double,b:decimal,c:decimal,k:integer\n")
    }

    /// `export` can write object numbers into a column `@id`, and the store's identifier into a column `@store`.
    /// Columns with these names that can't be from an export are ordinary attributes.
    @Test(arguments: ["csv", "jsonl"]) func idAndStoreColumnsThatExportDidNotWriteAreAttributes(format: String) throws {
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
        // No relationship leads from or to E, so `export` writes no numbers for it, and `@id` must be an attribute. E
        // lacks this attribute.
        let stored = tool.store + "shops"
        let refused = try tool.run(
            "import", stored, file("more", ["k", "@id"], [["9", "1"]]), "--entity", "E", "--format", format)
        #expect(refused.status == 1 && refused.error.contains("@id"), "\(refused.output)")
        let added = try attributes("shops", ["k", "@id"], [["9", "1"]], "--add-columns")
        #expect(added.contains("@id") && added.contains("@store"))
    }
}
