import Foundation
import FetchIndexTestSupport
import Testing

/// Backups and compactions while other processes use the store, and backups and compactions that are killed.
@Suite struct CopyTests {
    static let rows = 20_000

    let tool: Tool
    let request = ["--entity", "Row", "--section", "section", "--sort", "size", "--cache", "c", "--sections-only"]

    init() throws {
        tool = try Tool()
        var text = "id,section,size\n"
        for number in 0..<Self.rows { text += "id-\(number),s\(number % 9),\(number)\n" }
        _ = try tool.run("import", tool.store, try tool.file("rows.csv", text), "--entity", "Row", "--key", "id")
        _ = try tool.run(["fetch", tool.store] + request)
    }

    private func outcome(_ store: String) throws -> String? {
        let result = try tool.run(["fetch", store, "--output", "json"] + request)
        #expect(result["count"] as? Int == Self.rows, "\(result.error)")
        return (result["outcome"] as? [String: Any])?["kind"] as? String
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func count(_ store: String) throws -> Int? {
        (try tool.run("info", store, "--output", "json")["entities"] as? [[String: Any]])?.first?["count"] as? Int
    }

    /// Change lines with two rows in each transaction.
    private func pairs(_ count: Int) throws -> String {
        var changes = ""
        for number in 0..<count {
            for half in ["a", "b"] { changes += "{\"op\":\"insert\",\"key\":\"new-\(number)-\(half)\"}\n" }
            changes += "\n"
        }
        return try tool.file("changes.jsonl", changes)
    }

    @Test func aBackupIsAStoreWhoseCachesAreHits() throws {
        let backup = tool.folder.path + "/back up"
        let result = try tool.run("backup", tool.store, backup, "--output", "json")
        #expect(result.status == 0 && result["commit"] as? Int == 1, "\(result.error)")
        #expect(try outcome(backup) == "hit")
        #expect(try tool.run("check", backup).status == 0)
        let again = try tool.run("backup", tool.store, backup)
        #expect(again.status == 1)
        #expect(again.error.contains("already exists"))
        #expect(try tool.run("check", backup).status == 0)
    }

    @Test(.disabled(if: isUnderSanitizer)) func aFailedBackupLeavesNothingAtItsPath() throws {
        let backup = tool.folder.path + "/b"
        let limited = tool.process([])
        limited.executableURL = URL(fileURLWithPath: "/bin/bash")
        limited.arguments = [
            "-c", "trap '' XFSZ; ulimit -f 200; exec \"$0\" backup \"$1\" \"$2\"", Tool.executable.path, tool.store,
            backup,
        ]
        limited.standardError = FileHandle.nullDevice
        try limited.run()
        limited.waitUntilExit()
        #expect(limited.terminationStatus == 1)
        #expect(access(backup, F_OK) != 0)
        #expect(try tool.run("backup", tool.store, "/proc/nowhere").status == 1)
    }

    /// In each round, one bit of the store is flipped. A backup is sound, fails, or is kept under another name.
    @Test func aBackupWithDamagedValuesIsKeptUnderAnotherName() throws {
        let data = try Data(contentsOf: URL(fileURLWithPath: tool.store + "/data.mdb"))
        let pristine = tool.store
        var generator = SeededGenerator(seed: KillTests.seed + 9)
        let damaged = tool.folder.path + "/damaged", backup = tool.folder.path + "/b"
        var apart = 0
        for round in 0..<16 {
            try? FileManager.default.removeItem(atPath: damaged)
            try FileManager.default.copyItem(atPath: pristine, toPath: damaged)
            var bytes = data
            let place = Int.random(in: 8192..<data.count, using: &generator)
            bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            try bytes.write(to: URL(fileURLWithPath: damaged + "/data.mdb"))
            let result = try tool.run("backup", damaged, backup)
            if result.status == 0 {
                #expect(
                    try tool.run("check", backup).status == 0, "seed \(KillTests.seed), round \(round), byte \(place)")
                try FileManager.default.removeItem(atPath: backup)
                continue
            }
            #expect(result.status == 1 && access(backup, F_OK) != 0, "\(round): \(result.error)")
            if result.error.contains("the copy at \(backup).damaged") {
                apart += 1
                let name = backup + ".damaged" + (apart == 1 ? "" : "-\(apart)")
                #expect(try tool.run("check", name).status == 1, "\(round): \(result.error)")
            }
        }
        #expect(apart > 2)
    }

