import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexInspection
@testable import FetchIndexInspectionReport

/// The inspection report of a store.
@Suite struct ReportTests {
    private let folder = TemporaryFolder()
    private let container: PersistentContainer

    /// The hostile text also has a scalar that joins with the character after it.
    private static let hostile = "<script>alert('&\")</script>\u{600}<meta http-equiv=refresh>"

    init() throws {
        container = try PersistentContainer(
            at: URL(fileURLWithPath: folder.path),
            model: Model(entities: [
                Entity(
                    "Item",
                    [
                        AttributeDescription("name", .string, isUnique: true), AttributeDescription("group", .string),
                        AttributeDescription("size", .integer),
                    ])
            ]), durability: .none)
    }

    private func insert(_ numbers: Range<Int>, group: (Int) -> String) throws {
        let writer = try BatchWriter(container, entity: "Item", key: "name", author: "test")
        for number in numbers {
            try writer.insert([
                .string("name \(number)"), .string(group(number)), .integer(Int64(number)),
            ])
        }
        try writer.commit()
    }

    private static let byGroup = OrderDefinition(
        entity: "Item", predicate: FetchPredicate(value: true), sortKeys: [SortKey("size")],
        sectionKey: .attribute("group"))

    private func open(_ definition: OrderDefinition = byGroup, _ name: String = "by group") throws {
        try container.withOrder(definition, .init(cacheName: name)) { _ in }
    }

    private func page(_ options: InspectionReport.Options = .init()) throws -> String {
        try InspectionReport(of: container, options).html().page
    }

    @Test func theReportOfAStoreWithoutCachesListsItsEntities() throws {
        let page = try page()
        #expect(page.hasPrefix("<!doctype html>") && page.hasSuffix("</html>\n"))
        #expect(page.contains("The store has no caches.") && page.contains("<td>Item</td>"))
    }

    @Test func aCacheHasACardWithItsRequestStateAndHistory() throws {
        try insert(0..<50) { "group \($0 % 3)" }
        try open()
        try open()
        try insert(50..<52) { _ in "new" }
        try open()
        let page = try page()
        for text in [
            "<h2>by group <span class=\"state good\">fresh</span></h2>", "<dd>52 in 4 sections</dd>",
            "<dt>sort</dt><dd>size</dd>",
            "rebuilt: first", "caught up", "1 section and 2 rows since commit 1", "section 3, row 1", "Item 52 name 51",
            "Hits by hour", "Changed objects by hour", "Rows by section", "leaves",
        ] {
            #expect(page.contains(text), "\(text)")
        }
        // After another commit, the cache is behind.
        try insert(60..<61) { _ in "a" }
        #expect(try self.page().contains("<span class=\"state behind\">1 change behind</span>"))
    }

    @Test func theCardSaysHowSectionsAreOrdered() throws {
        try insert(0..<5) { "group \($0)" }
        for (order, words) in [
            (SectionOrder.byFirstRow, "first row"), (.byName(descending: true), "name, descending"),
            (.byName(.localized("ja")), "name, localized=ja"), (.byCount(), "count, descending"),
            (.byCount(descending: false), "count, ascending"),
        ] {
            var definition = Self.byGroup
            definition.sectionOrder = order
            try open(definition)
            #expect(try page().contains("<dt>section</dt><dd>group, ordered by \(words)</dd>"), "\(words)")
        }
    }

    @Test func theStateOfACacheTellsThatItIsMaintainedAndLocked() throws {
        try insert(0..<5) { "group \($0)" }
        try open()
        try container.setMaintained(true, cacheNamed: "by group")
        try container.setLocked(true, cacheNamed: "by group")
        let state = "fresh, maintained, locked"
        #expect(try page().contains("<h2>by group <span class=\"state good\">\(state)</span></h2>"))
        #expect(try CacheSummary.all(of: container).map(\.state) == [state])
    }

    @Test func sectionsByABooleanAreCalledFalseAndTrue() throws {
        let folder = TemporaryFolder()
        let model = Model(entities: [Entity("Book", [AttributeDescription("isLent", .boolean)])])
        let container = try PersistentContainer(
            at: URL(fileURLWithPath: folder.path), model: model, durability: .none)
        let writer = try BatchWriter(container, entity: "Book", author: "test")
        for isLent in [true, false, true] { try writer.insert([.boolean(isLent)]) }
        try writer.commit()
        let byState = OrderDefinition(entity: "Book", sortKeys: [SortKey("isLent")], sectionKey: .attribute("isLent"))
        try container.withOrder(byState, .init(cacheName: "by state")) { _ in }
        let page = try InspectionReport(of: container, .init()).html().page
        #expect(page.contains("<title>false: 1</title>") && page.contains("<title>true: 2</title>"))
    }

