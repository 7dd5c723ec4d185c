import FetchIndex
import Foundation
import FetchIndexRecords
import Synchronization
import FetchIndexTestSupport
import Testing

/// Processes that open a store wait while another process replaces its files.
@Suite struct OpeningRaceTests {
    static let rows = 20_000

    let tool: Tool

    init() throws {
        tool = try Tool()
        let text = "id\n" + (0..<Self.rows).map { "\($0)\n" }.joined()
        _ = try tool.run("import", tool.store, try tool.file("rows.csv", text), "--entity", "Row", "--key", "id")
    }

    /// The names of the store's files that a process has open.
    private func openFiles(of process: String) -> Set<String> {
        let folder = "/proc/\(process)/fd/"
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let paths = descriptors.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: folder + $0) }
        return Set(paths.filter { $0.hasPrefix(tool.store + "/") }.map { String($0.dropFirst(tool.store.count + 1)) })
    }

    private func start(_ arguments: [String]) throws -> Process {
        let process = tool.process(arguments)
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    private func finish(_ process: Process) -> Int32 {
        kill(process.processIdentifier, SIGCONT)
        process.waitUntilExit()
        return process.terminationStatus
    }

    private func wait(until isSo: () throws -> Bool) throws {
        let end = Date().addingTimeInterval(120)
        while try !isSo() {
            try #require(Date() < end)
            usleep(1000)
        }
    }

    private func insertion(_ key: Int) throws -> [String] {
        let file = try tool.file("\(key).jsonl", "{\"op\":\"insert\",\"key\":\(key)}\n")
        return ["apply", tool.store, file, "--entity", "Row"]
    }

    private func isStopped(_ process: Process) -> Bool {
        let state = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
        return state?.contains(") T ") ?? false
    }

    /// Starts a compaction, and stops it while it holds the store's lock. Tries again if the compaction ends too soon.
    private func stoppedCompaction() throws -> Process {
        let end = Date().addingTimeInterval(120)
        while Date() < end {
            let compaction = try start(["compact", tool.store])
            while compaction.isRunning {
                guard openFiles(of: "\(compaction.processIdentifier)").contains("data.mdb.partial") else { continue }
                kill(compaction.processIdentifier, SIGSTOP)
                try wait { isStopped(compaction) || !compaction.isRunning }
                // If the compaction has ended, another one is started.
                if access(tool.store + "/data.mdb.partial", F_OK) == 0 { return compaction }
                break
            }
            #expect(finish(compaction) == 0)
        }
        throw CocoaError(.fileNoSuchFile)
    }

    /// The reader opens the old data file, and then waits for the lock that the compaction holds.
    @Test func aReaderThatWaitedForACompactionOpensTheNewFile() throws {
        let compaction = try stoppedCompaction()
        let path = tool.store
        let container = Mutex<Result<PersistentContainer, any Error>?>(nil)
        let opening = Thread {
            var options = Store.Options()
            options.isReadOnly = true
            let opened = Result { try PersistentContainer(path: path, options: options) }
            container.withLock { $0 = opened }
        }
        opening.start()
        try wait { openFiles(of: "self").isSuperset(of: ["data.mdb", "lock.mdb"]) }
        #expect(finish(compaction) == 0)
        try wait { opening.isFinished }
        #expect(try tool.run(insertion(Self.rows)).status == 0)
        let opened = try #require(container.withLock { $0 }).get()
        #expect(try opened.store.snapshot().entityState(0).count == UInt64(Self.rows) + 1)
    }

    /// A killed compaction may leave a lock file that LMDB doesn't accept. A process that has the file alone replaces
    /// it, but while several processes wait, none has it alone.
    @Test func writersThatWaitedForAKilledCompactionGoOn() throws {
        let compaction = try stoppedCompaction()
        let writers = try (0..<3).map { try start(insertion(Self.rows + $0)) }
        for writer in writers {
            try wait { openFiles(of: "\(writer.processIdentifier)").contains("lock.mdb") }
        }
        usleep(20_000)
        let lock = try #require(FileHandle(forUpdatingAtPath: tool.store + "/lock.mdb"))
        try lock.write(contentsOf: Data(count: 4))
        kill(compaction.processIdentifier, SIGKILL)
        compaction.waitUntilExit()
        #expect(writers.map(finish) == [0, 0, 0])
        #expect(try tool.run("info", tool.store).output.contains("Row: 20,003 objects"))
        #expect(try tool.run("check", tool.store).status == 0)
    }

    /// Other processes don't notice a lock on a removed file.
    @Test func aWaitingProcessWhoseLockFileWasRemovedLocksTheNewOne() throws {
        _ = try tool.run("fetch", tool.store, "--entity", "Row", "--cache", "c", "--sections-only")
        let compaction = try stoppedCompaction()
        let watch = tool.process(["watch", tool.store, "--cache", "c"])
        let output = Pipe()
        watch.standardOutput = output
        try watch.run()
        try wait { openFiles(of: "\(watch.processIdentifier)").contains("lock.mdb") }
        usleep(20_000)
        #expect(rename(tool.store + "/lock.mdb", tool.folder.path + "/lock.mdb") == 0)
        kill(compaction.processIdentifier, SIGKILL)
        compaction.waitUntilExit()
        #expect(!output.fileHandleForReading.availableData.isEmpty)
        let refused = try tool.run("compact", tool.store)
        #expect(refused.status == 1, "\(refused)")
        #expect(refused.error.contains("has the store open"), "\(refused)")
        #expect(watch.isRunning)
        kill(watch.processIdentifier, SIGKILL)
        watch.waitUntilExit()
    }
}
