import Foundation
import FetchIndexTestSupport
import Testing

/// A batch of changes counts as reported only after its output was written. After a failed write, or a kill before the
/// batch counts as reported, the next reader gets the batch again.
@Suite struct LostOutputTests {
    let tool: Tool
    private let request = ["--entity", "Row", "--section", "kind", "--sort", "size", "--cache", "c"]

    init() throws {
        tool = try Tool()
        let rows = (0..<200).map { "\($0),k\($0 % 5),\($0)\n" }.joined()
        try succeed([
            "import", tool.store, tool.file("rows.csv", "id,kind,size\n" + rows), "--entity", "Row", "--key", "id",
        ])
        try succeed(["fetch", tool.store, "--sections-only"] + request)
    }

    @discardableResult
    private func succeed(_ arguments: [String]) throws -> Tool.Result {
        let result = try tool.run(arguments)
        try #require(result.status == 0, "\(arguments): \(result.error)")
        return result
    }

    private func line(_ key: Int, size: Int) -> String {
        #"{"op":"update","key":\#(key),"values":{"size":\#(size)}}"# + "\n"
    }

    private func apply(_ keys: Int...) throws {
        let lines = keys.map { line($0, size: 1000 + $0) }.joined()
        try succeed(["apply", tool.store, tool.file("delta.jsonl", lines), "--entity", "Row"])
    }

    /// The keys of the rows that `changes` reports.
    private func reported() throws -> [Int] {
        try keys(succeed(["changes", tool.store, "--cache", "c", "--output", "json"]).output)
    }

    private func keys(_ batch: some StringProtocol) throws -> [Int] {
        let json = try JSONSerialization.jsonObject(with: Data(batch.utf8)) as? [String: Any]
        let rows = try #require(json?["rows"] as? [[String: Any]], "\(batch)")
        return rows.compactMap { $0["key"] as? Int }.sorted()
    }

