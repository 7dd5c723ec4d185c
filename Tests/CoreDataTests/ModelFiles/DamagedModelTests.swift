import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexInspection
import FetchIndexTestSupport
import Foundation
import Testing

/// Models that are cut off or changed are read, or refused with an error.
@Suite struct DamagedModelTests {
    private let files = ModelFiles()

    /// Ten lists of ten references each, nine deep, would be a billion elements if they were expanded.
    @Test func sharedReferencesAreNotExpanded() throws {
        // Object 0 is the text "$objects", 1 a dictionary with it and object 2; each of 2 to 10 is a list of ten
        // references to the next.
        var objects: [[UInt8]] = [[0x58] + Array("$objects".utf8), [0xD1, 0, 2]]
        for number in 2...10 { objects.append([0xAA] + [UInt8](repeating: UInt8(number + 1), count: 10)) }
        objects.append([0x10, 1])
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets.append(UInt8(bytes.count))
            bytes += object
        }
        let table = bytes.count
        bytes += offsets + [0, 0, 0, 0, 0, 0, 1, 1]
        for number in [objects.count, 1, table] { withUnsafeBytes(of: UInt64(number).bigEndian) { bytes += $0 } }
        let url = try files.file("a.mom", "")
        try Data(bytes).write(to: url)
        #expect(throws: CoreDataFileError.self) { try CoreDataModel(contentsOf: url) }
    }

    /// A store that is cut off or changed is read, or refused with an error; a copy of it doesn't stay.
    @Test(arguments: 0..<2 as Range<UInt64>) func damagedStoresDoNotTrap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let original = [UInt8](
            try Data(
                contentsOf: ModelFiles.library.deletingLastPathComponent().appendingPathComponent("Library.sqlite")))
        let url = try files.file("App.store", "")
        for round in 0..<150 {
            try Data(original.damaged(round, &random)).write(to: url)
            do { _ = try CoreDataModel(contentsOf: url).model } catch { #expect(!"\(error)".isEmpty) }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: files.folder.path) == ["App.store"])
    }

    /// An archive that is cut off or changed is read, or refused with an error.
    @Test(arguments: 0..<4 as Range<UInt64>) func damagedArchivesDoNotTrap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let file = ModelFiles.library.deletingLastPathComponent().appendingPathComponent("Library.momd/Library 2.mom")
        let original = [UInt8](try Data(contentsOf: file))
        let url = try files.file("a.mom", "")
        for round in 0..<500 {
            try Data(original.damaged(round, &random)).write(to: url)
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
        let contents = ModelFiles.library.appendingPathComponent("Library 2.xcdatamodel/contents")
        let original = [UInt8](try Data(contentsOf: contents))
        let words = ["name", "YES", "Book", "Work", "\"", "<entity ", "/>", "Integer 16", "&#0;", "\u{FFFF}", "toMany"]
        let url = try files.file("contents", "")
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
