import Foundation
import FetchIndexTestSupport
import Testing

/// Imports from standard input, pipes and compressed files.
@Suite struct PipeTests {
    let tool: Tool
    private let rows = "k,d,n\n" + (0..<3000).map { "\($0),2024-01-02,\($0 % 7)\n" }.joined()

    init() throws { tool = try Tool() }

    /// Runs a command in a shell, with the paths of the tool, the store and the test's folder in $FETCHINDEX, $STORE
    /// and $FOLDER.
    private func shell(_ command: String) throws -> (status: Int32, output: String) {
        try TemporaryFolder.run(
            "env",
            [
                "FETCHINDEX=" + Tool.executable.path, "STORE=" + tool.store, "FOLDER=" + tool.folder.path, "sh", "-c",
                command,
            ])
    }

    private func count() throws -> Int? {
        try tool.run("fetch", tool.store, "--entity", "E", "--limit", "0", "--output", "json")["count"] as? Int
    }

    @Test(arguments: [
        "$FETCHINDEX import \"$STORE\" - --entity E --key k --format csv < $FOLDER/a.csv",
        "cat $FOLDER/a.csv | $FETCHINDEX import \"$STORE\" - --entity E --key k --format csv",
        "gzip -c $FOLDER/a.csv | $FETCHINDEX import \"$STORE\" - --entity E --key k --format csv",
        "gzip -k $FOLDER/a.csv; $FETCHINDEX import \"$STORE\" $FOLDER/a.csv.gz --entity E --key k",
        "mkfifo $FOLDER/p.csv; cat $FOLDER/a.csv > $FOLDER/p.csv & $FETCHINDEX import \"$STORE\" $FOLDER/p.csv --entity E --key k",
    ])
    func rowsAreImportedFromStandardInputPipesAndCompressedFiles(command: String) throws {
        _ = try tool.file("a.csv", rows)
        let result = try shell(command)
        #expect(result.status == 0, "\(result.output)")
        #expect(try count() == 3000)
        // The types are inferred, although a pipe can be read only once.
        #expect(
            try tool.run("export", tool.store, "--entity", "E", "--print-types").output
                == "k:integer,d:date,n:integer\n")
        #expect(try tool.run("check", tool.store).status == 0)
    }

    @Test func aPipeThatCannotBeBufferedImportsNoRows() throws {
        _ = try tool.file("a.csv", "k,d\n" + (0..<150_000).map { "\($0),some text \($0)\n" }.joined())
        let result = try shell(
            "cat $FOLDER/a.csv | TMPDIR=$FOLDER/missing $FETCHINDEX import \"$STORE\" - --entity E --key k --format csv 2>&1"
        )
        #expect(result.status == 1, "\(result.output)")
        #expect(result.output.contains("cannot be kept in"), "\(result.output)")
        #expect(try count() ?? 0 == 0)
    }

    @Test func aMemberThatFirstAppearsLateInAPipeIsAnAttribute() throws {
        let lines = (0..<1500).map { "{\"k\":\"\($0)\"}\n" }.joined() + "{\"k\":\"z\",\"late\":\"x\"}\n"
        _ = try tool.file("a.jsonl", lines)
        let result = try shell(
            "cat $FOLDER/a.jsonl | $FETCHINDEX import \"$STORE\" - --entity E --key k --format jsonl 2>&1")
        #expect(result.status == 0, "\(result.output)")
        #expect(try tool.run("export", tool.store, "--entity", "E", "--print-types").output == "k:string,late:string\n")
    }

    @Test func aTruncatedFileReportsTheNumberOfSavedRows() throws {
        _ = try tool.file("a.csv", rows)
        let result = try shell(
            "gzip -c $FOLDER/a.csv | head -c 4000 > $FOLDER/cut.csv.gz; "
                + "$FETCHINDEX import \"$STORE\" $FOLDER/cut.csv.gz --entity E --key k 2>&1")
        #expect(result.status == 1)
        let saved = try #require(try count())
        #expect(saved > 1000 && saved < 3000)
        let said = saved / 1000 * 1000 == 0 ? "\(saved)" : "\(saved / 1000)," + "\(1000 + saved % 1000)".dropFirst()
        #expect(
            result.output.contains("cut.csv.gz ends within its gzip data; \(said) rows before it are saved"),
            "\(result.output)")
        // The import can be repeated with the whole file.
        #expect(try tool.run("import", tool.store, tool.file("a.csv", rows), "--entity", "E", "--key", "k").status == 0)
        #expect(try count() == 3000)
    }

    @Test func changesAreAppliedFromAPipe() throws {
        #expect(try tool.run("import", tool.store, tool.file("a.csv", rows), "--entity", "E", "--key", "k").status == 0)
        let result = try shell(
            #"echo '{"op":"delete","key":3}' | $FETCHINDEX apply "$STORE" - --entity E --key k"#)
        #expect(result.status == 0, "\(result.output)")
        #expect(try count() == 2999)
    }
}
