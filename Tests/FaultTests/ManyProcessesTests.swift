import FetchIndex
import FetchIndexRecords
import FetchIndexFaultScript
import Foundation
import FetchIndexTestSupport
import Testing

/// Many processes read and write one store.
@Suite struct ManyProcessesTests {
    private let victim: VictimRunner

    init() throws {
        victim = try VictimRunner()
        let container = try PersistentContainer(
            at: URL(fileURLWithPath: victim.store), model: Ledger.model, durability: .none)
        try Ledger.prepare(container)
    }

    private func raise(_ sign: String) throws -> String {
        let path = victim.folder.path + "/" + sign
        try Data().write(to: URL(fileURLWithPath: path))
        return path
    }

    private typealias Commits = [UInt64: (digest: String, entry: String)]

    /// The digests and entries that writers printed, by commit. Two writers must not have saved the same commit.
    private func commits(_ writers: [[String]]) throws -> Commits {
        var commits: Commits = [:]
        for line in writers.joined() where line.hasPrefix("saved") {
            let words = line.split(separator: " ").map(String.init)
            try #require(words.count == 5, "\(line)")
            let commit = try #require(UInt64(words[1]))
            #expect(commits[commit] == nil, "two writers saved commit \(commit)")
            commits[commit] = (words[2], words[3] + " " + words[4])
        }
        return commits
    }

    /// Runs the inspection script with the tool that was built with the tests.
    private func inspect() throws -> (status: Int32, output: String) {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let script = tests.deletingLastPathComponent().appendingPathComponent("Scripts/inspect-cache").path
        return try TemporaryFolder.run(
            "env", ["FETCHINDEX=" + VictimRunner.executable("fetchindex").path, script, victim.store])
    }

