import FetchIndexTestSupport
import Foundation
import Testing

/// `changes --since BOOKMARK --advance` moves the bookmark only after its output was written.
@Suite struct LostAdvanceTests {
    static let outputs = ["table", "json", "jsonl", "csv"]
    static let sources = [["--cache", "c"], ["--entity", "Row"]]
    let tool: Tool

    init() throws {
        tool = try Tool()
        let file = try tool.file("rows.csv", "id,size\n" + (0..<200).map { "\($0),\($0)\n" }.joined())
        #expect(try tool.run("import", tool.store, file, "--entity", "Row", "--key", "id").status == 0)
        #expect(try tool.run("fetch", tool.store, "--sort", "size", "--cache", "c").status == 0)
        #expect(try tool.run("bookmark", "add", tool.store, "mail").status == 0)
        let delta = [3, 7].map { #"{"op":"update","key":\#($0),"values":{"size":\#($0 + 1000)}}"# + "\n" }.joined()
        #expect(try tool.run("apply", tool.store, try tool.file("delta.jsonl", delta)).status == 0)
    }

    private func arguments(_ source: [String], _ output: String) -> [String] {
        ["changes", tool.store, "--since", "mail", "--advance", "--output", output] + source
    }

    private func process(_ arguments: [String], to output: FileHandle) throws -> Process {
        let process = tool.process(arguments)
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    private func commit() throws -> Int? {
        let listed = try tool.run("bookmark", "list", tool.store, "--output", "json").json as? [[String: Any]]
        return listed?.first?["commit"] as? Int
    }

    /// The keys that a consumer gets that asks again, and whose output is written.
    private func reported(_ source: [String]) throws -> [Int] {
        let batch = try tool.run(arguments(source, "json"))
        let rows = try #require(batch["rows"] as? [[String: Any]], "\(batch.error)")
        return rows.compactMap { $0["key"] as? Int }.sorted()
    }

    @Test(arguments: sources, outputs) func aFullDiskLeavesTheBookmark(source: [String], output: String) throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let process = try process(arguments(source, output), to: full)
        process.waitUntilExit()
        #expect(process.terminationStatus == 1)
        #expect(try commit() == 1)
        #expect(try reported(source) == [3, 7])
        #expect(try commit() == 2)
        #expect(try reported(source) == [])
    }

    @Test(arguments: sources, outputs) func aClosedPipeLeavesTheBookmark(source: [String], output: String) throws {
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let process = try process(arguments(source, output), to: pipe.fileHandleForWriting)
        process.waitUntilExit()
        #expect(process.terminationReason == .uncaughtSignal || process.terminationStatus == 1)
        #expect(try commit() == 1)
        #expect(try reported(source) == [3, 7])
        #expect(try reported(source) == [])
    }

    /// The process is killed after its output was written, while it waits for its turn to move the bookmark.
    @Test(arguments: sources, [true, false]) func aKillBeforeTheMoveLeavesTheBookmark(
        source: [String], isKilled: Bool
    ) throws {
        do {
            let lock = open(tool.store + "/writer.lock", O_RDWR)
            try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
            defer { close(lock) }
            let output = try tool.file("reported", "")
            let process = try process(
                arguments(source, "jsonl"), to: try #require(FileHandle(forWritingAtPath: output)))
            let patience = Date().addingTimeInterval(60)
            while try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").count < 2 {
                try #require(Date() < patience, "nothing is printed")
                usleep(5_000)
            }
            usleep(50_000)
            try #require(process.isRunning)
            if isKilled { kill(process.processIdentifier, SIGKILL) } else { flock(lock, LOCK_UN) }
            process.waitUntilExit()
            #expect(isKilled || process.terminationStatus == 0)
        }
        #expect(try commit() == (isKilled ? 1 : 2))
        #expect(try reported(source) == (isKilled ? [3, 7] : []))
    }

    /// A kill at any time leaves the bookmark where it was, or moves it if all output is written.
    @Test(arguments: 0..<4 as Range<UInt64>) func aKillAtAnyTimeLosesNoChange(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        for _ in 0..<8 {
            let output = try tool.file("reported", "")
            let handle = try #require(FileHandle(forWritingAtPath: output))
            let process = try process(arguments(["--cache", "c"], "jsonl"), to: handle)
            usleep(UInt32(Int.random(in: 500...25_000, using: &random)))
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            if try commit() == 1 { continue }
            #expect(try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").count == 2)
            break
        }
        #expect(try [[3, 7], []].contains(reported(["--cache", "c"])))
        #expect(try tool.run("check", tool.store).status == 0)
    }
}