    /// If an order has very many sections, not all are read. A column is the mean of its sections.
    @Test func veryManySectionsAreDrawnAsMeans() throws {
        // The first half of the sections has one row each, the second half three.
        try insert(0..<42_000) { "g\(100_000 + ($0 < 10_500 ? $0 : 10_500 + ($0 - 10_500) / 3))" }
        try open()
        let page = try page()
        #expect(
            page.contains("42,000 in 21,000 sections")
                && page.contains("a column is the mean of up to 88 sections"))
        #expect(page.contains("<title>88 sections from g100000: 1.0 rows each</title>"))
        #expect(page.contains("<title>56 sections from g120944: 3.0 rows each</title>"))
        #expect(!page.contains("Largest sections"))
    }

    @Test func reportsOfAnUnchangedStoreAreIdentical() throws {
        try insert(0..<20) { "g\($0)" }
        try open()
        #expect(try page() == page())
    }

    /// The hostile text is the name of a cache, and a value.
    @Test func markupInTheStoreIsShownAsText() throws {
        try insert(0..<4) { _ in Self.hostile }
        try open(Self.byGroup, Self.hostile)
        try insert(5..<6) { _ in Self.hostile + "2" }
        try open(Self.byGroup, Self.hostile)
        let page = try page()
        #expect(!page.utf8.contains("<script".utf8) && !page.utf8.contains("<meta http-equiv=refresh".utf8))
        #expect(page.contains("&lt;script&gt;alert") && page.utf8.contains("&lt;meta".utf8))
    }

    @Test func theReportLoadsNoOtherFile() throws {
        try insert(0..<4) { _ in "a" }
        try open()
        let page = try page()
        for address in ["http:", "https:", "src=", "@import", "url("] { #expect(!page.contains(address), "\(address)") }
        #expect(page.contains("default-src 'none'"))
    }

    @Test func aVerifiedCacheIsMarkedAsVerified() throws {
        try insert(0..<4) { _ in "a" }
        try open()
        var options = InspectionReport.Options()
        options.verifies = true
        #expect(try page(options).contains("verified: it agrees with the records"))
        #expect(try !page().contains("verified"))
    }

    @Test func aCacheWithASectionFunctionIsReportedAsNotVerifiable() throws {
        try insert(0..<4) { _ in "a" }
        var definition = Self.byGroup
        definition.sectionKey = .computed("length", version: 1) { (object: ManagedObject) in "\(object["group"])" }
        try open(definition)
        var options = InspectionReport.Options()
        options.verifies = true
        #expect(try page(options).contains("it cannot be compared with the records"))
    }

    @Test func manySectionsAreDrawnInFewColumns() throws {
        try insert(0..<3000) { "group \($0)" }
        try open()
        let page = try page()
        #expect(page.contains("a column is the largest of up to 13 sections"))
        #expect(page.utf8.count < 100_000)
    }

    /// After the history is deleted, the log no longer has the last change.
    @Test func theReportOmitsALastChangeThatTheLogHasLost() throws {
        try insert(0..<4) { _ in "a" }
        try open()
        try insert(5..<6) { _ in "a" }
        try open()
        #expect(try page().contains("Last change"))
        try container.newContext().deleteHistory(before: 100)
        #expect(try !page().contains("Last change"))
    }

    @Test(.enabled(if: browser != nil)) func aBrowserShowsMarkupInTheStoreAsText() throws {
        try insert(0..<4) { _ in Self.hostile }
        try open(Self.byGroup, Self.hostile)
        let file = folder.path + ".html"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try page().write(toFile: file, atomically: true, encoding: .utf8)
        let (status, output) = try TemporaryFolder.run(
            "timeout",
            [
                "60", try #require(Self.browser), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                "file://" + file,
            ])
        #expect(status == 0)
        #expect(!output.contains("<script") && output.contains("&lt;script&gt;alert"))
    }

    private static let browser = ["/usr/bin/chromium", "/usr/bin/google-chrome"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }
}
