import Foundation
import FetchIndexTestSupport
import Testing

/// `fetchindex check` of stores that are damaged, or that another process writes.
@Suite struct CheckTests {
    let tool: Tool
    let rows: String

    init() throws {
        tool = try Tool()
        var text = "id\tsection\tsize\n"
        for number in 0..<60_000 { text += "id-\(number)\ts\(number % 50)\t\(number)\n" }
        rows = try tool.file("rows.tsv", text)
    }

    @Test func aDamagedPageIsListedAndATruncatedFileIsRefused() throws {
        _ = try tool.run("import", tool.store, rows, "--entity", "Row", "--key", "id")
        let path = tool.store + "/data.mdb"
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        var damaged = whole
        let page = whole.count / 4096 / 2
        damaged.replaceSubrange(page * 4096..<(page + 1) * 4096, with: Data(repeating: 0xFF, count: 4096))
        try damaged.write(to: URL(fileURLWithPath: path))
        let check = try tool.run("check", tool.store)
        #expect(check.status == 1)
        #expect(check.output.contains("page \(page): "))
        #expect(check.output.contains("the contents of the pages were not checked"))
        let json = try tool.run("check", tool.store, "--output", "json")
        #expect(json.status == 1 && (json["defects"] as? [String])?.isEmpty == false)

        try whole.prefix(whole.count / 2).write(to: URL(fileURLWithPath: path))
        for command in ["check", "info"] {
            let cut = try tool.run(command, tool.store)
            #expect(cut.status == 1)
            #expect(cut.error.contains("the store is damaged: its data.mdb is cut off"), "\(command): \(cut.error)")
        }
    }

    @Test func theCheckReportsNoDefectsWhileAnotherProcessWrites() throws {
        _ = try tool.run(
            "import", tool.store, try tool.file("first.tsv", "id\tsection\tsize\na\tb\t1\n"), "--entity", "Row")
        let writer = tool.process(["import", tool.store, rows, "--entity", "Row"])
        writer.standardOutput = FileHandle.nullDevice
        try writer.run()
        var checks = 0
        while writer.isRunning || checks < 3 {
            let check = try tool.run("check", tool.store)
            #expect(check.status == 0, "\(check.output)\(check.error)")
            checks += 1
        }
        #expect(writer.terminationStatus == 0)
    }
}
