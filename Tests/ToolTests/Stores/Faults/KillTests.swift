import Foundation
import FetchIndexTestSupport
import Testing

/// Processes are killed at random moments. Acknowledged changes are stored, other transactions are stored whole or not
/// at all, and the store is sound.
@Suite struct KillTests {
    /// The number of kills of each kind: FETCHINDEX_TEST_KILLS.
    static let kills = TestSettings.kills ?? 4
    static let seed = max(1, TestSettings.seed)

    let tool: Tool

    init() throws { tool = try Tool() }

    /// Starts a command, and kills it some milliseconds after its start or, if `havingWritten`, after its first output.
    /// Returns false if the command ended earlier.
    private func kill(
        _ arguments: [String], after milliseconds: Int, output: String? = nil, havingWritten: Bool = false
    ) throws -> Bool {
        let process = tool.process(arguments)
        if let output { try Data().write(to: URL(fileURLWithPath: output)) }
        process.standardOutput = output.flatMap(FileHandle.init(forWritingAtPath:)) ?? FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        if havingWritten, let output {
            while process.isRunning, try Data(contentsOf: URL(fileURLWithPath: output)).isEmpty { usleep(1000) }
        }
        usleep(UInt32(milliseconds * 1000))
        guard process.isRunning else { return false }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        return process.terminationReason == .uncaughtSignal
    }

    private func count() throws -> Int {
        let entities = try tool.run("info", tool.store, "--output", "json")["entities"] as? [[String: Any]]
        return entities?.first?["count"] as? Int ?? 0
    }

    enum RowOrder: CaseIterable {
        case sorted, shuffled, sortedThenShuffled
    }

    /// If rows are unsorted, unique keys can be written later than their rows.
    @Test(arguments: RowOrder.allCases) func aKilledImportKeepsWholeBatchesAndCanBeRepeated(order: RowOrder) throws {
        var generator = SeededGenerator(seed: Self.seed)
        var text = "id\tsection\tsize\n"
        let all = 100_000..<260_000
        let numbers =
            switch order {
            case .sorted: Array(all)
            case .shuffled: all.shuffled(using: &generator)
            case .sortedThenShuffled: all.filter { $0 % 4 == 0 } + all.filter { $0 % 4 > 0 }.shuffled(using: &generator)
            }
        // In one of the orders, keys have more than 200 bytes, so that fewer than twenty fit into a page.
        let end = order == .sortedThenShuffled ? String(repeating: "x", count: 200) : ""
        for number in numbers { text += "id-\(number)\(end)\ts\(number % 50)\t\(number)\n" }
        let file = try tool.file("rows.tsv", text)
        let arguments = ["import", tool.store, file, "--entity", "Row", "--key", "id"]
        var last = 0
        for _ in 0..<Self.kills {
            let wasKilled = try kill(arguments, after: .random(in: 20...900, using: &generator))
            guard try wasKilled && tool.run("info", tool.store).status == 0 else { continue }
            let check = try tool.run("check", tool.store)
            #expect(check.status == 0, "seed \(Self.seed): \(check.output)")
            let now = try count()
            #expect(now >= last, "seed \(Self.seed): \(now) rows")
            #expect([0, 50_000, 100_000, 150_000, 160_000].contains(now), "seed \(Self.seed): \(now) rows")
            last = now
        }
        // An import may have ended before it was killed.
        let stored = try count()
        let finished = try tool.run(arguments + ["--output", "json"])
        #expect(finished["inserted"] as? Int == 160_000 - stored, "seed \(Self.seed)")
        #expect(finished["unchanged"] as? Int == stored, "seed \(Self.seed)")
        #expect(try tool.run("check", tool.store).status == 0)
        let found = ["fetch", tool.store, "--entity", "Row", "--where", "id == 'id-\(numbers[77])\(end)'", "--explain"]
        #expect(try tool.run(found).output.contains("unique key"), "seed \(Self.seed)")
    }

    @Test func aKilledBuildDamagesNoCacheAndAKilledApplySavesWholeTransactions() throws {
        var generator = SeededGenerator(seed: Self.seed + 1)
        var text = "id,section,size\n"
        for number in 0..<60_000 { text += "id-\(number),s\(number % 50),\(number)\n" }
        _ = try tool.run("import", tool.store, try tool.file("rows.csv", text), "--entity", "Row", "--key", "id")
        let request = ["--entity", "Row", "--section", "section", "--sort", "size:desc", "--cache", "c"]
        for _ in 0..<Self.kills {
            _ = try tool.run("cache", "delete", tool.store, "--all")
            _ = try kill(
                ["fetch", tool.store, "--sections-only"] + request, after: .random(in: 5...400, using: &generator))
            let verified = try tool.run("cache", "verify", tool.store)
            #expect(verified.status == 0, "seed \(Self.seed): \(verified.output)")
        }
        _ = try tool.run(["fetch", tool.store, "--sections-only"] + request)

        // Each transaction inserts two rows, so an odd count would be half a transaction.
        var changes = ""
        for number in 0..<3000 {
            changes += "{\"op\":\"insert\",\"key\":\"new-\(number)-a\",\"values\":{\"section\":\"n\"}}\n"
            changes += "{\"op\":\"insert\",\"key\":\"new-\(number)-b\",\"values\":{\"section\":\"n\"}}\n\n"
        }
        let transactions = changes.components(separatedBy: "\n\n")
        var acknowledgements = 0
        for round in 0..<Self.kills {
            let done = (try count() - 60_000) / 2
            let rest = transactions.dropFirst(done).joined(separator: "\n\n")
            let file = try tool.file("changes.jsonl", rest)
            let output = tool.folder.path + "/acknowledged"
            let arguments = ["apply", tool.store, file, "--output", "json"] + request
            _ = try kill(
                arguments, after: .random(in: 30...700, using: &generator), output: output, havingWritten: round == 0)
            // `apply` prints a line for each transaction when the transaction is on disk.
            let acknowledged = try String(contentsOfFile: output, encoding: .utf8).count { $0 == "\n" }
            acknowledgements += acknowledged
            let rows = try count()
            #expect(rows % 2 == 0, "seed \(Self.seed): \(rows) rows")
            #expect(rows >= 60_000 + 2 * (done + acknowledged), "seed \(Self.seed): acknowledged and lost")
            let check = try tool.run("check", tool.store)
            #expect(check.status == 0, "seed \(Self.seed): \(check.output)")
        }
        #expect(acknowledgements > 0)
    }
}
