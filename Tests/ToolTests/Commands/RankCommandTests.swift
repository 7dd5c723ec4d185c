import FetchIndexTestSupport
import Foundation
import Testing

/// `rank`, and the options of `fetch` that choose rows by their ranks.
@Suite struct RankCommandTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        let rows = (0..<100).map { "\($0),\($0 % 2),\($0 * 10)\n" }
        let file = try tool.file("rows.csv", "code,kind,size\n" + rows.joined())
        #expect(try tool.run("import", tool.store, file, "--entity", "Item", "--key", "code").status == 0)
        for arguments in [["--cache", "all"], ["--section", "kind", "--cache", "by kind"]] {
            #expect(try tool.run(["fetch", tool.store, "--sort", "size:desc"] + arguments).status == 0)
        }
    }

    private func codes(_ arguments: String...) throws -> [Int] {
        let result = try tool.run(["fetch", tool.store, "--columns", "code", "--output", "csv"] + arguments)
        #expect(result.status == 0, "\(result.error)")
        return result.output.split(separator: "\n").dropFirst().compactMap { Int($0) }
    }

    @Test func partsAreEqualAndComplete() throws {
        let parts = try (1...3).map { try codes("--cache", "all", "--part", "\($0)/3") }
        #expect(parts.map(\.count) == [34, 33, 33])
        #expect(parts.flatMap { $0 } == (0..<100).reversed())
        let sectioned = try codes("--cache", "by kind", "--part", "2/2")
        #expect(sectioned.count == 50 && Set(sectioned.map { $0 % 2 }).count == 1)
        for part in ["0/3", "4/3", "3", "a/b", "1/0"] {
            #expect(try tool.run("fetch", tool.store, "--cache", "all", "--part", part).status == 2)
        }
    }

    @Test func aSampleIsInOrder() throws {
        let sample = try codes("--cache", "all", "--sample", "7", "--seed", "3")
        #expect(sample.count == 7 && sample == sample.sorted(by: >))
        #expect(try codes("--cache", "all", "--sample", "7", "--seed", "3") == sample)
        #expect(try codes("--cache", "all", "--sample", "7", "--seed", "4") != sample)
        #expect(Set(try codes("--cache", "by kind", "--in-section", "1", "--sample", "5").map { $0 % 2 }) == [1])
        let table = try tool.run("fetch", tool.store, "--cache", "all", "--sample", "2").output
        #expect(!table.contains("more row"), "\(table)")
        let json = try tool.run("fetch", tool.store, "--cache", "all", "--sample", "2", "--output", "json")
        #expect((json["rows"] as? [Any])?.count == 2)
        #expect(try tool.run("fetch", tool.store, "--cache", "all", "--sample", "2", "--limit", "1").status == 2)
    }

    @Test func percentilesArePrintedForEachSection() throws {
        #expect(
            try tool.run("fetch", tool.store, "--cache", "all", "--percentile", "50,99,100").output
                == "rows  50 %  99 %  100 %\n────  ────  ────  ─────\n 100   490   980    990\n")
        let json = try tool.run("fetch", tool.store, "--cache", "by kind", "--percentile", "0,50", "--output", "json")
        let sections = try #require(json["sections"] as? [[String: Any]])
        #expect(
            sections.map { $0["name"] as? String } == ["1", "0"]
                || sections.map { $0["name"] as? String } == ["0", "1"])
        #expect(sections.allSatisfy { $0["count"] as? Int == 50 })
        let first = try tool.run(
            "fetch", tool.store, "--cache", "by kind", "--percentile", "50", "--in-section", "1", "--output", "json")
        #expect(first.output == #"{"sections":[{"count":50,"name":"1","percentiles":{"50":490}}]}"# + "\n")
        #expect(try tool.run("fetch", tool.store, "--cache", "all", "--percentile", "101").status == 2)
    }

    @Test func aDoubleMayBeInfiniteOrNotANumber() throws {
        let store = tool.folder.path + "/doubles"
        let file = try tool.file("doubles.csv", "d\n-inf\n-1.5\n2.5\ninf\nnan\n")
        let imported = try tool.run(
            "import", store, file, "--entity", "Row", "--key", "d", "--types", "d:double")
        #expect(imported.status == 0, "\(imported.error)")
        #expect(try tool.run("fetch", store, "--sort", "d", "--cache", "c").status == 0)
        for (place, text) in ["-inf", "-1.5", "2.5", "inf", "nan"].enumerated() {
            let value = try tool.run("rank", store, "--cache", "c", "--value", text)
            #expect(value.output.hasPrefix("\(place) of 5 rows come before it, 1 has"), "\(text): \(value.error)")
            let key = try tool.run("rank", store, "--cache", "c", "--key=\(text)")
            #expect(key.output == "\(place) of 5 rows come before it\n", "\(text): \(key.error)")
        }
        for text in ["infinity", "Inf", "NaN", "x"] {
            #expect(try tool.run("rank", store, "--cache", "c", "--value", text).status == 2)
        }
        #expect(try tool.run("rank", tool.store, "--cache", "all", "--value", "inf").status == 2, "an integer")
    }

    /// Workers that open the order one after the other, while others commit, read parts of one state.
    @Test func partsOfAnEarlierStateAreComplete() throws {
        #expect(try tool.run("bookmark", "add", tool.store, "work").status == 0)
        let before = try codes("--cache", "all")
        var parts: [Int] = []
        for part in 1...3 {
            parts += try codes("--cache", "all", "--at", "work", "--part", "\(part)/3")
            let lines =
                #"{"op":"delete","key":\#(part * 7)}"# + "\n"
                + #"{"op":"insert","key":\#(1000 + part),"values":{"kind":5,"size":\#(part * 100)}}"# + "\n"
                + #"{"op":"update","key":\#(part * 11),"values":{"size":-1}}"# + "\n"
            #expect(try tool.run("apply", tool.store, try tool.file("d.jsonl", lines)).status == 0)
        }
        #expect(parts == before)
        // Values and sections are as they were, also in the newest state's other order.
        let json = try tool.run("fetch", tool.store, "--cache", "by kind", "--at", "1", "--output", "json")
        #expect(json["count"] as? Int == 100 && (json["sections"] as? [Any])?.count == 2, "\(json.error)")
        let sizes = (json["rows"] as? [[String: Any]])?.map { ($0["values"] as? [String: Int])?["size"] }
        #expect(sizes?.contains(-1) == false)
        let shown = try tool.run("cache", "show", tool.store, "all", "--output", "json")
        #expect((shown["cache"] as? [String: Any])?["commit"] as? Int == 1, "the cache stays as it is")
        #expect(try codes("--sort", "size:desc", "--at", "1", "--limit", "3") == Array(before.prefix(3)))
        #expect(try tool.run("fetch", tool.store, "--cache", "all", "--at", "99").error.contains("no commit 99 yet"))
        #expect(try tool.run("fetch", tool.store, "--cache", "all", "--at", "nobody").status == 2)
        #expect(try tool.run("fetch", tool.store, "--cache", "all", "--at", "1", "--require", "hit").status == 2)
    }

    @Test func aRankSaysHowManyStandBefore() throws {
        func rank(_ arguments: String...) throws -> Tool.Result {
            try tool.run(["rank", tool.store, "--cache"] + arguments)
        }
        #expect(try rank("all", "--key", "97").output == "2 of 100 rows come before it\n")
        #expect(try rank("all", "--value", "970").output == "2 of 100 rows come before it, 1 has this value\n")
        #expect(try rank("all", "--value", "975").output == "2 of 100 rows come before it, 0 have this value\n")
        let sectioned = try rank("by kind", "--key", "96", "--output", "json").output
        #expect(sectioned.contains(#""rowInSection":1,"#) && sectioned.contains(#""sectionName":"0""#), "\(sectioned)")
        #expect(
            try rank("by kind", "--value", "970", "--in-section", "1", "--output", "json").output
                == #"{"before":1,"count":50,"equal":1}"# + "\n")
        #expect(try rank("by kind", "--value", "970").status == 2)
        #expect(try rank("all", "--value", "x").error.contains("\"x\" is not an integer"))
        #expect(try rank("all", "--key", "1000").error.contains("there is no Item with code \"1000\""))
        #expect(try rank("all").status == 2)
        #expect(try rank("none", "--key", "1").error.contains("no cache \"none\""))
    }
}
