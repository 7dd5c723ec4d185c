import Foundation
import Testing

/// `fetch --count`, `fetch --distinct`, and commands without the name of the only entity.
@Suite struct QuickLookTests {
    private let tool: Tool

    init() throws {
        tool = try Tool()
        let file = try tool.file(
            "books.csv", "id,publisher,price\n1,b,10\n2,a,20\n3,b,30\n4,,40\n5,c,50\n6,b,60\n7,c,70\n")
        let result = try tool.run("import", tool.store, file, "--entity", "Book", "--key", "id")
        #expect(result.status == 0, "\(result.error)")
    }

    @Test func countPrintsTheNumberOfMatchingRows() throws {
        #expect(try tool.run("fetch", tool.store, "--count").output == "7\n")
        #expect(try tool.run("fetch", tool.store, "--count", "--where", "price > 25").output == "5\n")
        #expect(try tool.run("fetch", tool.store, "--count", "--where", "price > 250").output == "0\n")
        let json = try tool.run("fetch", tool.store, "--count", "--where", "publisher == 'b'", "--output", "json")
        #expect(json.output == "{\"count\":3}\n")
        // A cache by price doesn't change the count.
        _ = try tool.run("fetch", tool.store, "--sort", "price", "--cache", "by price")
        #expect(try tool.run("fetch", tool.store, "--count", "--where", "price > 25").output == "5\n")
        for option in [
            ["--cache", "c"], ["--explain"], ["--sections-only"], ["--output", "csv"], ["--distinct", "id"],
            ["--sort", "price"], ["--limit", "2"],
        ] {
            let result = try tool.run(["fetch", tool.store, "--count"] + option)
            #expect(result.status == 2 && result.error.hasPrefix("fetchindex: --count "), "\(option) \(result.error)")
        }
    }

    @Test func distinctCountsTheRowsOfEachValue() throws {
        let csv = try tool.run("fetch", tool.store, "--distinct", "publisher", "--output", "csv")
        #expect(csv.output == "name,indexTitle,count\nb,B,3\nc,C,2\n,,1\na,A,1\n", "\(csv.output) \(csv.error)")
        let table = try tool.run("fetch", tool.store, "--distinct", "publisher", "--where", "price < 45").output
        let lines = table.split(separator: "\n")
        #expect(lines.first?.hasSuffix("4 rows with 3 values") == true, "\(table)")
        #expect(lines.dropFirst().first?.split(separator: " ") == ["publisher", "rows"], "\(table)")
        #expect(lines.count == 6)
        // Any section key, and another order.
        let buckets = try tool.run(
            "fetch", tool.store, "--distinct", "bucket(price,50)", "--section-order", "name:desc", "--output", "csv")
        #expect(buckets.output.split(separator: "\n").count == 3, "\(buckets.output) \(buckets.error)")
        for option in [["--section", "price"], ["--in-section", "b"], ["--columns", "price"], ["--limit", "1"]] {
            #expect(try tool.run(["fetch", tool.store, "--distinct", "publisher"] + option).status == 2, "\(option)")
        }
        let unknown = try tool.run("fetch", tool.store, "--distinct", "publishr")
        #expect(unknown.status == 2 && unknown.error.contains("publisher"), "\(unknown.error)")
    }

    @Test func theOnlyEntityNeedsNoName() throws {
        #expect(
            try tool.run("fetch", tool.store, "--limit", "1", "--output", "csv").output
                == "id,price,publisher\n1,10,b\n"
                || tool.run("fetch", tool.store, "--limit", "1", "--output", "csv").output
                    == "id,publisher,price\n1,b,10\n"
        )
        #expect(
            try tool.run("export", tool.store, "--format", "csv", "--where", "id == 2").output.hasSuffix("\n2,a,20\n"))
        let delta = try tool.file("delta.jsonl", "{\"op\":\"delete\",\"key\":7}\n")
        #expect(try tool.run("apply", tool.store, delta).status == 0)
        #expect(try tool.run("fetch", tool.store, "--count").output == "6\n")
        // A cache that doesn't exist is made for it, but a cache without a request is unknown.
        #expect(try tool.run("fetch", tool.store, "--sort", "price", "--cache", "new").status == 0)
        #expect(try tool.run("fetch", tool.store, "--cache", "unknown").error.contains("unknown"))
        let other = try tool.file("authors.csv", "name\nx\n")
        #expect(try tool.run("import", tool.store, other, "--entity", "Author").status == 0)
        for command in [["fetch", tool.store], ["export", tool.store], ["apply", tool.store, delta]] {
            let result = try tool.run(command)
            #expect(result.status == 2, "\(command)")
            #expect(result.error.contains("the entities Book, Author; pass --entity"), "\(result.error)")
        }
    }
}
