import Foundation
import Testing

/// Each Swift example of an article, or of a doc comment in Sources/FetchIndex, is contained in the code of this
/// folder's tests, so it compiles. `ReadmeTests` compiles the README's examples as a program.
@Suite struct SnippetTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test func everySnippetIsCompiled() throws {
        let files = FileManager.default
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let compiled = try files.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .map { Self.code(in: try String(contentsOf: $0, encoding: .utf8)) }
        var count = 0
        let snippets = try Self.snippets().flatMap { place, snippet in
            snippet.components(separatedBy: "\n\n").map { (place, $0) }
        }
        for (place, snippet) in snippets {
            let code = Self.code(in: snippet)
            if code.isEmpty { continue }
            count += 1
            #expect(compiled.contains { $0.contains(code) }, "\(place):\n\(code)")
        }
        #expect(count >= 25)
    }

    private static func snippets() throws -> [(place: String, snippet: String)] {
        var snippets: [(String, String)] = []
        let articles = try files(in: "Sources/FetchIndex/FetchIndex.docc", "md")
        for file in articles {
            let parts = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "```swift\n")
            for part in parts.dropFirst() {
                snippets.append((file.lastPathComponent, part.components(separatedBy: "```")[0]))
            }
        }
        for file in try files(in: "Sources/FetchIndex", "swift") {
            var snippet = ""
            for line in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n") + [""] {
                let trimmed = line.trimmingCharacters(in: .whitespaces)
                if trimmed.hasPrefix("///     ") {
                    snippet += trimmed.dropFirst(8) + "\n"
                } else if !snippet.isEmpty {
                    snippets.append((file.lastPathComponent, snippet))
                    snippet = ""
                }
            }
        }
        return snippets
    }

    private static func files(in folder: String, _ type: String) throws -> [URL] {
        let all = try FileManager.default.subpathsOfDirectory(atPath: root.appendingPathComponent(folder).path)
        return all.filter { $0.hasSuffix("." + type) }.sorted().map {
            root.appendingPathComponent(folder).appendingPathComponent($0)
        }
    }

    /// Returns the code of a text in one line, without comments and imports.
    private static func code(in text: String) -> String {
        let lines = text.components(separatedBy: "\n").compactMap { line -> String? in
            var code = line
            if let comment = code.range(of: "//") { code = String(code[..<comment.lowerBound]) }
            let words = code.split(separator: " ")
            return words.isEmpty || words[0] == "import" ? nil : words.joined(separator: " ")
        }
        return lines.joined(separator: " ").replacingOccurrences(of: "( ", with: "(")
    }
}
