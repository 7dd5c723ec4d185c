import Foundation
import FetchIndexFuzzBodies
import Testing

/// The inputs that are stored in `Tests/Fuzz/Corpus` run without a trap or a contradiction.
@Suite struct CorpusTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fuzz/Corpus")

    @Test(arguments: FuzzBody.allCases) func everyStoredFuzzInputRunsWithoutACrash(body: FuzzBody) throws {
        let folder = Self.folder.appendingPathComponent(body.rawValue)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }
        #expect(names.count >= 20, "\(folder.path)")
        for name in names.sorted() { body.run([UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))) }
    }
}
