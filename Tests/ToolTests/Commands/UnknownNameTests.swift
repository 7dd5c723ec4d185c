import Foundation
import FetchIndexTestSupport
import Testing

/// Names of entities, attributes and caches that the store does not have.
@Suite struct UnknownNameTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test func anUnknownNameIsReportedWithASimilarOne() throws {
        let rows = try tool.file("rows.csv", "code,price\n1,2\n")
        let key = ["--entity", "Package", "--key", "code"]
        #expect(try tool.run(["import", tool.store, rows] + key).status == 0)
        let cached = ["fetch", tool.store, "--entity", "Package", "--sort", "price", "--cache", "by price"]
        #expect(try tool.run(cached).status == 0)
        let change = try tool.file("c.jsonl", "{\"op\":\"insert\",\"values\":{\"pirce\":1}}\n")
        let late = try tool.file("late.csv", "code,Price\n3,4\n")
        let author = try tool.file("a.csv", "name,book\nx,1\n")
        for (arguments, hint) in [
            (["fetch", tool.store, "--entity", "Pakage"], "no entity \"Pakage\"; there is \"Package\""),
            (["apply", tool.store, change, "--entity", "package"], "no entity \"package\"; there is \"Package\""),
            (
                ["fetch", tool.store, "--entity", "Package", "--sort", "pirce"],
                "no attribute \"pirce\"; there is \"price\""
            ),
            (
                ["fetch", tool.store, "--entity", "Package", "--section", "Code"],
                "no attribute \"Code\"; there is \"code\""
            ),
            (
                ["fetch", tool.store, "--entity", "Package", "--where", "prize > 1"],
                "\"prize\", which is not an attribute of Package; there is \"price\""
            ),
            (["fetch", tool.store, "--entity", "Package", "--columns", "prices"], "\"prices\"; there is \"price\""),
            (
                ["changes", tool.store, "--cache", "by prise"],
                "no cache \"by prise\" in the store; there is \"by price\""
            ),
            (["cache", "delete", tool.store, "byprice"], "no cache \"byprice\" in the store; there is \"by price\""),
            (["refresh", tool.store, "By Price"], "there is \"by price\""),
            (["apply", tool.store, change, "--entity", "Package"], "no attribute \"pirce\"; there is \"price\""),
            (["import", tool.store, late] + key, "no such attribute; there is \"price\"; --add-columns adds it"),
            (
                ["import", tool.store, rows, "--entity", "New", "--key", "cod"],
                "no attribute \"cod\"; there is \"code\""
            ),
            (
                ["import", tool.store, author, "--entity", "Author", "--relate", "book=Packag.code"],
                "which the store lacks; there is \"Package\"; import"
            ),
            (["model", "plan", tool.store, "--entity", "Package", "--drop", "pric"], "\"pric\"; there is \"price\""),
        ] {
            let result = try tool.run(arguments)
            #expect(result.status != 0 && result.error.contains(hint), "\(arguments): \(result.error)")
        }
        #expect(try !tool.run("fetch", tool.store, "--entity", "Author").error.contains("there is"))
    }
}
