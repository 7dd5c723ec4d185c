@testable import FetchIndexLMDB
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

    /// A value is damaged, and with LMDB 1.0 the checksum of its page is wrong, too. The other values of the page are
    /// exported.
    @Test func anExportSkipsTheDamagedRecordsOnly() throws {
        let names = (0..<300).map { "name-\($0)" }
        let file = try tool.file("names.csv", (["name"] + names).joined(separator: "\n"))
        #expect(try tool.run("import", tool.store, file, "--entity", "Row").status == 0)
        let path = tool.store + "/data.mdb"
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        var start = data.startIndex
        while let found = data.range(of: Data("name-137".utf8), in: start..<data.endIndex) {
            data[found.lowerBound + 1] ^= 1
            start = found.upperBound
        }
        try data.write(to: URL(fileURLWithPath: path))
        #expect(try tool.run("export", tool.store, "--entity", "Row", "--format", "csv").status == 1)
        let export = try tool.run("export", tool.store, "--entity", "Row", "--format", "csv", "--skip-damaged")
        #expect(export.status == 1)
        #expect(export.error.contains("Row 138 is damaged and was left out"), "\(export.error)")
        #expect(export.output.split(separator: "\n").dropFirst().map(String.init) == names.filter { $0 != "name-137" })
        let check = try tool.run("check", tool.store)
        #expect(check.status == 1 && check.output.contains("Row 138"), "\(check.output)")
    }

    /// A byte that no value has is changed in a page of each tree in turn. `compact` and `backup` tell the page, and what
    /// they write is whole. Only with LMDB 1.0, which writes page checksums.
    @Test(.enabled(if: PageFormat.canHaveChecksums)) func pagesWithWrongChecksumsAreCopiedAndTold() throws {
        let names = (0..<300).map { "name-\($0)" }
        let file = try tool.file("names.csv", (["name"] + names).joined(separator: "\n"))
        #expect(try tool.run("import", tool.store, file, "--entity", "Row", "--key", "name").status == 0)
        #expect(try tool.run("fetch", tool.store, "--entity", "Row", "--sort", "name", "--cache", "c").status == 0)
        let path = tool.store + "/data.mdb"
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let layout = PageLayout.linked
        var told: Set<String> = []
        for page in 2..<whole.count / 4096 {
            let start = page * 4096
            func number(_ offset: Int) -> Int { Int(whole[start + offset]) | Int(whole[start + offset + 1]) << 8 }
            let (lower, upper) = (number(layout.headerLength - 4), number(layout.headerLength - 2))
            guard [1, 2].contains(number(layout.headerLength - 6)), upper - lower > 16 else { continue }
            var damaged = whole
            damaged[start + layout.base + lower + 8] ^= 1
            try? FileManager.default.removeItem(atPath: tool.store)
            try FileManager.default.createDirectory(atPath: tool.store, withIntermediateDirectories: true)
            try damaged.write(to: URL(fileURLWithPath: path))
            let check = try tool.run("check", tool.store)
            // The page may be free.
            if check.status == 0 { continue }
            let subject = try #require(check.output.firstRange(of: /in (the|table) .*, it has/), "\(check.output)")
            told.insert(String(check.output[subject]))
            let backup = try tool.run("backup", tool.store, tool.folder.path + "/backup-\(page)")
            #expect(backup.status == 0 && backup.error.contains("page \(page): "), "\(backup.error)")
            let repair = try tool.run("check", tool.store, "--repair")
            #expect(repair.status == 1 && repair.output.contains(/`compact`|export the records/), "\(repair.output)")
            let compact = try tool.run("compact", tool.store)
            #expect(compact.status == 0, "page \(page): \(compact.error)")
            #expect(try tool.run("check", tool.store).status == 0)
        }
        #expect(told.count >= 5, "\(told)")
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
