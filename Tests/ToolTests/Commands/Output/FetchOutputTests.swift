import Foundation
import FetchIndexTestSupport
import Testing

/// Rows of an order as a catalogue: `fetch --output jsonl|csv|tsv`, `--columns` and `--in-section`.
@Suite struct FetchOutputTests {
    let tool: Tool
    private let request = ["--entity", "Book", "--sort", "price:desc", "--section", "house", "--cache", "c"]

    init() throws {
        tool = try Tool()
        var lines = "code,house,price,note\n"
        for number in 0..<3000 {
            lines += "\(number),house \(number % 3),\(number * 7919 % 3001),\"a \"\"note\"\", \(number)\"\n"
        }
        lines += "3000,,5,\n"
        let file = try tool.file("books.csv", lines)
        #expect(try tool.run("import", tool.store, file, "--entity", "Book", "--key", "code").status == 0)
    }

    private func fetch(_ arguments: String...) throws -> Tool.Result {
        try tool.run(["fetch", tool.store] + request + arguments)
    }

    @Test(arguments: ["csv", "tsv", "jsonl"])
    func fetchedRowsAreImportedAsTheyWere(format: String) throws {
        let fetched = try fetch("--output", format)
        #expect(fetched.status == 0, "\(fetched.error)")
        let other = try Tool()
        let file = try other.file("back.\(format)", fetched.output)
        let imported = try other.run("import", other.store, file, "--entity", "Book", "--key", "code")
        #expect(imported.status == 0, "\(imported.error)")
        let again = try other.run(
            ["fetch", other.store] + request + ["--output", "csv", "--columns", "code,house,price,note"])
        #expect(again.output == (try fetch("--output", "csv").output))
        #expect(again.output.split(separator: "\n").count == 3002)
    }

