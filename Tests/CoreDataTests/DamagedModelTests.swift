import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexInspection
import FetchIndexTestSupport
import Foundation
import Testing

/// Models that are cut off or changed are read, or refused with an error.
@Suite struct DamagedModelTests {
    private static let library = Bundle.module.url(forResource: "Models", withExtension: nil)!
        .appendingPathComponent("Library.xcdatamodeld")
    private let folder = TemporaryFolder()

    private func file(_ name: String, _ text: String) throws -> URL {
        let url = URL(fileURLWithPath: folder.path).appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
        return url
    }

    /// A store that is cut off or changed is read, or refused with an error; a copy of it doesn't stay.
    @Test(arguments: 0..<2 as Range<UInt64>) func damagedStoresDoNotTrap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let original = [UInt8](
            try Data(contentsOf: Self.library.deletingLastPathComponent().appendingPathComponent("Library.sqlite")))
        let url = try file("App.store", "")
        for round in 0..<150 {
            var bytes = original
            if round % 4 == 0 {
                bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
            } else {
                for _ in 0..<Int.random(in: 1...10, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
            }
            try Data(bytes).write(to: url)
            do { _ = try CoreDataModel(contentsOf: url).model } catch { #expect(!"\(error)".isEmpty) }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["App.store"])
    }

    /// An archive that is cut off or changed is read, or refused with an error.
    @Test(arguments: 0..<4 as Range<UInt64>) func damagedArchivesDoNotTrap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let file = Self.library.deletingLastPathComponent().appendingPathComponent("Library.momd/Library 2.mom")
        let original = [UInt8](try Data(contentsOf: file))
        let url = try self.file("a.mom", "")
        for round in 0..<500 {
            var bytes = original
            if round % 4 == 0 {
                bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
            } else {
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
            }
            try Data(bytes).write(to: url)
            do {
                let model = try CoreDataModel(contentsOf: url).model
                _ = SwiftClasses(model).source
                _ = try PersistentContainer(temporaryWith: model)
            } catch { #expect(!"\(error)".isEmpty) }
        }
    }

    /// A file that is cut off or changed is read, or refused with an error.
    @Test(arguments: 0..<4 as Range<UInt64>) func damagedModelsDoNotTrap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let contents = Self.library.appendingPathComponent("Library 2.xcdatamodel/contents")
        let original = [UInt8](try Data(contentsOf: contents))
        let words = ["name", "YES", "Book", "Work", "\"", "<entity ", "/>", "Integer 16", "&#0;", "\u{FFFF}", "toMany"]
        let url = try file("contents", "")
        for round in 0..<300 {
            var bytes = original
            if round % 4 == 0 {
                bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
            } else {
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    let start = Int.random(in: 0..<bytes.count, using: &random)
                    let word = Array((words.randomElement(using: &random) ?? "").utf8)
                    let end = min(start + Int.random(in: 0...8, using: &random), bytes.count)
                    bytes.replaceSubrange(
                        start..<end,
                        with: Bool.random(using: &random) ? word : [UInt8.random(in: 0...255, using: &random)])
                }
            }
            try Data(bytes).write(to: url)
            do {
                let model = try CoreDataModel(contentsOf: url).model
                _ = SwiftClasses(model).source
                _ = try PersistentContainer(temporaryWith: model)
            } catch { #expect(!"\(error)".isEmpty) }
        }
    }
}
