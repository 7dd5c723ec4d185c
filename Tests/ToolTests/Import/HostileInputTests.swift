import Foundation
import FetchIndexTestSupport
import Testing

/// Malformed catalogues and change files. Each is reported in one sentence, and the rows and transactions before the
/// error are saved whole.
@Suite struct HostileInputTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    /// Runs a command that must fail, and returns its one sentence.
    private func failure(_ arguments: String...) throws -> String {
        let result = try tool.run(arguments)
        #expect(result.status == 1 || result.status == 2, "\(arguments): \(result.status) \(result.error)")
        #expect(result.error.hasPrefix("fetchindex: "), "\(result.error)")
        #expect(result.error.utf8.count { $0 == 0x0A } == 1, "\(result.error)")
        return String(result.error.dropFirst("fetchindex: ".count).dropLast())
    }

    @Test func badRowsAreCountedAndReportedAndOtherRowsAreImported() throws {
        let lines = [
            "{\"k\":\"a\",\"n\":1}", "[1]", "{\"k\":\"b\",\"n\":2,\"n\":3}", "{\"k\":\"c\",\"n\":\"x\"}",
            "{\"k\":\"d\",\"n\":1.0}",
            "{\"k\":\"e\",\"n\":1e999}", "{\"k\":\"f\",\"n\":99999999999999999999}", "{\"k\":\"\\ud800\"}",
            "{\"k\":\"g\\u0000\",\"n\":-0}",
            "{\"k\":\"a\",\"n\":7}", "{\"n\":8}", "{\"k\":\"" + String(repeating: "x", count: 600) + "\"}",
        ]
        let file = try tool.file("bad.jsonl", lines.joined(separator: "\n"))
        let result = try tool.run(
            "import", tool.store, file, "--entity", "E", "--key", "k", "--types", "n:integer", "--skip-bad-rows",
            "--output",
            "json")
        #expect(result.status == 0 && result["inserted"] as? Int == 3 && result["unchanged"] as? Int == 1)
        let bad = (result["badRows"] as? [String] ?? []).map { $0.replacingOccurrences(of: file + ", ", with: "") }
        #expect(result["badRowCount"] as? Int == 8)
        #expect(bad.count == 8)
        for (line, reason) in zip(
            [2, 3, 4, 6, 7, 8, 11, 12],
            [
                "at byte 1 there is no object", "a second member \"n\"", "\"x\" is not an integer", "too large",
                "\"99999999999999999999\" is not an integer", "an unpaired surrogate",
                "E.k is required in a new object",
                "would exceed 511 bytes",
            ])
        {
            #expect(bad.contains { $0.hasPrefix("line \(line)") && $0.contains(reason) }, "\(line): \(bad)")
        }
        let rows = try tool.rows("--entity", "E", "--sort", "k")
        #expect(rows.map { $0["k"] as? String } == ["a", "d", "g\0"] && rows.map { $0["n"] as? Int } == [7, 1, 0])
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func rowsBeforeAnUnclosedQuotationMarkAreSaved() throws {
        let file = try tool.file("a.csv", "k,n\na,1\nb,2\n\"c,3\nd,4\n")
        #expect(
            try failure("import", tool.store, file, "--entity", "E", "--types", "n:integer").hasSuffix(
                "line 4: the quotation mark that opens a field here is never closed; 2 rows before it are saved"))
        #expect(try tool.rows("--entity", "E").count == 2)
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func tenThousandColumnsAreImported() throws {
        let names = (0..<10_000).map { "c\($0)" }.joined(separator: ",")
        let file = try tool.file("wide.csv", "\(names)\n\((0..<10_000).map(String.init).joined(separator: ","))\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "E").status == 0)
        #expect(try tool.rows("--entity", "E").first?["c9999"] as? Int == 9999)
        let wider = try tool.file("wider.csv", (0..<40_000).map { "c\($0)" }.joined(separator: ",") + "\n")
        #expect(try failure("import", tool.store, wider, "--entity", "F").contains("has more than 32768 fields"))
    }

    @Test func unreadableCataloguesAreReportedInOneSentence() throws {
        let folder = tool.folder.path
        var cases = [
            (folder, "is a folder, not a file"), (folder + "/missing.csv", "No such file"),
            ("/dev/null", "is empty"),
            (try tool.file("utf16.csv", Data([0xFF, 0xFE, 0x61, 0])), "is in UTF-16"),
            (try tool.file("empty.csv", ""), "is empty"), (try tool.file("twice.csv", "a,a\n"), "line 1, column 2"),
            (try tool.file("nul.csv", "a\0b\n"), "line 1, column 1"),
        ]
        cases.append((folder + "/" + String(repeating: "x", count: 300) + ".csv", "File name too long"))
        for (path, text) in cases {
            #expect(try failure("import", tool.store, path, "--entity", "E", "--format", "csv").contains(text))
            #expect(!FileManager.default.fileExists(atPath: tool.store), "\(path) left a store")
        }
        let unreadable = try tool.file("secret.csv", "a\n1\n")
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: unreadable)
        if geteuid() != 0 {
            #expect(try failure("import", tool.store, unreadable, "--entity", "E").contains("Permission denied"))
        }
    }

    @Test func aBadChangeKeepsTheTransactionsBeforeIt() throws {
        let catalogue = try tool.file("a.csv", "k,n\na,1\nb,2\n")
        #expect(try tool.run("import", tool.store, catalogue, "--entity", "E", "--key", "k").status == 0)
        for (number, (line, reason)) in [
            ("{\"op\":\"update\",\"key\":\"a\",\"values\":{\"n\":{\"x\":1}}}", "a list or an object"),
            ("{\"op\":\"update\",\"key\":\"a\",\"values\":{\"n\":1,\"n\":2}}", "a second member \"n\""),
            ("{\"op\":\"update\",\"key\":\"a\",\"values\":{\"n\":1e400}}", "a number that is too large"),
            ("{\"op\":\"update\",\"key\":\"a\",\"values\":{\"n\":1.5}}", "is not an integer"),
            ("{\"op\":\"insert\",\"values\":{\"k\":\"\\udfff\"}}", "an unpaired surrogate"),
            (
                "{\"op\":\"delete\",\"key\":\"" + String(repeating: "z", count: 100_000) + "\"}",
                "there is no E with k \"zz"
            ),
            (String(repeating: "{\"values\":", count: 100_000), "a list or an object"),
            ("{\"op\":\"delete\"} x", "something after the object"),
        ].enumerated() {
            let changes =
                "{\"op\":\"update\",\"key\":\"b\",\"values\":{\"n\":\(number + 10)}}\r\n\r\n{\"op\":\"delete\",\"key\":\"b\"}\r\n\(line)\r\n"
            let error = try failure("apply", tool.store, try tool.file("c.jsonl", changes), "--entity", "E")
            #expect(
                error.contains("line 4: "),
                "\(error)")
            #expect(
                error.contains(reason),
                "\(error)")
            #expect(
                error.hasSuffix("; 1 transaction before it is applied"),
                "\(error)")
            #expect(error.utf8.count < 600, "an error quotes only the beginning of a long text")
            #expect(try tool.rows("--entity", "E", "--sort", "k").map { $0["n"] as? Int } == [1, number + 10])
        }
    }

    @Test func changesReadNumbersAsImportsDo() throws {
        let catalogue = try tool.file("a.jsonl", "{\"k\":1,\"d\":null}\n \t\n{\"k\":2,\"d\":1.5}\n")
        #expect(try tool.run("import", tool.store, catalogue, "--entity", "E", "--key", "k").status == 0)
        let near = try tool.file("n.jsonl", "{\"op\":\"delete\",\"key\":0.99999999999999999999}\n")
        #expect(try failure("apply", tool.store, near, "--entity", "E").contains("\"key\" is not an integer"))
        let change = "{\"op\":\"update\",\"key\":1,\"values\":{\"d\":\"-inf\"}}\n"
        #expect(try tool.run("apply", tool.store, try tool.file("c.jsonl", change), "--entity", "E").status == 0)
        let rows = try tool.run("export", tool.store, "--entity", "E", "--format", "jsonl").output
        #expect(rows == "{\"d\":\"-inf\",\"k\":1}\n{\"d\":1.5,\"k\":2}\n")
    }

    @Test func aMisplacedQuotationMarkIsReported() throws {
        let file = try tool.file("a.csv", "k,v\n99,a\n100,\"oops\n101,\"v101\"\n102,b\n")
        let expected = "line 4: a quotation mark inside a quoted field must be doubled; the field begins on line 3"
        #expect(
            try failure("import", tool.store, file, "--entity", "E", "--key", "k")
                == "\(file), \(expected); 1 row before it is saved")
        #expect(try tool.rows("--entity", "E").map { $0["k"] as? Int } == [99])
    }

    @Test func applyRefusesInvalidObjectNumbers() throws {
        _ = try tool.run("import", tool.store, try tool.file("a.csv", "n\n1\n2\n"), "--entity", "E")
        for key in ["281474976710657", "18446744073709551617", "-1", "0", "1.5", "\"x\""] {
            let change = try tool.file("c.jsonl", "{\"op\":\"delete\",\"key\":\(key)}\n")
            #expect(try failure("apply", tool.store, change, "--entity", "E").contains("there is no E with number"))
        }
        #expect(try tool.rows("--entity", "E").count == 2)
    }

    @Test func aFetchWithATooCostlyPatternIsAnError() throws {
        let text = String(repeating: "a", count: 3_000_000) + "!"
        _ = try tool.run(
            "import", tool.store, try tool.file("a.csv", "t\n\(text)\n"), "--entity", "E", "--types", "t:string")
        let long = String(repeating: "a", count: 50_000)
        for (format, reason) in [
            ("t MATCHES '(a+)+b'", "takes too much time or memory on a text"),
            ("t MATCHES '(a|aa)+$'", "takes too much time or memory"),
            ("t LIKE '*\(long)e*'", "LIKE takes too much time on a text of 3000001 bytes"),
            // The search tries every position of "a", because "a" counts as rarer than "e".
            ("t CONTAINS '\(long)e'", "CONTAINS takes too much time on a text of 3000001 bytes"),
        ] {
            let start = ContinuousClock.now
            #expect(try failure("fetch", tool.store, "--entity", "E", "--where", format).contains(reason))
            #expect(ContinuousClock.now - start < .seconds(20))
        }
    }

    static func run(_ program: String, _ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }
}
