import Foundation
import FetchIndexTestSupport
import Testing

/// The output of `fetch --aggregate`.
@Suite struct AggregateCommandTests {
    let tool: Tool
    private let request = ["--entity", "Book", "--sort", "price", "--section", "house"]

    init() throws {
        tool = try Tool()
        let file = try tool.file(
            "books.csv", "code,house,price,weight\n1,A,1500,1.5\n2,A,,\n3,B,700,0.25\n4,B,900,0.5\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Book", "--key", "code").status == 0)
    }

    private func fetch(_ arguments: String...) throws -> Tool.Result {
        try tool.run(["fetch", tool.store] + request + arguments)
    }

    @Test func tablesHaveAColumnForEachAggregate() throws {
        let result = try fetch("--aggregate", "sum(price),average(weight)", "--sections-only")
        #expect(result.status == 0, "\(result.error)")
        let lines = result.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        #expect(lines[1] == "section rows sum(price) average(weight)")
        #expect(lines[3] == "A 2 1,500 1.5")
        #expect(lines[4] == "B 2 1,600 0.375")
        let plain = try tool.run("fetch", tool.store, "--entity", "Book", "--aggregate", "max(price),count(weight)")
        #expect(plain.output.contains("max(price): 1,500\ncount(weight): 3\n"))
    }

    @Test func jsonHasAggregatesOfAllRowsAndOfEachSection() throws {
        let json = try fetch("--aggregate", "sum(price),min(weight),sum(price)", "--limit", "0", "--output", "json")
        let all = json["aggregates"] as? [String: Double]
        #expect(all == ["sum(price)": 3100, "min(weight)": 0.25])
        let sections = (json["sections"] as? [[String: Any]])?.map { $0["aggregates"] as? [String: Double] }
        #expect(sections == [["sum(price)": 1500, "min(weight)": 1.5], ["sum(price)": 1600, "min(weight)": 0.25]])
        let without = try fetch("--limit", "0", "--output", "json")
        #expect(without["aggregates"] == nil)
    }

    @Test func aCacheIsRebuiltForOtherAggregatesButNotForTheirOrder() throws {
        let request = self.request + ["--aggregate", "sum(price),max(price)"]
        func fetched(_ arguments: [String]) throws -> [String?] {
            let json = try tool.run(
                ["fetch", tool.store, "--cache", "c", "--limit", "0", "--output", "json"] + arguments)
            let outcome = json["outcome"] as? [String: Any]
            return [outcome?["kind"] as? String, outcome?["reason"] as? String]
        }
        #expect(try fetched(request) == ["rebuilt", "first"])
        #expect(try fetched(request) == ["hit", nil])
        #expect(try fetched(self.request + ["--aggregate", "max(price),sum(price)"]) == ["hit", nil])
        // If no request options besides `--entity` are given, the cache's own request is fetched.
        let own = try tool.run("fetch", tool.store, "--cache", "c", "--entity", "Book", "--limit", "0")
        #expect(own.output.contains("sum(price)"))
        #expect(try tool.run("cache", "verify", tool.store, "c").status == 0)
        #expect(try tool.run("cache", "rebuild", tool.store, "c").status == 0)
        #expect(try fetched(self.request) == ["rebuilt", "aggregatesChanged"])
        #expect(try fetched(request) == ["rebuilt", "aggregatesChanged"])
        let shown = try tool.run("cache", "show", tool.store, "c").output
        #expect(shown.contains("sum(price),max(price)"))
        // A catch-up updates the cache's aggregates.
        let file = try tool.file("delta.csv", "code,house,price,weight\n1,A,1600,1.5\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Book", "--key", "code").status == 0)
        let json = try tool.run(["fetch", tool.store, "--cache", "c", "--limit", "0", "--output", "json"] + request)
        #expect((json["outcome"] as? [String: Any])?["kind"] as? String == "caughtUp")
        #expect(json["aggregates"] as? [String: Double] == ["sum(price)": 3200, "max(price)": 1600])
        #expect(try tool.run("cache", "verify", tool.store, "c").status == 0)
    }

    @Test(arguments: [
        ("sum(house)", "sum(house) needs numbers, but Book.house is a string"),
        (
            "total(price)",
            "an aggregate is count(KEY), sum(KEY), min(KEY), max(KEY), average(KEY) or fingerprint, not \"total(price)\""
        ),
        ("sum(colour)", "Book has no attribute \"colour\""),
    ])
    func invalidAggregatesAreErrors(aggregate: String, message: String) throws {
        let result = try fetch("--aggregate", aggregate)
        #expect(result.status != 0)
        #expect(result.error.contains(message), "\(result.error)")
        #expect(result.output.isEmpty)
    }

    /// Each of 60 copies of the store has one damaged byte. A fetch prints the right document or none, because it reads
    /// the aggregates before it prints.
    @Test func aFetchFromADamagedStorePrintsAWholeDocumentOrNone() throws {
        let rows = (0..<4000).map { "\($0 + 10),h\($0 % 40),\($0 * 7919 % 4000),\($0).25\n" }.joined()
        let file = try tool.file("more.csv", "code,house,price,weight\n" + rows)
        #expect(try tool.run("import", tool.store, file, "--entity", "Book", "--key", "code").status == 0)
        let fetch =
            ["--cache", "c", "--sections-only", "--output", "json", "--aggregate", "sum(price),max(weight)"] + request
        func body(_ result: Tool.Result) -> Substring? {
            result.output.range(of: "\"count\"").map { result.output[$0.lowerBound...] }
        }
        #expect(try tool.run(["fetch", tool.store] + fetch).status == 0)
        let right = body(try tool.run(["fetch", tool.store] + fetch))
        try #require(right != nil)
        let data = try Data(contentsOf: URL(fileURLWithPath: tool.store + "/data.mdb"))
        for flip in 0..<60 {
            var damaged = data
            damaged[8192 + flip * (data.count - 8192) / 60] ^= 0x55
            let copy = try Tool()
            try FileManager.default.createDirectory(atPath: copy.store, withIntermediateDirectories: true)
            try damaged.write(to: URL(fileURLWithPath: copy.store + "/data.mdb"))
            let result = try copy.run(["fetch", copy.store] + fetch)
            if result.status == 0 {
                #expect(body(result) == right, "flip \(flip)")
            } else {
                #expect(result.output.isEmpty, "flip \(flip): \(result.error)")
            }
        }
    }
}
