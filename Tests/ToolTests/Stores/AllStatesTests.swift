import FetchIndexTestSupport
import Foundation
import Testing

/// An oracle that keeps the rows of each commit: random imports, deltas, dry runs, rules, bookmarks and kills, all through the
/// tool. The change between any two commits must be the difference of their rows, by replay.
@Suite struct AllStatesTests {
    private static let fetch = ["--section", "kind", "--sort", "size:desc", "--cache", "c"]

    let tool: Tool

    init() throws { tool = try Tool() }

    private func data() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: tool.store + "/data.mdb")) }

    private func commit() throws -> Int {
        let result = try tool.run("info", tool.store, "--output", "json")
        return try #require(result["commit"] as? Int, "\(result.error)")
    }

    /// The keys of the rows, by section.
    private func rows() throws -> [[Int]] {
        let definition = Array(Self.fetch.dropLast(2))
        let result = try tool.run(["fetch", tool.store, "--columns", "code", "--output", "json"] + definition)
        var rows = [[Int]](repeating: [], count: try #require(result["sectionCount"] as? Int, "\(result.error)"))
        for row in try #require(result["rows"] as? [[String: Any]]) {
            let values = row["values"] as? [String: Any]
            rows[try #require(row["section"] as? Int)].append(try #require(values?["code"] as? Int))
        }
        return rows
    }

    private func catalogue(_ random: inout SeededGenerator) throws -> String {
        var text = "code,kind,size\n"
        for code in 0..<40 where Int.random(in: 0..<3, using: &random) > 0 {
            let kind = Int.random(in: 0..<6, using: &random)
            text += "\(code),\(kind == 5 ? "" : "k\(kind)"),\(Int.random(in: 0..<8, using: &random))\n"
        }
        return try tool.file("rows.csv", text)
    }

    private func delta(_ random: inout SeededGenerator) throws -> String {
        var text = ""
        for _ in 0..<Int.random(in: 1...12, using: &random) {
            let code = Int.random(in: 0..<40, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: text += #"{"op":"delete","key":\#(code)}"# + "\n"
            case 1: text += "\n"
            default:
                let kind = ["\"k0\"", "\"k1\"", "\"k7\"", "null"].randomElement(using: &random) ?? "null"
                let size = Int.random(in: 0..<8, using: &random)
                text += #"{"op":"upsert","key":\#(code),"values":{"kind":\#(kind),"size":\#(size)}}"# + "\n"
            }
        }
        return try tool.file("delta.jsonl", text)
    }

    private func killed(_ arguments: [String], after microseconds: Int) throws {
        let process = tool.process(arguments)
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        usleep(UInt32(microseconds))
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    @Test(arguments: 0..<3 as Range<UInt64>) func eachChangeIsTheDifferenceOfTwoStates(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let first = try catalogue(&random)
        #expect(try tool.run("import", tool.store, first, "--entity", "Item", "--key", "code").status == 0)
        #expect(try tool.run(["fetch", tool.store] + Self.fetch).status == 0)
        var states = [try commit(): try rows()]
        var bookmark = try commit()
        #expect(try tool.run("bookmark", "add", tool.store, "mark").status == 0)
        for step in 0..<16 {
            let place: Comment = "seed \(seed), step \(step)"
            let replaces = Bool.random(using: &random)
            let write =
                Bool.random(using: &random)
                ? ["apply", tool.store, try delta(&random), "--ignore-missing"]
                : ["import", tool.store, try catalogue(&random), "--entity", "Item", "--key", "code"]
                    + (replaces ? ["--replace", "--replace-limit", "100"] : [])
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                let before = try data()
                let dry = try tool.run(write + ["--dry-run", "--cache", "c"])
                #expect(dry.status == 0, "\(place): \(dry.error)")
                #expect(try data() == before, place)
            case 1:
                let before = try data()
                let refused = try tool.run(write + ["--rule", "updated at most 0", "--rule", "inserted at most 0"])
                if refused.status == 1 { #expect(try data() == before, place) }
            case 2:
                // An `apply` of several transactions may be killed between two of them: their states aren't known.
                let isOne = write[0] == "import" || Bool.random(using: &random)
                try killed(
                    write + (isOne ? ["--rule", "deleted at most 100"] : []),
                    after: .random(in: 500...30_000, using: &random))
                #expect(try tool.run("check", tool.store).status == 0, place)
            default: #expect(try tool.run(write).status == 0, place)
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                _ = try tool.run("changes", tool.store, "--cache", "c")
            }
            states[try commit()] = try rows()
            let (one, other) = (
                try #require(states.keys.randomElement(using: &random)),
                try #require(states.keys.randomElement(using: &random))
            )
            try expectChange(from: min(one, other), to: max(one, other), states, place)
            if Int.random(in: 0..<3, using: &random) == 0 {
                let change = try batch("--since", "mark", "--advance")
                let newest = try commit()
                #expect(try replay(change, on: #require(states[bookmark])) == states[newest], place)
                bookmark = newest
            }
        }
        #expect(try tool.run("check", tool.store).status == 0)
        #expect(try tool.run("cache", "verify", tool.store).status == 0)
    }

    private func batch(_ arguments: String...) throws -> [String: Any] {
        let result = try tool.run(["changes", tool.store, "--cache", "c", "--output", "json"] + arguments)
        return try #require(result.json as? [String: Any], "\(result.error)")
    }

    private func expectChange(from first: Int, to last: Int, _ states: [Int: [[Int]]], _ place: Comment) throws {
        let change = try batch("--since", "\(first)", "--until", "\(last)")
        #expect(
            try replay(change, on: #require(states[first])) == states[last], "\(place): from \(first) to \(last)")
    }

    /// Applies a batch to rows as a table view does: removes rows and sections by their old places, then inserts them at
    /// their new ones.
    private func replay(_ batch: [String: Any], on old: [[Int]]) throws -> [[Int]] {
        let rows = try #require(batch["rows"] as? [[String: Any]])
        let sections = try #require(batch["sections"] as? [[String: Any]])
        var left: [[Int?]] = old
        for row in rows where ["delete", "move"].contains(row["kind"] as? String) {
            let from = try #require(row["from"] as? [Int])
            #expect(left[from[0]][from[1]] == row["key"] as? Int)
            left[from[0]][from[1]] = nil
        }
        let kept = left.map { $0.compactMap { $0 } }
        let gone = Set(
            sections.filter { $0["kind"] as? String != "insert" && $0["kind"] as? String != "update" }
                .compactMap { $0["from"] as? Int })
        var new = kept.indices.filter { !gone.contains($0) }.map { kept[$0] }
        let arrivals = sections.filter { ["insert", "move"].contains($0["kind"] as? String) }
            .compactMap { event in (event["to"] as? Int).map { ($0, event["from"] as? Int) } }
        for (to, from) in arrivals.sorted(by: { $0.0 < $1.0 }) { new.insert(from.map { kept[$0] } ?? [], at: to) }
        var inserted: [([Int], Int)] = []
        for row in rows where ["insert", "move"].contains(row["kind"] as? String) {
            inserted.append((try #require(row["to"] as? [Int]), try #require(row["key"] as? Int)))
        }
        for (to, key) in inserted.sorted(by: { $0.0.lexicographicallyPrecedes($1.0) }) {
            new[to[0]].insert(key, at: to[1])
        }
        return new
    }
}