    /// A fetch with neither a cache nor sections can drop the rows beyond its offset and limit while it sorts. Its JSON
    /// still has the count of all rows.
    @Test(
        arguments: zip(
            ["note", "price:desc,code", "house:desc,code:desc", "code"],
            ["code CONTAINS '1'", "price > 5", "price > 5", "price > 9999"]))
    func limitAndOffsetPrintARangeOfTheWholeOrder(sort: String, predicate: String) throws {
        // There are enough rows for the fetch to drop rows beyond the limit several times.
        let copies = (0..<8).map { copy in
            (0..<3000).map { "\(copy)-\($0),house \($0 % 7),\($0 * 7919 % 3001),n \($0 % 100)" }.joined(separator: "\n")
        }
        let file = try tool.file("more.csv", "code,house,price,note\n" + copies.joined(separator: "\n") + "\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "More", "--key", "code").status == 0)
        func fetch(_ arguments: String...) throws -> Tool.Result {
            try tool.run(
                ["fetch", tool.store, "--entity", "More", "--where", predicate, "--sort", sort] + arguments)
        }
        let all = try fetch("--output", "jsonl").output.split(separator: "\n")
        #expect(all.isEmpty == (predicate == "price > 9999"))
        for (offset, limit) in [(0, 0), (0, 1), (0, 50), (7, 100), (all.count - 1, 5), (5, Int.max), (Int.max, 0)]
        where offset >= 0 {
            let range = ["--offset", "\(offset)", "--limit", "\(limit)"]
            let some = try tool.run(
                ["fetch", tool.store, "--entity", "More", "--where", predicate, "--sort", sort, "--output", "jsonl"]
                    + range)
            let expected = all.dropFirst(offset).prefix(limit)
            #expect(some.output.split(separator: "\n") == Array(expected), "\(range)")
            let json = try tool.run(
                ["fetch", tool.store, "--entity", "More", "--where", predicate, "--sort", sort, "--output", "json"]
                    + range)
            #expect(json["count"] as? Int == all.count, "\(range)")
            #expect((json["rows"] as? [Any])?.count == expected.count, "\(range)")
            #expect((json["sections"] as? [[String: Any]])?.map { $0["count"] as? Int } == [all.count], "\(range)")
        }
        let plan = try fetch("--explain", "--output", "json")
        #expect((plan["plan"] as? [String: Any])?["rowsMatched"] as? Int == all.count, "\(plan.output)")
    }

    @Test func onlyRequestedColumnsArePrinted() throws {
        let rows = try fetch("--output", "csv", "--columns", "price,code", "--offset", "2", "--limit", "3").output
        let all = try fetch("--output", "csv").output.split(separator: "\n").dropFirst().map {
            $0.split(separator: ",", omittingEmptySubsequences: false)
        }
        let expected = ["price,code"] + all[2..<5].map { "\($0[2]),\($0[0])" }
        #expect(rows.split(separator: "\n").map(String.init) == expected)
        let json = try fetch("--output", "json", "--columns", "code", "--limit", "1")
        let values = (json["rows"] as? [[String: Any]])?.first?["values"] as? [String: Any]
        #expect(values.map { Array($0.keys) } == ["code"])
        let table = try fetch("--columns", "code", "--limit", "1").output
        #expect(!table.contains("price"))
        let unknown = try fetch("--columns", "code,colour")
        #expect(unknown.status != 0)
        #expect(unknown.error.contains("Book has no attribute \"colour\""))
    }

    @Test func theInSectionOptionPrintsOneSection() throws {
        let one = try fetch("--output", "jsonl", "--in-section", "house 1").output.split(separator: "\n")
        #expect(one.count == 1000)
        #expect(one.allSatisfy { $0.contains("\"house\":\"house 1\"") })
        let middle = try fetch("--output", "jsonl", "--in-section", "house 1", "--offset", "10", "--limit", "5").output
        #expect(middle.split(separator: "\n") == Array(one[10..<15]))
        #expect(
            try fetch("--output", "jsonl", "--in-section", "house 1", "--offset", "999").output
                .split(separator: "\n").count == 1)
        // No section has the empty name, so the empty name finds the section of null.
        #expect(try fetch("--output", "csv", "--in-section", "", "--columns", "code").output == "code\n3000\n")
        let json = try fetch("--output", "json", "--in-section", "house 2", "--limit", "2")
        #expect((json["rows"] as? [[String: Any]])?.count == 2)
        #expect((json["sections"] as? [[String: Any]])?.map { $0["name"] as? String } == ["house 2"])
        // The line "… more rows" counts only rows of the section.
        #expect(try fetch("--in-section", "house 2", "--limit", "1000").output.contains("more") == false)
        #expect(try fetch("--in-section", "house 2").output.contains("… 950 more rows"))
        let missing = try fetch("--in-section", "house 9")
        #expect(missing.status != 0)
        #expect(missing.error.contains("there is no section \"house 9\""))
    }

    @Test func theInSectionOptionDistinguishesEquivalentNames() throws {
        let file = try tool.file(
            "alike.jsonl",
            #"{"k":1,"t":null}"# + "\n" + #"{"k":2,"t":""}"# + "\n" + #"{"k":3,"t":"caf\u00e9"}"# + "\n"
                + #"{"k":4,"t":"cafe\u0301"}"# + "\n")
        let store = tool.folder.path + "/alike"
        #expect(
            try tool.run("import", store, file, "--entity", "X", "--types", "k:integer,t:string").status == 0)
        for (name, key) in [("", 2), ("caf\u{E9}", 3), ("cafe\u{301}", 4)] {
            let rows = try tool.run(
                "fetch", store, "--entity", "X", "--section", "t", "--in-section", name, "--output", "csv", "--columns",
                "k")
            #expect(rows.output == "k\n\(key)\n")
        }
    }

    @Test(arguments: [
        ["--columns", "code,code"], ["--output", "csv", "--section-limit", "1"],
        ["--in-section", "house 1", "--section-offset", "1"], ["--explain", "--columns", "code"],
    ])
    func contradictingOptionsAreRefused(options: [String]) throws {
        #expect(try tool.run(["fetch", tool.store] + request + options).status == 2)
    }