    /// Runs a command whose output goes to a descriptor.
    private func run(_ arguments: [String], to output: FileHandle) throws -> Process {
        let process = tool.process(arguments)
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    private static let readers = [
        ["changes"], ["changes", "--output", "json"], ["changes", "--output", "csv"], ["changes", "--output", "jsonl"],
        ["fetch"], ["fetch", "--output", "json"], ["watch"], ["watch", "--output", "json"],
    ]

    private func command(_ reader: [String]) -> [String] {
        [reader[0], tool.store, "--cache", "c"] + reader.dropFirst()
            + (reader[0] == "fetch" ? ["--entity", "Row"] : [])
    }

    @Test(arguments: readers) func aFullDiskLosesNoBatch(reader: [String]) throws {
        try apply(3, 7)
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let process = try run(command(reader), to: full)
        process.waitUntilExit()
        #expect(process.terminationStatus == 1)
        #expect(try reported() == [3, 7])
        #expect(try reported() == [])
    }

    /// Writers keep a maintained cache current, but the cache's reader must still get each change.
    @Test(arguments: readers.filter { $0[0] != "fetch" })
    func aFullDiskLosesNoBatchOfAMaintainedCache(reader: [String]) throws {
        try apply(1)
        try succeed(["cache", "maintain", tool.store, "c"])
        try apply(3, 7)
        for _ in 0..<2 {
            let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
            let process = try run(command(reader), to: full)
            process.waitUntilExit()
            #expect(process.terminationStatus == 1)
        }
        #expect(try reported() == [1, 3, 7])
        #expect(try reported() == [])
    }

    @Test(arguments: readers) func aClosedPipeLosesNoBatch(reader: [String]) throws {
        try apply(3, 7)
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let process = try run(command(reader), to: pipe.fileHandleForWriting)
        process.waitUntilExit()
        #expect(process.terminationReason == .uncaughtSignal || process.terminationStatus == 1)
        #expect(try reported() == [3, 7])
        #expect(try reported() == [])
    }

    @Test(arguments: ["/dev/full", "pipe"], [false, true])
    func applySavesTransactionsThatItCannotReport(output: String, isMaintained: Bool) throws {
        try apply(1)
        if isMaintained { try succeed(["cache", "maintain", tool.store, "c"]) }
        let file = try tool.file("reported.jsonl", line(3, size: 500) + "\n" + line(7, size: 501))
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let handle = try #require(
            output == "pipe" ? pipe.fileHandleForWriting : FileHandle(forWritingAtPath: output))
        let process = try run(["apply", tool.store, file, "--output", "json"] + request, to: handle)
        process.waitUntilExit()
        #expect(process.terminationReason == .uncaughtSignal || process.terminationStatus == 1)
        // The output fails after the first transaction, which is saved.
        #expect(
            try tool.rows("--entity", "Row", "--where", "size IN {500, 501}").compactMap { $0["id"] as? Int } == [3])
        #expect(try reported() == [1, 3])
        #expect(try reported() == [])
    }

    /// The first batch of `apply` also has earlier changes by other programs.
    @Test(arguments: [false, true]) func applyReportsAllChangesOnce(isMaintained: Bool) throws {
        try apply(1)
        if isMaintained { try succeed(["cache", "maintain", tool.store, "c"]) }
        let file = try tool.file(
            "reported.jsonl", line(3, size: 500) + "\n" + line(7, size: 501) + "\n" + line(8, size: 502))
        let batches = try succeed(["apply", tool.store, file, "--output", "json"] + request).output.split(
            separator: "\n")
        #expect(try batches.map { try keys($0) } == [[1, 3], [7], [8]])
        #expect(try reported() == [])
        try succeed(["cache", "verify", tool.store])
    }

    /// Waits until a file has some text.
    private func wait(for text: String, in file: String) throws {
        let patience = Date().addingTimeInterval(60)
        while try !String(contentsOfFile: file, encoding: .utf8).contains(text) {
            try #require(Date() < patience, "\(text) is not printed")
            usleep(5_000)
        }
    }

    /// `apply` is killed after it has printed some transactions. `changes` must report no batch again, or only the last
    /// one.
    @Test(arguments: 1...3, [false, true]) func onlyTheLastBatchOfAKilledApplyMayBeReportedAgain(
        transactions: Int, isMaintained: Bool
    ) throws {
        if isMaintained { try succeed(["cache", "maintain", tool.store, "c"]) }
        let output = try tool.file("reported", "")
        let input = Pipe()
        let process = tool.process(["apply", tool.store, "-", "--output", "json"] + request)
        process.standardInput = input
        process.standardOutput = FileHandle(forWritingAtPath: output)
        try process.run()
        for key in 1...transactions {
            try input.fileHandleForWriting.write(contentsOf: Data((line(key, size: 600 + key) + "\n").utf8))
            try wait(for: "\"key\":\(key),", in: output)
        }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        // Each transaction marks the batch before it as printed. So only the last printed batch can be unmarked.
        #expect(try [[], [transactions]].contains(reported()))
        #expect(try tool.rows("--entity", "Row", "--where", "size > 600").count == transactions)
        try succeed(["cache", "verify", tool.store])
    }

    /// Runs `changes` while this process holds the write lock. When the batch is printed, calls the body, which may
    /// release the lock.
    private func beforeTheCacheAdvances(_ body: (Process, _ release: () -> Void) throws -> Void) throws {
        let lock = open(tool.store + "/writer.lock", O_RDWR)
        try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
        defer { close(lock) }
        let output = try tool.file("reported", "")
        let handle = try #require(FileHandle(forWritingAtPath: output))
        let process = try run(["changes", tool.store, "--cache", "c"], to: handle)
        try wait(for: "#8", in: output)
        usleep(50_000)
        try #require(process.isRunning)
        try body(process) { flock(lock, LOCK_UN) }
        process.waitUntilExit()
    }

    @Test func aBatchIsRepeatedAfterAKillBeforeTheCacheWasCaughtUp() throws {
        try apply(3, 7)
        try beforeTheCacheAdvances { process, _ in kill(process.processIdentifier, SIGKILL) }
        #expect(try reported() == [3, 7])
        #expect(try reported() == [])
    }

    @Test func theChangesCommandWaitsForAWriterBeforeItEnds() throws {
        try apply(3, 7)
        try beforeTheCacheAdvances { process, release in
            release()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
        }
        #expect(try reported() == [])
    }

    @Test func aBatchThatWasPrintedWhileAnotherProcessHeldTheWriteLockIsPrintedAgain() throws {
        try apply(3, 7)
        do {
            let lock = open(tool.store + "/writer.lock", O_RDWR)
            try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
            defer { close(lock) }
            for timeout in ["0", "0.2"] {
                let start = Date()
                let result = try succeed([
                    "changes", tool.store, "--cache", "c", "--output", "json", "--timeout", timeout,
                ])
                #expect(try keys(result.output) == [3, 7])
                #expect(
                    result.error
                        == "fetchindex: another process is writing, so the cache \"c\" stays behind: these changes will be printed again\n"
                )
                #expect(Date().timeIntervalSince(start) < 4)
            }
        }
        #expect(try reported() == [3, 7])
        #expect(try reported() == [])
    }

    @Test(arguments: [false, true]) func batchesThatAWatcherPrintedAreNotRepeated(isMaintained: Bool) throws {
        if isMaintained { try succeed(["cache", "maintain", tool.store, "c"]) }
        let output = try tool.file("reported", "")
        let process = try run(
            ["watch", tool.store, "--cache", "c", "--output", "json"],
            to: #require(FileHandle(forWritingAtPath: output)))
        defer { process.terminate() }
        try wait(for: "\n", in: output)
        for key in [3, 7] {
            try apply(key)
            try wait(for: "\"id\":\(key + 1),", in: output)
        }
        let patience = Date().addingTimeInterval(20)
        var state: String?
        repeat {
            usleep(20_000)
            state = try tool.run("cache", "show", tool.store, "c", "--output", "json").cacheState
        } while state != "fresh" && Date() < patience
        #expect(state == "fresh")
        // A maintained cache stays fresh, so its state doesn't show whether the watcher has marked its batch as
        // printed. The test gives the watcher 0.5 s to do so.
        if isMaintained { usleep(500_000) }
        #expect(try reported() == [])
        #expect(try tool.run("cache", "verify", tool.store).status == 0)
    }

    /// The start of a watcher counts as a hit, and each printed batch as a catch-up. Commits of another entity count as
    /// neither.
    @Test(arguments: [false, true]) func aWatcherRecordsItsStartAndEachBatchAsOpenings(isMaintained: Bool) throws {
        if isMaintained { try succeed(["cache", "maintain", tool.store, "c"]) }
        try succeed(["import", tool.store, tool.file("other.csv", "x\n1\n"), "--entity", "Other"])
        let before = try openings()
        let output = try tool.file("reported", "")
        let process = try run(
            ["watch", tool.store, "--cache", "c", "--output", "json"],
            to: #require(FileHandle(forWritingAtPath: output)))
        defer { process.terminate() }
        try wait(for: "\n", in: output)
        for key in [3, 7, 8] {
            try apply(key)
            try wait(for: "\"id\":\(key + 1),", in: output)
            usleep(200_000)
            try succeed(["import", tool.store, tool.file("other.csv", "x\n\(key)\n"), "--entity", "Other"])
            usleep(200_000)
        }
        let after = try openings()
        #expect(after.hits == before.hits + 1)
        #expect(after.catchUps == before.catchUps + 3)
    }

    /// The numbers of hits and catch-ups in the statistics of the cache.
    private func openings() throws -> (hits: Int, catchUps: Int) {
        let shown = try succeed(["cache", "show", tool.store, "c", "--output", "json"])
        let hits = (shown["cache"] as? [String: Any])?["hits"] as? Int
        let openings = (shown["history"] as? [String: Any])?["openings"] as? [[String: Any]]
        return (try #require(hits), try #require(openings).count { $0["kind"] as? String == "caughtUp" })
    }
}

extension Tool.Result {
    fileprivate var cacheState: String? { (self["cache"] as? [String: Any])?["state"] as? String }
}