    @Test func simultaneousWritersLoseNoRowsAndReadersSeeWholeCommits() throws {
        let (writing, reading) = (victim.folder.path + "/w", victim.folder.path + "/r")
        let watchers = try (0..<2).map { _ in try victim.start("watcher", ["sign=\(reading)"]) }
        for watcher in watchers { try watcher.waitForLine() }
        let readers = try (0..<8).map { _ in try victim.start("reader", ["sign=\(reading)"]) }
        let writers = try (0..<4).map {
            // Two of the writers are a newer program with another model.
            let model = $0 < 2 ? "first" : "newer"
            return try victim.start(
                "writer", ["sign=\(writing)", "name=w\($0)", "seed=\($0)", "durability=relaxed", "model=\(model)"])
        }
        // Another writer is killed while it works. Whatever locks it holds, the other writers must go on.
        let killed = try victim.start("writer", ["sign=\(writing)", "name=killed", "seed=9", "durability=relaxed"])
        let end = Date().addingTimeInterval((TestSettings.seconds ?? 5))
        var inspections = 0
        repeat {
            let (status, output) = try inspect()
            // The script verified the caches. It exits with 3 if a cache isn't fresh.
            #expect([0, 3].contains(status), "\(output)")
            inspections += 1
            if inspections == 3 { kill(killed.process.processIdentifier, SIGKILL) }
        } while Date() < end || inspections < 3
        _ = try raise("w")
        let written = try writers.map { try $0.finish() }
        _ = try raise("r")
        let read = try readers.map { try $0.finish() }
        let watched = try watchers.map { try $0.finish() }
        for lines in written + read + watched {
            for line in lines where line.hasPrefix("defect") { Issue.record("\(line)") }
            #expect(lines.last?.hasPrefix("finished") == true, "\(lines.suffix(2))")
        }

        let commits = try commits(written + [killed.finish()])
        let (last, inFlight) = try checkEntries(commits)
        let states = checkStates(read, commits, inFlight: inFlight)
        for lines in watched { #expect(lines.last?.hasSuffix(" \(last)") == true, "\(lines)") }
        let conflicts = written.compactMap { $0.last?.split(separator: " ").last.flatMap { Int($0) } }.reduce(0, +)
        print(
            "summary: 4 writers, 8 readers, 2 watchers for \((TestSettings.seconds ?? 5)) s: \(commits.count) commits, \(conflicts) conflicts, "
                + "\(states) states read, \(inspections) inspections")
    }

    /// Expects that the store has each acknowledged transfer once, and at most one more transfer, which was in flight
    /// when its writer was killed. Returns the last commit, and the number of transfers in flight.
    private func checkEntries(_ commits: Commits) throws -> (last: UInt64, inFlight: Int) {
        let container = try PersistentContainer(at: URL(fileURLWithPath: victim.store))
        let context = container.newContext()
        let final = try LedgerState(context)
        // Commit 1 created the accounts and counters.
        #expect(Set(commits.keys).isSubset(of: Set(2..<final.commit + 1)))
        let inFlight = Int(final.commit) - 1 - commits.count
        #expect(inFlight == 0 || inFlight == 1)
        #expect(final.defect == nil)
        #expect(final.entries == commits.count + inFlight)
        #expect(try container.model().entity(named: "Entry")?.slot(of: "note") != nil)
        #expect(try container.check { _, _ in } == [])
        let names = try context.fetch(FetchRequest<ManagedObject>(entityName: "Entry")).map { entry in
            if case .string(let name) = entry["name"] { name } else { "" }
        }
        let missing = Set(commits.values.map(\.entry)).symmetricDifference(names)
        #expect(names.count == final.entries)
        #expect(missing.count == inFlight)
        #expect(missing.allSatisfy { $0.hasPrefix("killed ") }, "\(missing)")
        #expect(try container.check { _, _ in }.isEmpty)
        return (final.commit, inFlight)
    }

    /// Expects that readers read each commit's state as its writer had read it. Returns the number of compared states.
    private func checkStates(_ read: [[String]], _ commits: Commits, inFlight: Int) -> Int {
        var states = 0
        var unknown: Set<String> = []
        for line in read.joined() where line.hasPrefix("read") {
            let words = line.split(separator: " ").map(String.init)
            guard let commit = commits[UInt64(words[1]) ?? 0] else {
                unknown.insert(words[1])
                continue
            }
            #expect(commit.digest == words[2], "a reader saw another state: \(line)")
            states += 1
        }
        // Commit 1 and the commit in flight have no acknowledgement.
        #expect(unknown.subtracting(["1"]).count <= inFlight, "\(unknown)")
        #expect(states > 8)
        #expect(commits.count > 4)
        return states
    }

    @Test func programsWithOlderAndNewerModelsWriteInTurn() throws {
        var written: [[String]] = []
        for turn in 0..<6 {
            let sign = victim.folder.path + "/turn \(turn)"
            let writer = try victim.start(
                "writer",
                [
                    "sign=\(sign)", "name=t\(turn)", "seed=\(turn)", "durability=relaxed",
                    "model=\(turn % 2 == 0 ? "first" : "newer")",
                ])
            try writer.waitForLine()
            _ = try raise("turn \(turn)")
            let lines = try writer.finish()
            #expect(lines.last?.hasPrefix("finished") == true, "\(lines.suffix(2))")
            written.append(lines)
        }
        let (_, inFlight) = try checkEntries(try commits(written))
        #expect(inFlight == 0)
        let container = try PersistentContainer(at: URL(fileURLWithPath: victim.store))
        let context = container.newContext()
        #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Transfer")) > 0)
    }

    @Test func theNextOpeningRemovesKilledReaders() throws {
        // One reader stays alive. Otherwise the next opening would be the only one, and would reset the lock file.
        let end = victim.folder.path + "/end"
        let living = try victim.start("reader", ["sign=\(end)"])
        let readers = try (0..<4).map { _ in try victim.start("reader", ["sign=\(end)"]) }
        for reader in readers + [living] { try reader.waitForLine() }
        // A reader's context always has a snapshot open, so a killed reader leaves its slot in the lock file.
        for reader in readers { kill(reader.process.processIdentifier, SIGKILL) }
        for reader in readers { _ = try reader.finish() }
        let container = try PersistentContainer(at: URL(fileURLWithPath: victim.store), durability: .none)
        let dead = Set(readers.map { Int($0.process.processIdentifier) })
        let left = try container.store.environmentInformation().readers.filter { dead.contains($0.process) }
        #expect(left.isEmpty, "\(left)")
        let information = try TemporaryFolder.run(
            VictimRunner.executable("fetchindex").path, ["info", victim.store, "--output", "json"])
        #expect(information.status == 0)
        for process in dead { #expect(!information.output.contains("\"process\":\(process)")) }
        #expect(living.process.isRunning)
        _ = try raise("end")
        #expect(try living.finish().last?.hasPrefix("finished") == true)
    }
}