    @Test func aValueThatAFormatCannotExpressIsReportedInOneSentence() throws {
        let file = try tool.file("more.jsonl", #"{"code":4000,"note":"a\tb"}"# + "\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Book", "--key", "code").status == 0)
        let result = try tool.run("fetch", tool.store, "--entity", "Book", "--output", "tsv")
        #expect(result.status != 0)
        #expect(result.error.contains("note: TSV cannot contain tabs or line ends"))
        #expect(try tool.run("fetch", tool.store, "--entity", "Book", "--output", "csv", "--explain").status == 2)
    }

    @Test func theSectionsOnlyOptionPrintsOneRowPerSection() throws {
        let sections = ["--sections-only", "--aggregate", "max(price)", "--section-order", "name"]
        let csv = try tool.run(["fetch", tool.store] + request + sections + ["--output", "csv"])
        #expect(csv.status == 0, "\(csv.error)")
        let lines = csv.output.split(separator: "\n").map(String.init)
        #expect(lines.first == "name,indexTitle,count,max(price)")
        #expect(lines[1] == ",,1,5")
        #expect(
            lines[2...].map { $0.split(separator: ",").prefix(3).joined(separator: ",") }
                == (0..<3).map { "house \($0),H,1000" })
        let tsv = try tool.run(
            ["fetch", tool.store] + request + sections + [
                "--output", "tsv", "--section-offset", "1", "--section-limit", "1",
            ])
        #expect(tsv.output.split(separator: "\n").count == 2)
        #expect(tsv.output.contains("\nhouse 0\tH\t1000\t"))
        #expect(
            try tool.run(["fetch", tool.store] + request + ["--output", "csv", "--section-limit", "1"]).status == 2)
    }

    /// In the order of values, 9 comes before 10, and false before true.
    @Test func sectionsOfNumbersAreOrderedByValue() throws {
        let rows = (0..<60).map { "\($0),\($0 % 2 == 0),\($0 * 3 - 40),\(Double($0 % 12) / 4)\n" }
        let file = try tool.file("numbers.csv", "id,even,size,price\n" + rows.joined() + "60,,,\n")
        #expect(try tool.run("import", tool.store, file, "--entity", "Row", "--key", "id").status == 0)
        func names(_ section: String, _ order: String, _ cache: [String] = []) throws -> [String?] {
            let result = try tool.run(
                [
                    "fetch", tool.store, "--entity", "Row", "--section", section, "--section-order", order, "--output",
                    "json",
                ]
                    + cache)
            #expect(result.status == 0, "\(result.error)")
            return (result["sections"] as? [[String: Any]] ?? []).map { $0["name"] as? String }
        }
        let starts = stride(from: -40, through: 130, by: 10).map { Optional("\($0)") }
        #expect(try names("bucket(size,10)", "name") == [nil] + starts)
        #expect(try names("bucket(size,10)", "name:desc", ["--cache", "buckets"]) == starts.reversed() + [nil])
        #expect(try names("size", "name").compactMap { $0.flatMap { Int($0) } } == (0..<60).map { $0 * 3 - 40 })
        #expect(
            try names("price", "name:localized=ja").compactMap { $0.flatMap { Double($0) } }
                == (0..<12).map { Double($0) / 4 })
        #expect(try names("even", "name", ["--cache", "even"]) == [nil, "false", "true"])
        let even = try tool.run("fetch", tool.store, "--cache", "even", "--in-section", "true", "--output", "csv")
        #expect(even.output.split(separator: "\n").count == 31, "\(even.error)")
        let table = try tool.run("fetch", tool.store, "--cache", "even").output
        #expect(table.contains("false") && table.contains("true"))
        #expect(!table.contains("\n0 "))
        // One cache catches up, and `cache verify` finds no defects.
        let more = try tool.file("more.csv", "id,even,size,price\n61,true,1000,2.25\n62,false,-1000,9\n")
        #expect(try tool.run("import", tool.store, more, "--entity", "Row", "--key", "id").status == 0)
        #expect(
            try names("bucket(size,10)", "name:desc", ["--cache", "buckets"]) == ["1000"] + starts.reversed() + [
                "-1000", nil,
            ])
        let verified = try tool.run("cache", "verify", tool.store)
        #expect(verified.status == 0, "\(verified.output)")
    }
}
