import FetchIndex
import Foundation
import FetchIndexInspection
import FetchIndexInspectionReport
import FetchIndexTestSupport
import Testing

@testable import FetchIndexBenchmarkPage

/// Pages equal stored files. If FETCHINDEX_TEST_GOLDEN=FOLDER is set, the pages are written to that folder.
@Suite struct GoldenTests {
    private static func url(_ name: String) throws -> URL {
        try #require(Bundle.module.url(forResource: "Golden", withExtension: nil)).appendingPathComponent(name)
    }

    private func expect(_ page: String, _ name: String) throws {
        if let folder = ProcessInfo.processInfo.environment["FETCHINDEX_TEST_GOLDEN"] {
            try Data(page.utf8).write(to: URL(fileURLWithPath: folder).appendingPathComponent(name))
        }
        let golden = try String(contentsOf: Self.url(name), encoding: .utf8)
        if page == golden { return }
        let lines = zip(page.split(separator: "\n"), golden.split(separator: "\n"))
        let first = lines.first { $0 != $1 }
        Issue.record(
            "\(name) differs from the stored page, first in this line:\n\(first?.0 ?? "its end")\nThe stored line is:\n\(first?.1 ?? "")"
        )
    }

    /// The store has two caches: one was caught up and is behind again, and one has a hostile name and hits.
    @Test func theReportOfAStoreEqualsTheExpectedFile() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let store = URL(fileURLWithPath: folder.path + "/magazines")
        try FileManager.default.copyItem(at: Self.url("magazines"), to: store)
        let container = try PersistentContainer(at: store, isReadOnly: true)
        try expect(try InspectionReport(of: container).html().page, "report.html")
        // The second report is the same, since reports don't change the store.
        try expect(try InspectionReport(of: container).html().page, "report.html")
        #expect(try InspectionReport(of: container).livePage().contains("<title>magazines – caches, live</title>"))
        let card = try InspectionReport(of: container).cardHTML(ofCache: "by publisher")
        #expect(card.contains("<h2>by publisher <span class=\"state behind\">1 change behind</span></h2>"))
        #expect(try CacheSummary.all(of: container).map(\.state) == ["1 change behind", "4 changes behind"])
    }

    @Test func thePageOfABenchmarkEqualsTheExpectedFile() throws {
        let results = try Data(contentsOf: Self.url("results.json"))
        try expect(try BenchmarkPage(results: results).html(), "benchmark.html")
        #expect(throws: DecodingError.self) { try BenchmarkPage(results: Data("{}".utf8)) }
    }

    /// `Scripts/draw-pictures` draws the README's picture from the same run.
    @Test func theReadmesPictureIsOfTheStoredRun() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let results = try Data(contentsOf: root.appendingPathComponent("Benchmarks/Results/2026-11-26-full.json"))
        let page = try BenchmarkPage(results: results)
        let picture = try page.picture(of: "warm fetch", title: BenchmarkPage.pictureTitle)
        let file = root.appendingPathComponent("Sources/FetchIndex/FetchIndex.docc/Resources/warm-fetch.svg")
        #expect(try picture == String(contentsOf: file, encoding: .utf8))
        #expect(try page.picture(of: "an unknown question", title: "") == nil)
    }
}
