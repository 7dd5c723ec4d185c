import Foundation
import FetchIndexTestSupport
import Testing

/// The inspection script, also while another process writes.
@Suite struct InspectTests {
    @Test func inspectReportsSoundCachesWhileAnotherProcessWrites() throws {
        let tool = try Tool()
        var text = "id,section\n"
        for number in 0..<5000 { text += "\(number),s\(number % 9)\n" }
        let file = try tool.file("rows.csv", text)
        _ = try tool.run("import", tool.store, file, "--entity", "Row", "--key", "id", "--types", "id:string")
        _ = try tool.run(
            "fetch", tool.store, "--entity", "Row", "--section", "section", "--sort", "id", "--cache", "c",
            "--sections-only")
        var changes = ""
        for number in 0..<600 {
            changes += "{\"op\":\"update\",\"key\":\"\(number)\",\"values\":{\"section\":\"t\(number % 5)\"}}\n\n"
        }
        let writer = tool.process(["apply", tool.store, try tool.file("changes.jsonl", changes), "--entity", "Row"])
        writer.standardOutput = FileHandle.nullDevice
        try writer.run()
        var inspections = 0
        repeat {
            let result = try inspect(tool.store)
            // The cache is fresh (0) until the writer's first transaction, and then behind (3).
            #expect([0, 3].contains(result.status), "\(result.output)")
            let reports = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [[String: Any]]
            #expect(reports?.first?["name"] as? String == "c")
            #expect((reports?.first?["defects"] as? [String])?.isEmpty == true)
            inspections += 1
        } while writer.isRunning
        writer.waitUntilExit()
        #expect(writer.terminationStatus == 0)
        #expect(inspections > 0)
        #expect(try tool.run("cache", "verify", tool.store).status == 0)
        #expect(try inspect(tool.store).status == 3)
        #expect(try tool.run("refresh", tool.store).status == 0)
        #expect(try inspect(tool.store).status == 0)
        #expect(try inspect(tool.folder.path + "/none").status == 1)
    }

    @Test func theReportCommandWritesAPageButNotToStoresDevicesOrMissingFolders() throws {
        let tool = try Tool()
        let file = try tool.file("rows.csv", "id,section\n1,a\n2,b\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Row", "--key", "id").status == 0)
        let cache = ["--entity", "Row", "--section", "section", "--cache", "c", "--sections-only"]
        #expect(try tool.run(["fetch", tool.store] + cache).status == 0)
        let page = tool.folder.path + "/report.html"
        #expect(try inspect(tool.store, "--report", page).status == 0)
        let written = try String(contentsOfFile: page, encoding: .utf8)
        #expect(written.hasPrefix("<!doctype html>") && written.contains("2 in 2 sections"))
        #expect(try tool.run("report", tool.store).output == written)
        #expect(try tool.run("report", tool.store, "--verify").output.contains("it agrees with the records"))
        for wrong in [tool.store, tool.store + "/data.mdb", "/dev/null", tool.folder.path + "/no/such/folder.html"] {
            let result = try tool.run("report", tool.store, "--out", wrong)
            #expect(result.status == 1, "\(wrong)")
            #expect(result.error.hasPrefix("fetchindex: ") && result.error.contains(wrong), "\(result.error)")
        }
        #expect(try tool.run("report", tool.folder.path + "/none").status == 1)
        #expect(try tool.run("check", tool.store).status == 0)
    }

    private func inspect(_ store: String, _ options: String...) throws -> (status: Int32, output: String) {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .deletingLastPathComponent()
        let process = Process()
        process.executableURL = root.appendingPathComponent("Scripts/inspect-cache")
        process.arguments = [store, "--output", "json"] + options
        process.environment = ProcessInfo.processInfo.environment.merging([
            "FETCHINDEX": Tool.executable.path
        ]) { _, new in new }
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}