    @Test func backupsDuringWritesContainWholeCommits() throws {
        let writer = tool.process(["apply", tool.store, try pairs(800), "--entity", "Row"])
        writer.standardOutput = FileHandle.nullDevice
        try writer.run()
        var counts: [Int] = []
        repeat {
            let backup = tool.folder.path + "/b\(counts.count)"
            let result = try tool.run("backup", tool.store, backup)
            #expect(result.status == 0, "\(result.error)")
            #expect(try tool.run("check", backup).status == 0)
            counts.append(try #require(try count(backup)))
        } while writer.isRunning
        writer.waitUntilExit()
        #expect(writer.terminationStatus == 0)
        #expect(counts == counts.sorted())
        #expect(counts.allSatisfy { $0 % 2 == 0 }, "\(counts)")
    }

    @Test func compactingAnOpenStoreFailsAndNamesTheReader() throws {
        _ = try tool.run("cache", "rebuild", tool.store)
        let watcher = tool.process(["watch", tool.store, "--cache", "c"])
        let pipe = Pipe()
        watcher.standardOutput = pipe
        try watcher.run()
        _ = pipe.fileHandleForReading.availableData  // The watcher has the store open.
        kill(watcher.processIdentifier, SIGSTOP)
        _ = try tool.run("apply", tool.store, try pairs(3), "--entity", "Row")
        let readers = try tool.run("info", tool.store, "--output", "json")["readers"] as? [[String: Any]]
        #expect(readers?.first?["process"] as? Int == Int(watcher.processIdentifier))
        #expect(readers?.first?["program"] as? String == "fetchindex")
        #expect((readers?.first?["age"] as? Int).map { $0 >= 3 } == true)
        #expect(readers?.first?["seconds"] is Double)
        #expect(try tool.run("info", tool.store).output.contains(" behind, pins "))
        let refused = try tool.run("compact", tool.store)
        #expect(refused.status == 1)
        #expect(refused.error.contains("process \(watcher.processIdentifier) (fetchindex) has the store open"))
        kill(watcher.processIdentifier, SIGKILL)
        watcher.waitUntilExit()
        let result = try tool.run("compact", tool.store, "--output", "json")
        let before = try #require(result["bytesBefore"] as? Int), after = try #require(result["bytesAfter"] as? Int)
        #expect(result.status == 0)
        #expect(after < before)
        #expect(try tool.run("check", tool.store).status == 0)
        #expect(try tool.run("info", tool.store, "--output", "json")["freeBytes"] as? Int == 0)
        #expect(try tool.run("changes", tool.store, "--cache", "c", "--output", "json").output.contains("insert"))
        #expect(try mode(tool.store + "/data.mdb") == 0o600)
    }

    @Test func cachesOfACompactedStoreAreHits() throws {
        #expect(try tool.run("compact", tool.store).status == 0)
        #expect(try outcome(tool.store) == "hit")
    }

    @Test func killedBackupsAndCompactionsLeaveSoundStores() throws {
        var generator = SeededGenerator(seed: KillTests.seed + 7)
        let backup = tool.folder.path + "/b"
        for kill in 0..<KillTests.kills * 2 {
            for arguments in [["backup", tool.store, backup], ["compact", tool.store]] {
                let process = tool.process(arguments)
                process.standardOutput = FileHandle.nullDevice
                process.standardError = FileHandle.nullDevice
                try process.run()
                usleep(UInt32.random(in: 1000...60_000, using: &generator))
                if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
                process.waitUntilExit()
            }
            if access(backup + "/data.mdb", F_OK) == 0 {
                #expect(try tool.run("check", backup).status == 0, "seed \(KillTests.seed), kill \(kill)")
                try FileManager.default.removeItem(atPath: backup)
            }
            #expect(try tool.run("check", tool.store).status == 0, "seed \(KillTests.seed), kill \(kill)")
            #expect(try count(tool.store) == Self.rows)
        }
        #expect(try tool.run("backup", tool.store, backup).status == 0, "the files of a killed backup are overwritten")
        #expect(try tool.run("compact", tool.store).status == 0)
        #expect(access(tool.store + "/data.mdb.partial", F_OK) != 0)
        #expect(access(backup + "/data.mdb.partial", F_OK) != 0)
        #expect(try outcome(tool.store) == "hit")
    }

    /// Compactions begin shortly before or after processes that write and read the store. Every third compaction is
    /// killed if it still runs. No commit is lost, and the store refuses neither the writer nor the reader.
    @Test func compactionsAmongOtherProcessesLoseNoData() throws {
        var generator = SeededGenerator(seed: KillTests.seed + 8)
        var compacted = 0
        for round in 0..<KillTests.kills * 2 {
            let line = "{\"op\":\"insert\",\"key\":\"k\(round)\"}"
            let changes = try tool.file("one.jsonl", line)
            let compaction = tool.process(["compact", tool.store])
            let others = [
                tool.process(["apply", tool.store, changes, "--entity", "Row"]), tool.process(["info", tool.store]),
            ]
            for process in [compaction] + others {
                process.standardOutput = FileHandle.nullDevice
                process.standardError = FileHandle.nullDevice
            }
            for process in round % 2 == 0 ? [compaction] + others : others + [compaction] {
                try process.run()
                usleep(UInt32.random(in: 0...20_000, using: &generator))
            }
            if round % 3 == 2 && compaction.isRunning { kill(compaction.processIdentifier, SIGKILL) }
            for process in [compaction] + others { process.waitUntilExit() }
            if compaction.terminationStatus == 0 { compacted += 1 }
            #expect(others.map(\.terminationStatus) == [0, 0], "seed \(KillTests.seed), round \(round)")
            #expect(try count(tool.store) == Self.rows + round + 1, "seed \(KillTests.seed)")
        }
        #expect(compacted > 0 || isUnderSanitizer)
        #expect(try tool.run("compact", tool.store).status == 0)
        #expect(try tool.run("check", tool.store).status == 0)
        #expect(try count(tool.store) == Self.rows + KillTests.kills * 2)
    }

    @Test func theNextOpeningRemovesAPartialDataFile() throws {
        let partial = tool.store + "/data.mdb.partial"
        try Data(repeating: 7, count: 5000).write(to: URL(fileURLWithPath: partial))
        #expect(try tool.run("info", tool.store).status == 0)
        #expect(access(partial, F_OK) != 0)
    }
}
