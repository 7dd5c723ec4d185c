import Foundation
import FetchIndexTestSupport
import Testing

/// Processes with less address space than a store's map usually takes.
@Suite(.disabled(if: isUnderSanitizer)) struct LittleMemoryTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test func anImportSucceedsWithLittleAddressSpace() throws {
        var text = "id\tsection\tsize\n"
        for number in 0..<60_000 { text += "id-\(number)\ts\(number % 50)\t\(number)\n" }
        let rows = try tool.file("rows.tsv", text)
        let command = "ulimit -v 2500000; exec \"$0\" import \"$1\" \"$2\" --entity Row --key id"
        let arguments = ["-c", command, Tool.executable.path, tool.store, rows]
        let result = try TemporaryFolder.run("bash", arguments)
        #expect(result.status == 0)
        #expect(try tool.run("check", tool.store).status == 0)
    }

    /// The fetch sorts on disk, or reports in one line that memory is missing.
    @Test func aSortWithLittleAddressSpaceEndsWithoutATrap() throws {
        let text = (0..<60_000).map { "\($0),\(String(repeating: "t", count: 150))\($0 * 7919 % 60_000)\n" }.joined()
        let rows = try tool.file("rows.csv", "id,text\n" + text)
        #expect(try tool.run("import", tool.store, rows, "--entity", "Row", "--key", "id").status == 0)
        let process = tool.process([])
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c", "ulimit -v 300000; exec \"$0\" fetch \"$1\" --entity Row --sort text --cache c --limit 1 2>&1",
            Tool.executable.path, tool.store,
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit)
        #expect(output.split(separator: "\n").count == 1 || process.terminationStatus == 0, "\(output.prefix(500))")
    }
}
