import FetchIndexTestSupport
import Foundation
import Testing

/// The stops of the four walks through the source, which ReadingTheSource.md lists, are where it says.
@Suite struct FourWalksTests {
    private struct Stop {
        /// The type and its function, such as `StoreWriter.update` or `CacheEngine.open(_:_:in:writing:)`.
        let symbol: String
        /// The path of the file in Sources.
        let file: String
    }

    /// The stops of each walk, by the heading of its section.
    private func walks() throws -> [String: [Stop]] {
        var walks: [String: [Stop]] = [:]
        var heading = ""
        for line in try Repository.lines("Sources/FetchIndex/FetchIndex.docc/Inside/ReadingTheSource.md") {
            if line.hasPrefix("## ") { heading = String(line.dropFirst(3)) }
            if !heading.hasPrefix("From ") || !line.hasPrefix("| `") { continue }
            let cells = line.split(separator: "|").map { $0.filter { $0 != "`" }.trimmingCharacters(in: .whitespaces) }
            walks[heading, default: []].append(Stop(symbol: cells[0], file: cells[1]))
        }
        return walks
    }

    /// Whether a text declares a function, or an initializer, with these argument labels, if any are given.
    private func declares(_ function: Substring, _ labels: [Substring], in text: String) -> Bool {
        let declaration = function == "init" ? " init" : " func \(function)"
        return text.components(separatedBy: declaration).dropFirst().contains { rest in
            guard ["(", "<", "?("].contains(where: { rest.hasPrefix($0) }) else { return false }
            var words = rest.prefix { $0 != "{" }.split { !$0.isLetter && $0 != "_" }[...]
            return labels.allSatisfy { label in
                words = words.drop { $0 != label }
                return words.popFirst() != nil
            }
        }
    }

    @Test func eachStopOfAWalkIsInItsFile() throws {
        let walks = try walks()
        for stop in walks.values.joined() {
            let text = try Repository.text("Sources/" + stop.file)
            let names = stop.symbol.prefix { $0 != "(" }.split(separator: ".")
            let labels = stop.symbol.dropFirst(names.joined(separator: ".").count + 1).split(separator: ":").dropLast()
            try #require(names.count == 2)
            let isOfType = ["class", "enum", "extension", "struct"].contains { text.contains("\($0) \(names[0])") }
            #expect(isOfType, "\(stop.file) doesn't declare or extend \(names[0])")
            #expect(declares(names[1], Array(labels), in: text), "\(stop.symbol) isn't in \(stop.file)")
        }
        #expect(walks.count == 4 && walks.values.allSatisfy { $0.count > 9 })
    }
}
