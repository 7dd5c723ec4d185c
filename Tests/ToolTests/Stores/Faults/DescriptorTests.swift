import Foundation
import FetchIndexTestSupport
import Testing

/// A program may be started with closed standard descriptors. If the next files that it opens got these descriptors,
/// output could be written into a store's file.
@Suite struct DescriptorTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    /// Runs a command with some of the descriptors 0 to 2 closed, and the other ones open on files.
    private func run(_ arguments: [String], closing closed: [Int]) throws -> Tool.Result {
        let output = tool.folder.path + "/out", error = tool.folder.path + "/err"
        let process = tool.process([])
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        let streams = ["</dev/null", ">'\(output)'", "2>'\(error)'"]
        let redirections = (0...2).map { closed.contains($0) ? "\($0)>&-" : streams[$0] }.joined(separator: " ")
        for file in [output, error] { try Data().write(to: URL(fileURLWithPath: file)) }
        process.arguments = ["-c", "exec \"$0\" \"$@\" \(redirections)", Tool.executable.path] + arguments
        try process.run()
        process.waitUntilExit()
        return Tool.Result(
            status: process.terminationStatus, output: try String(contentsOfFile: output, encoding: .utf8),
            error: try String(contentsOfFile: error, encoding: .utf8))
    }

    /// Commands, and whether each of them prints anything on standard output.
    private func commands(_ rows: String, _ changes: String) -> [(arguments: [String], prints: Bool)] {
        let store = tool.store
        let folder = tool.folder.path
        return [
            (["import", store, rows, "--entity", "Row", "--key", "id"], true),
            (["fetch", store, "--entity", "Row", "--section", "kind", "--cache", "c"], true),
            (["fetch", store, "--entity", "Row", "--output", "json"], true),
            (["apply", store, changes, "--entity", "Row", "--cache", "c"], true),
            (["apply", store, changes, "--entity", "Row"], true),
            (["changes", store, "--cache", "c"], true),
            (["cache", "list", store], true), (["cache", "show", store, "c"], true),
            (["cache", "verify", store], true), (["cache", "rebuild", store], true),
            (["info", store], true), (["check", store], true), (["check", store, "--repair"], true),
            (["export", store, "--entity", "Row", "--format", "csv"], true),
            (["export", store, folder + "/rows-out.csv", "--entity", "Row"], false),
            (["backup", store, folder + "/backup-\(UUID().uuidString)"], true),
            (["compact", store], true),
            (["cache", "delete", store, "c"], true),
            (["help"], true), (["nonsense"], false),
        ]
    }

    /// Each of these commands runs with each combination of closed descriptors. The store stays sound, and a command
    /// whose output is lost exits with 1.
    @Test func closedStandardDescriptorsHarmNoStore() throws {
        let rows = try tool.file(
            "rows.csv", "id,kind,note\n" + (0..<400).map { "\($0),k\($0 % 7),note \($0)\n" }.joined())
        let changes = try tool.file(
            "changes.jsonl",
            (0..<9).map { "{\"op\":\"update\",\"key\":\($0),\"values\":{\"note\":\"\(UUID().uuidString)\"}}\n" }
                .joined())
        for combination in 0..<8 {
            let closed = (0...2).filter { combination >> $0 & 1 == 1 }
            for (arguments, prints) in commands(rows, changes) {
                let result = try run(arguments, closing: closed)
                let isLost = prints && closed.contains(1)
                let expected: Int32 = arguments == ["nonsense"] ? 2 : isLost ? 1 : 0
                #expect(result.status == expected, "\(arguments) without \(closed): \(result.error)")
                if isLost && !closed.contains(2) {
                    #expect(result.error.contains("the output cannot be written"), "\(arguments) without \(closed)")
                }
            }
            let check = try tool.run("check", tool.store)
            #expect(check.status == 0, "without \(closed): \(check.output)\(check.error)")
            let export = try tool.run("export", tool.store, "--entity", "Row", "--format", "csv")
            #expect(export.output.split(separator: "\n").count == 401)
        }
    }

    /// A program that reads the output relies on the exit code to notice lost output.
    @Test func commandsReportLostOutput() throws {
        let rows = try tool.file("rows.csv", "id,kind\n1,a\n2,b\n")
        let changes = try tool.file(
            "changes.jsonl",
            """
            {"op":"update","key":1,"values":{"kind":"c"}}

            {"op":"update","key":2,"values":{"kind":"d"}}
            """)
        #expect(try tool.run("import", tool.store, rows, "--entity", "Row", "--key", "id").status == 0)
        #expect(try tool.run("fetch", tool.store, "--entity", "Row", "--section", "kind", "--cache", "c").status == 0)
        for arguments in [
            ["apply", tool.store, changes, "--entity", "Row", "--cache", "c"],
            ["fetch", tool.store, "--entity", "Row"], ["fetch", tool.store, "--entity", "Row", "--output", "json"],
            ["changes", tool.store, "--cache", "c"], ["cache", "list", tool.store], ["info", tool.store],
            ["export", tool.store, "--entity", "Row"], ["help"], ["watch", tool.store, "--cache", "c"],
        ] {
            let process = tool.process(arguments)
            process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
            let error = Pipe()
            process.standardError = error
            try process.run()
            let text = String(decoding: error.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus == 1, "\(arguments): \(text)")
            #expect(text.contains("the output cannot be written: No space left on device"), "\(arguments): \(text)")
        }
    }
}
