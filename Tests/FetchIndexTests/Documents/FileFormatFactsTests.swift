import Foundation
import Testing

@testable import FetchIndexRecords

/// The article on the file format lists all files of a store, and a comment lists all versions of the format.
@Suite struct FileFormatFactsTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test func theArticleListsTheFilesOfAStore() throws {
        let article = try text("Sources/FetchIndex/FetchIndex.docc/Inside/FileFormat.md")
        let section = try #require(article.components(separatedBy: "## Files\n").last)
            .components(separatedBy: "\n## ")[0]
        let listed = section.components(separatedBy: "\n").compactMap { line -> String? in
            guard line.hasPrefix("| `") else { return nil }
            return line.components(separatedBy: "`")[1]
        }
        #expect(Set(listed) == Set(StoreFiles.beside + [StoreFiles.data, StoreFiles.lock]))
    }

    @Test func theLayoutCommentListsEveryFormatVersion() throws {
        let layout = try text("Sources/Records/Layout/StoreLayout.swift")
        let versions = layout.components(separatedBy: "\n").compactMap { line -> UInt32? in
            guard line.hasPrefix("/// - "), let colon = line.firstIndex(of: ":") else { return nil }
            return UInt32(line[..<colon].dropFirst(6))
        }
        #expect(versions == Array(1...StoreLayout.version))
    }
}
