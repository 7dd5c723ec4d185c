import Foundation
import Testing

/// The bundled Japanese catalogues, imported and fetched.
@Suite struct CatalogueTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    private func catalogue(_ name: String) -> String {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return tests.appendingPathComponent("FetchIndexTests/Catalogues/\(name)").path
    }

    private func sections(_ arguments: String...) throws -> [String] {
        let result = try tool.run(["fetch", tool.store, "--output", "json", "--sections-only"] + arguments)
        let sections = result["sections"] as? [[String: Any]] ?? []
        return sections.map { "\($0["name"] as? String ?? "?") \($0["count"] as? Int ?? -1)" }
    }

    @Test func booksAreFetchedByPublisherAndPrice() throws {
        #expect(try tool.run("import", tool.store, catalogue("books.csv"), "--entity", "Book").status == 0)
        let books = ["--entity", "Book", "--sort", "price"]
        let fetched = try tool.run(
            ["fetch", tool.store, "--output", "json", "--section", "publisher", "--cache", "b"] + books)
        let rows = fetched["rows"] as? [[String: Any]] ?? []
        let titles = rows.compactMap { ($0["values"] as? [String: Any])?["title"] as? String }
        #expect(titles.prefix(3) == ["こわれた腕環", "影との戦い", "ホビットの冒険 上"])
        #expect(
            try sections("--entity", "Book", "--sort", "price", "--section", "publisher") == [
                "岩波書店 5", "東京創元社 3", "早川書房 4", "文藝春秋 2",
            ])
        #expect(
            try sections("--entity", "Book", "--sort", "price", "--section", "bucket(price,1000)") == [
                "0 6", "1000 5", "2000 3",
            ])
        let kana = try tool.rows(
            "--entity", "Book", "--where", "title CONTAINS '影' OR title BEGINSWITH 'こ'", "--sort", "title:localized=ja")
        #expect(kana.map { $0["price"] as? Int } == [734, 777])
    }

    @Test func magazinesAreFetchedByMonthInTokyo() throws {
        #expect(
            try tool.run("import", tool.store, catalogue("magazines.csv"), "--entity", "Magazine", "--key", "name")
                .status == 0)
        let months = try sections(
            "--entity", "Magazine", "--where", "releaseDate >= '2016-07-01'", "--sort", "releaseDate:desc", "--section",
            "month(releaseDate,Asia/Tokyo)")
        #expect(months == ["2016-11 1", "2016-10 1", "2016-09 1", "2016-08 2", "2016-07 1"])
        #expect(
            try sections("--entity", "Magazine", "--section", "publisher", "--section-order", "count").first == "小学館 4")
        #expect(
            try sections("--entity", "Magazine", "--where", "price BETWEEN {300, 350} AND NOT publisher == '集英社'") == [
                " 4"
            ])
    }
}
