@testable import FetchIndexLMDB
import FetchIndexPlatform
import FetchIndexTestSupport
import Foundation
import Testing

/// A file of the other LMDB is converted with all entries, or stays as it is.
@Suite struct ConversionTests {
    private let folder = TemporaryFolder()

    private struct Stopped: Error {}

    init() throws { try OtherLMDBStore.write(to: folder.path) }

    private func names() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
    }

    /// The entries of all named tables, read without LMDB.
    private func entries() throws -> [String: [[UInt8]]] {
        let file = try MappedFile(inFolder: folder.path)
        var entries: [String: [[UInt8]]] = [:]
        for (name, tree) in file.tables {
            var cursor = PageCursor(file.pages, tree)
            var isAtEntry = try cursor.seekToFirst()
            while isAtEntry {
                let (key, value) = try cursor.entry()
                entries[name, default: []] += [[UInt8](key), [UInt8](value)]
                isAtEntry = try cursor.seekToNext()
            }
        }
        return entries
    }

    @Test func aConversionKeepsAllEntries() throws {
        let before = try entries()
        #expect(before.count == 6 && before.values.contains { $0.contains { $0.count > 5000 } })
        let conversion = try #require(try Environment.convert(at: folder.path, nil) { _ in })
        #expect(conversion.from == OtherLMDBStore.layout)
        #expect(try entries() == before)
        #expect(try names() == ["data.mdb", "data.mdb.before", "lock.mdb"])
        #expect(try Environment.open(at: folder.path).layout == .linked)
        #expect(try Environment.convert(at: folder.path, nil) { _ in } == nil, "it is converted already")
        let report = try Environment.checkPages(at: folder.path, expecting: [])
        #expect(report.defects == [])
    }

    /// `finish` runs just before the swap. In the second round the folder has no lock file.
    @Test(arguments: [false, true]) func aConversionThatStopsBeforeTheSwapLeavesTheOldFile(hasLockFile: Bool) throws {
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/data.mdb"))
        if hasLockFile {
            // The lock file of an old program.
            try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: folder.path + "/lock.mdb"))
        }
        #expect(throws: Stopped.self) { try Environment.convert(at: folder.path, nil) { _ in throw Stopped() } }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path + "/data.mdb")) == before)
        #expect(try names().subtracting(["lock.mdb"]) == ["data.mdb"])
        var options = Environment.Options()
        options.isReadOnly = true
        #expect(try Environment.open(at: folder.path, options: options).layout == OtherLMDBStore.layout)
        #expect(try Environment.convert(at: folder.path, nil) { _ in } != nil)
    }

    /// A conversion that was killed may have left the second name of the file, a lock file without a magic number, and
    /// an unfinished new file.
    @Test func whatAKilledConversionLeavesIsTakenOver() throws {
        let files = FileManager.default
        try files.linkItem(atPath: folder.path + "/data.mdb", toPath: folder.path + "/data.mdb.before")
        try files.createDirectory(atPath: folder.path + "/data.mdb.making", withIntermediateDirectories: false)
        try Data(repeating: 1, count: 9000).write(to: URL(fileURLWithPath: folder.path + "/data.mdb.making/data.mdb"))
        try Data(repeating: 0, count: 8192).write(to: URL(fileURLWithPath: folder.path + "/lock.mdb"))
        let before = try entries()
        #expect(try Environment.convert(at: folder.path, nil) { _ in } != nil)
        #expect(try entries() == before)
        #expect(try names() == ["data.mdb", "data.mdb.before", "lock.mdb"])
        #expect(throws: Environment.OldFileExists.self) {
            try files.removeItem(atPath: folder.path + "/data.mdb")
            let other = TemporaryFolder()
            try OtherLMDBStore.write(to: other.path)
            try files.moveItem(atPath: other.path + "/data.mdb", toPath: folder.path + "/data.mdb")
            _ = try Environment.convert(at: folder.path, nil) { _ in }
        }
    }

    /// If this process has the environment open, its locks on the lock file would be lost.
    @Test func anEnvironmentThatThisProcessHasOpenIsNotConverted() throws {
        var options = Environment.Options()
        options.isReadOnly = true
        let environment = try Environment.open(at: folder.path, options: options)
        #expect(throws: Environment.InUse.self) { try Environment.convert(at: folder.path, nil) { _ in } }
        #expect(throws: EnvironmentIsReadOnly.self) { try Environment.open(at: folder.path) }
        withExtendedLifetime(environment) {}
    }
}
