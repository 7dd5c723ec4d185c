import FetchIndexTestSupport
import Foundation
import Testing

/// `fetch --aggregate fingerprint`, `cache list --fingerprint`, and `diff --cache`, which compares stores by fingerprints.
@Suite struct StoreDiffTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    private func store(_ name: String, _ rows: [(Int, String)], cached: Bool = true, sort: String = "name") throws
        -> String
    {
        let text = "code,name\n" + rows.map { "\($0.0),\($0.1)\n" }.joined()
        let store = tool.folder.path + "/" + name
        let imported = try tool.run(
            "import", store, try tool.file(name + ".csv", text), "--entity", "Row", "--key", "code")
        #expect(imported.status == 0, "\(imported.error)")
        if cached {
            let fetched = try tool.run(
                "fetch", store, "--entity", "Row", "--sort", sort, "--aggregate", "fingerprint", "--cache", "by name",
                "--limit", "0")
            #expect(fetched.status == 0, "\(fetched.error)")
        }
        return store
    }

    private func fingerprint(_ store: String) throws -> String {
        let listed = try tool.run("cache", "list", store, "--fingerprint", "--output", "json")
        let caches = try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [[String: Any]]
        return try #require(caches?.first?["fingerprint"] as? String)
    }

    @Test(arguments: 0..<4 as Range<UInt64>) func storesAreComparedByFingerprints(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let rows = (0..<300).map { ($0, "n\(Int.random(in: 0..<100, using: &random))") }
        var changed = rows.shuffled(using: &random)
        for _ in 0..<10 { changed[Int.random(in: 0..<250, using: &random)].1 = "x" }
        changed.removeLast(3)
        changed += [(1000, "n1"), (1001, "")]
        let (a, b) = (try store("a", rows), try store("b", changed))
        #expect(try fingerprint(a) != fingerprint(b))
        let table = try tool.run("cache", "list", b, "--fingerprint")
        #expect(table.output.contains(try fingerprint(b)))
        let whole = (try store("all of a", rows, cached: false), try store("all of b", changed, cached: false))
        for format in ["jsonl", "json", "csv", "table"] {
            let (fast, all) = (
                try tool.run("diff", a, b, "--cache", "by name", "--output", format),
                try tool.run("diff", whole.0, whole.1, "--output", format)
            )
            #expect(fast.status == 0 && all.status == 0, "\(fast.error)\(all.error)")
            #expect(fast.output == all.output, "seed \(seed), \(format)")
        }
        // The differences of the two stores, applied to one, make it equal to the other.
        let delta = try tool.run("diff", a, b, "--cache", "by name", "--output", "jsonl").output
        #expect(try tool.run("apply", a, try tool.file("delta.jsonl", delta)).status == 0)
        #expect(try tool.run("diff", a, b, "--cache", "by name", "--if-changed").status == 3)
        #expect(try tool.run("fetch", a, "--cache", "by name", "--limit", "0").status == 0)
        #expect(try fingerprint(a) == fingerprint(b))
    }

    @Test func onlyCachesOfTheSameRequestWithFingerprintsAreCompared() throws {
        let rows = [(1, "a"), (2, "b")]
        let (a, b, c) = (try store("a", rows), try store("b", rows, sort: "code"), try store("c", rows, cached: false))
        func error(_ arguments: String...) throws -> String {
            let result = try tool.run(["diff"] + arguments)
            #expect(result.status != 0)
            return result.error
        }
        #expect(
            try error(a, b, "--cache", "by name").contains(
                "the two orders have different requests"))
        #expect(try error(a, c, "--cache", "by name").contains("no cache"))
        #expect(try error(a, tool.folder.path + "/a.csv", "--cache", "by name").contains("is not a store's folder"))
        #expect(try error(a, b, "--cache", "by name", "--sort", "code").contains("leave out"))
        #expect(
            try tool.run("fetch", c, "--entity", "Row", "--sort", "name", "--cache", "plain", "--limit", "0").status
                == 0)
        #expect(try error(c, c, "--cache", "plain").contains("orders can only be compared if both keep a fingerprint"))
        // A fingerprint has no size, so no rule can limit its growth.
        let rule = try tool.run(
            "apply", a, try tool.file("none.jsonl", ""), "--rule", "fingerprint in by name changes by at most 1")
        #expect(rule.status != 0)
    }

    private func make(_ name: String, _ text: String, _ options: [String], _ fetch: [String]) throws -> String {
        let store = tool.folder.path + "/" + name
        let file = try tool.file(name + ".csv", text)
        #expect(try tool.run(["import", store, file, "--entity", "Row"] + options).status == 0)
        let cache = ["--aggregate", "fingerprint", "--cache", "c", "--limit", "0"]
        #expect(try tool.run(["fetch", store, "--entity", "Row", "--sort", "code"] + fetch + cache).status == 0)
        return store
    }

    /// A row that no longer meets the condition isn't gone, so a delta must not delete it.
    @Test func aCacheWithAConditionGivesNoDelta() throws {
        let stores = try [1, 2].map {
            try make("s\($0)", "code,k\n1,\($0)\n2,1\n", ["--key", "code"], ["--where", "k == 1"])
        }
        let table = try tool.run("diff", stores[0], stores[1], "--cache", "c")
        #expect(table.status == 0 && table.output.contains("delete"), "\(table.error)")
        let delta = try tool.run("diff", stores[0], stores[1], "--cache", "c", "--output", "jsonl")
        #expect(delta.status == 1 && delta.output.isEmpty && delta.error.contains("has a condition"), "\(delta.error)")
    }

    @Test func rowsAreIdentifiedByAUniqueAttributeOnly() throws {
        let text = "code,k\n1,1\n1,2\n"
        let (a, b) = (try make("a", text, [], []), try make("b", text + "2,1\n", [], []))
        // Equal stores need no key.
        #expect(try tool.run("diff", a, a, "--cache", "c", "--if-changed").status == 3)
        #expect(try tool.run("diff", a, b, "--cache", "c").error.contains("Pass --key"))
        #expect(try tool.run("diff", a, b, "--cache", "c", "--key", "code").error.contains("is not unique"))
    }

    @Test func aCacheWithSubentitiesIsRefused() throws {
        let model = """
            {"entities": [{"name": "Row", "attributes": [{"name": "code", "type": "integer", "isUnique": true}]},
            {"name": "Book", "superentity": "Row", "attributes": [{"name": "pages", "type": "integer"}]}]}
            """
        let store = tool.folder.path + "/a"
        let file = try tool.file("model.json", model)
        #expect(try tool.run("model", "migrate", store, "--to", file, "--create").status == 0)
        for (cache, options) in [("all", []), ("own", ["--no-include-subentities"])] {
            let fetched = try tool.run(
                ["fetch", store, "--entity", "Row", "--sort", "code", "--aggregate", "fingerprint", "--cache", cache]
                    + options)
            #expect(fetched.status == 0, "\(fetched.error)")
        }
        #expect(try tool.run("diff", store, store, "--cache", "all").error.contains("--no-include-subentities"))
        #expect(try tool.run("diff", store, store, "--cache", "own").status == 0)
    }

    // MARK: Chosen caches

    /// Makes two stores with the same history in a folder: objects are deleted, so that their numbers have gaps, and some
    /// rows of the second one differ.
    private func pair(_ name: String, seed: UInt64) throws -> [String] {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let folder = tool.folder.path + "/" + name
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let rows = (0..<200).map { ($0, "n\(Int.random(in: 0..<60, using: &random))") }
        var changed = rows.shuffled(using: &random)
        for _ in 0..<Int.random(in: 1...6, using: &random) { changed[Int.random(in: 0..<150, using: &random)].1 = "x" }
        changed.append((1000, "new"))
        changed.insert((1001, "new"), at: 20)
        let gone = try tool.file("gone.txt", "3\n4\n77\n")
        return try [("a", rows), ("b", changed)].map { store, rows in
            let text = "code,name\n" + rows.map { "\($0.0),\($0.1)\n" }.joined()
            let path = folder + "/" + store
            let file = try tool.file("rows.csv", text)
            #expect(try tool.run("import", path, file, "--entity", "Row", "--key", "code").status == 0)
            #expect(try tool.run("apply", path, "--deletes", gone).status == 0)
            return path
        }
    }

    private func addCache(_ store: String, _ name: String, _ options: String...) throws {
        let cache = ["--entity", "Row", "--cache", name, "--limit", "0"]
        let fetched = try tool.run(["fetch", store] + cache + options)
        #expect(fetched.status == 0, "\(fetched.error)")
    }

    /// Whether two equal stores are compared without files of more than 2 KiB, which all their rows need.
    private func areComparedByCaches(_ first: String, _ second: String) throws -> Bool {
        let command = "ulimit -f 2; exec \"$0\" diff \"$1\" \"$2\" --if-changed"
        let status = try TemporaryFolder.run("bash", ["-c", command, Tool.executable.path, first, second]).status
        return status == 3
    }

    @Test(arguments: 0..<3 as Range<UInt64>) func aChosenCacheGivesTheOutputOfAllRows(seed: UInt64) throws {
        let (plain, cached) = (try pair("plain", seed: seed), try pair("cached", seed: seed))
        try addCache(cached[0], "z", "--sort", "name", "--aggregate", "fingerprint")
        try addCache(cached[1], "y", "--sort", "name", "--aggregate", "count(code),fingerprint")
        for format in ["table", "json", "jsonl", "csv", "tsv", "html", "markdown"] {
            let expected = try tool.run(["diff"] + plain + ["--output", format])
            let found = try tool.run(["diff"] + cached + ["--output", format])
            #expect(expected.status == 0 && expected.output.count > 50, "\(expected.error)")
            #expect(found.output == expected.output, "seed \(seed), \(format)")
            let named = try tool.run(["diff"] + cached + ["--output", format, "--entity", "Row", "--key", "code"])
            #expect(named.output == expected.output, "seed \(seed), \(format)")
        }
        // An order has all rows.
        let order = ["--sort", "name", "--summary"]
        let orders = try [plain, cached].map { try tool.run(["diff"] + $0 + order).output }
        #expect(orders[0] == orders[1] && !orders[0].isEmpty)
        // Equal stores are a whole document.
        let equal = try [plain, cached].map { try tool.run("diff", $0[0], $0[0], "--output", "json").output }
        #expect(equal[0] == equal[1] && !equal[0].isEmpty)
    }

    @Test func onlyCachesOfAllRowsAreChosen() throws {
        let stores = try pair("plain", seed: 1)
        let (a, b) = (stores[0], tool.folder.path + "/copy")
        try FileManager.default.copyItem(atPath: a, toPath: b)
        for store in [a, b] {
            try addCache(store, "part", "--sort", "code", "--where", "code > 2", "--aggregate", "fingerprint")
            try addCache(store, "plain", "--sort", "code")
        }
        try addCache(a, "by code", "--sort", "code", "--aggregate", "fingerprint")
        #expect(try !areComparedByCaches(a, b))
        try addCache(b, "by name", "--sort", "name", "--aggregate", "fingerprint")
        #expect(try !areComparedByCaches(a, b))
        try addCache(b, "b", "--sort", "code", "--aggregate", "fingerprint")
        #expect(try areComparedByCaches(a, b))
        // A cache that is behind is caught up.
        let update = try tool.file("update.jsonl", #"{"op":"update","key":5,"values":{"name":"other"}}"# + "\n")
        #expect(try tool.run("apply", b, update).status == 0)
        let table = try tool.run("diff", a, b).output
        #expect(table.hasPrefix("update #6  5  name: ") && table.contains("→ other"), "\(table)")
    }

    /// A row may then have no key, and the comparison of all rows says so.
    @Test func storesWithoutARequiredKeyAreNotComparedByCaches() throws {
        let stores = try ["a", "b"].map { try make($0, "code,k\n1,1\n2,2\n", [], []) }
        #expect(try tool.run("diff", stores[0], stores[1]).error.contains("Pass --key"))
        #expect(try !areComparedByCaches(stores[0], stores[1]))
    }

    @Test func theObjectsOfTheFirstStoreHaveItsNumbers() throws {
        let store = tool.folder.path + "/gaps"
        let file = try tool.file("gaps.csv", "code,name\n1,a\n2,b\n3,c\n")
        #expect(try tool.run("import", store, file, "--entity", "Row", "--key", "code").status == 0)
        #expect(try tool.run("apply", store, "--deletes", tool.file("gone.txt", "2\n")).status == 0)
        let other = try tool.file("other.csv", "code,name\n9,n\n1,a\n3,x\n")
        #expect(
            try tool.run("diff", store, other).output == "update #3  3  name: c → x\ninsert #4  9\n")
    }
}
