import FetchIndexTestSupport
import Foundation
import Testing

/// An oracle that keeps the rows of each commit with their values: random imports, deltas, dry runs, rules, three bookmarks and
/// kills, all through the tool. The change between any two commits must be the difference of their rows, by replay, with the
/// values before and after.
@Suite struct AllStatesTests {
    private static let fetch = ["--section", "kind", "--sort", "size:desc", "--cache", "c"]

    /// The rows at a commit.
    private struct State: Equatable {
        /// The keys of the rows, by section.
        var keys: [[Int]]
        /// The values of the rows, by object: another object may get the key of a deleted one.
        var values: [Int: NSDictionary] = [:]
    }

    let tool: Tool

    init() throws { tool = try Tool() }

    private func commit() throws -> Int {
        let result = try tool.run("info", tool.store, "--output", "json")
        return try #require(result["commit"] as? Int, "\(result.error)")
    }

    private func state() throws -> State {
        let definition = Array(Self.fetch.dropLast(2))
        let result = try tool.run(["fetch", tool.store, "--output", "json"] + definition)
        let count = try #require(result["sectionCount"] as? Int, "\(result.error)")
        var state = State(keys: [[Int]](repeating: [], count: count))
        for row in try #require(result["rows"] as? [[String: Any]]) {
            let values = try #require(row["values"] as? NSDictionary)
            let key = try #require(values["code"] as? Int)
            state.keys[try #require(row["section"] as? Int)].append(key)
            state.values[try #require(row["id"] as? Int)] = values
        }
        return state
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
        var states = [try commit(): try state()]
        var bookmarks = try ["mail", "index", "audit"].reduce(into: [:]) { $0[$1] = try commit() }
        for name in bookmarks.keys { #expect(try tool.run("bookmark", "add", tool.store, name).status == 0) }
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
                let before = try tool.storeFiles()
                let dry = try tool.run(write + ["--dry-run", "--cache", "c"])
                #expect(dry.status == 0, "\(place): \(dry.error)")
                #expect(try tool.storeFiles() == before, place)
            case 1:
                let before = try tool.storeFiles()
                let refused = try tool.run(write + ["--rule", "updated at most 0", "--rule", "inserted at most 0"])
                if refused.status == 1 { #expect(try tool.storeFiles() == before, place) }
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
            let newest = try commit()
            states[newest] = try state()
            let (one, other) = (
                try #require(states.keys.randomElement(using: &random)),
                try #require(states.keys.randomElement(using: &random))
            )
            try expectChange(from: min(one, other), to: max(one, other), states, place)
            // Each consumer reads at times of its own, and sometimes doesn't say that it has.
            for name in bookmarks.keys.sorted() where Int.random(in: 0..<3, using: &random) == 0 {
                let first = try #require(bookmarks[name])
                let advances = Bool.random(using: &random)
                let change = try batch(["--since", name] + (advances ? ["--advance"] : []))
                try expect(change, from: #require(states[first]), to: #require(states[newest]), place)
                if advances { bookmarks[name] = newest }
            }
        }
        #expect(try tool.run("check", tool.store).status == 0)
        #expect(try tool.run("cache", "verify", tool.store).status == 0)
    }

    private func batch(_ arguments: [String]) throws -> [String: Any] {
        let result = try tool.run(["changes", tool.store, "--cache", "c", "--output", "json"] + arguments)
        return try #require(result.json as? [String: Any], "\(result.error)")
    }

    private func expectChange(from first: Int, to last: Int, _ states: [Int: State], _ place: Comment) throws {
        let (old, new) = (try #require(states[first]), try #require(states[last]))
        let points = ["--since", "\(first)", "--until", "\(last)"]
        let place: Comment = "\(place), from \(first) to \(last)"
        try expect(batch(points), from: old, to: new, place)
        let objects = try tool.run(["changes", tool.store, "--entity", "Item", "--output", "json"] + points)
        let rows = try #require(objects["rows"] as? [[String: Any]], "\(objects.error)")
        for row in rows { try expectValues(of: row, old, new, place) }
        #expect(Set(rows.compactMap { $0["id"] as? Int }) == changed(old, new), place)
    }

    private func changed(_ old: State, _ new: State) -> Set<Int> {
        Set(old.values.keys).union(new.values.keys).filter { old.values[$0] != new.values[$0] }
    }

    /// The batch leads from the old rows to the new ones, has each changed row once, and its values before and after.
    private func expect(_ batch: [String: Any], from old: State, to new: State, _ place: Comment) throws {
        #expect(try replay(batch, on: old.keys) == new.keys, place)
        let rows = try #require(batch["rows"] as? [[String: Any]])
        for row in rows { try expectValues(of: row, old, new, place) }
        let objects = rows.compactMap { $0["id"] as? Int }
        #expect(Set(objects).count == objects.count && changed(old, new).isSubset(of: objects), place)
    }

    private func expectValues(of row: [String: Any], _ old: State, _ new: State, _ place: Comment) throws {
        let object = try #require(row["id"] as? Int)
        let (before, after) = (old.values[object], new.values[object])
        #expect(row["old"] as? NSDictionary == before && row["new"] as? NSDictionary == after, place)
        let kind = row["kind"] as? String
        #expect((kind == "insert") == (before == nil) && (kind == "delete") == (after == nil), place)
        if kind == "update" { #expect(before != after, place) }
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
