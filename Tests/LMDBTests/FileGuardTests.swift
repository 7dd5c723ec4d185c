import FetchIndexPlatform
@testable import FetchIndexLMDB
import Foundation
import FetchIndexTestSupport
import Testing

/// Damaged and foreign files in an environment's folder are refused before LMDB opens them.
@Suite struct FileGuardTests {
    let folder = TemporaryFolder()

    private var dataFile: String { folder.path + "/data.mdb" }
    private var lockFile: String { folder.path + "/lock.mdb" }

    /// Writes an environment and closes it.
    init() throws {
        let environment = try Environment.open(at: folder.path)
        let table = try environment.tables([TableDescription("bytes")], creating: true)[0]
        for number in 0..<4 as Range<UInt8> {
            let transaction = try environment.beginWrite()
            let key = [number], value = [UInt8](repeating: number, count: 3000)
            try transaction.view.put(value.span.bytes, for: key.span.bytes, in: table)
            try transaction.commit()
        }
    }

    private func refusal() -> DataFileError? {
        var options = Environment.Options()
        options.creates = false
        do {
            _ = try Environment.open(at: folder.path, options: options)
            return nil
        } catch {
            return error as? DataFileError
        }
    }

    private func data() throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: dataFile))) }

    private func writeData(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: dataFile)) }

    @Test func foldersPipesAndLinksInPlaceOfAFileAreRefused() throws {
        let files = FileManager.default
        for path in [dataFile, lockFile] {
            let name = path.hasSuffix("data.mdb") ? "data.mdb" : "lock.mdb"
            try files.moveItem(atPath: path, toPath: folder.path + "/kept")
            try files.createDirectory(atPath: path, withIntermediateDirectories: false)
            #expect(refusal() == .foreign("its \(name) is a folder"))
            try files.removeItem(atPath: path)
            try #require(mkfifo(path, 0o600) == 0)
            #expect(refusal() == .foreign("its \(name) is a pipe, a socket or a device"))
            try files.removeItem(atPath: path)
            try files.createSymbolicLink(atPath: path, withDestinationPath: folder.path + "/kept")
            #expect(refusal() == .foreign("its \(name) is a symbolic link"))
            try files.removeItem(atPath: path)
            try files.createSymbolicLink(atPath: path, withDestinationPath: "/nowhere")
            #expect(refusal() == .foreign("its \(name) is a symbolic link"))
            try files.removeItem(atPath: path)
            try files.moveItem(atPath: folder.path + "/kept", toPath: path)
        }
        #expect(refusal() == nil)
    }

    /// If the first transaction of a new file fails, LMDB leaves that transaction's trees in meta page 1, and goes on
    /// with page 0. Such a file can be opened.
    @Test func aFileWhoseFirstTransactionFailedCanBeOpened() throws {
        let new = TemporaryFolder()
        _ = try Environment.open(at: new.path).beginWrite()
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: new.path + "/data.mdb")).prefix(2 * 4096))
        let written = try data()
        bytes.replaceSubrange(4096 + 32..<4096 + 136, with: written[4096 + 32..<4096 + 136])
        try writeData(bytes)
        #expect(refusal() == nil)
        // If page 1 also has the last page of a committed state, its transaction number 0 must be damaged.
        bytes.replaceSubrange(4096 + 136..<4096 + 144, with: written[4096 + 136..<4096 + 144])
        try writeData(bytes)
        #expect(
            refusal()
                == .damaged(
                    "the first pages of its data.mdb belong to the transactions 0 and 0, which do not follow each other"
                ))
    }

    @Test func theFolderOfAnEnvironmentMayBeASymbolicLink() throws {
        let link = folder.path + "-link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path)
        defer { try? FileManager.default.removeItem(atPath: link) }
        #expect(try Environment.open(at: link).path == Environment.open(at: folder.path).path)
    }

    @Test func filesOfOtherProgramsAndOfOtherLMDBVersionsAreRefused() throws {
        let whole = try data()
        try writeData(Array("SQLite format 3".utf8) + [UInt8](repeating: 0, count: 9000))
        #expect(refusal() == .foreign("its data.mdb is not an LMDB file, or its first pages are damaged"))
        for page in 0...1 {
            var bytes = whole
            bytes[page * 4096 + 20] = 2
            try writeData(bytes)
            #expect(refusal() == .foreign("its data.mdb was written by another version of LMDB"))
        }
    }

    @Test func damagedMetaPagesAreRefused() throws {
        let whole = try data()
        guard let file = try DataFile(inFolder: folder.path), let metas = try MetaPage.both(of: file) else {
            Issue.record("data.mdb is missing")
            return
        }
        let newest = metas[0].transaction > metas[1].transaction ? 0 : 4096
        // The offsets are those of a meta page's page size (40); flags, depth and root of the free list (44, 46, 80);
        // flags, depth and root of the main tree (92, 94, 128); last page (136); and transaction (144).
        let lies: [(Int, [UInt8])] = [
            (40, [0, 0, 0, 0]), (40, [0, 16, 1, 0]), (40, [0, 0, 1, 0]), (44, [4]), (46, [40]), (46, [0]),
            (80, [1, 0, 0, 0, 0, 0, 0, 0]), (80, [0, 0, 0, 0, 0, 1, 0, 0]), (92, [4]), (92, [8]), (94, [33]),
            (128, [0, 0, 0, 0, 0, 0, 0, 0]), (128, [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), (136, [200]),
            (136, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
            (136, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), (136, [0, 0]), (144, [9, 1]), (144, [8, 1]),
            (151, [0x80]),
        ]
        for (offset, bytes) in lies {
            var lying = whole
            lying.replaceSubrange(newest + offset..<newest + offset + bytes.count, with: bytes)
            try writeData(lying)
            #expect(refusal() != nil, "\(bytes) at \(offset)")
        }
        for page in 0...1 {
            try writeData(whole.enumerated().map { $0.offset / 4096 == page ? 0 : $0.element })
            #expect(refusal() != nil, "page \(page) is zeros")
        }
        try writeData(whole)
        #expect(refusal() == nil)
    }

    @Test func anEmptyFileBecomesAnEnvironmentOnlyIfCreationIsAllowed() throws {
        try writeData([])
        #expect(refusal() == .damaged("its data.mdb is cut off: it is shorter than two pages"))
        #expect(try data().isEmpty)
        #expect(try Environment.open(at: folder.path).information().usedPages == 2)
    }

    @Test func aFileMayLackItsLastPagesIfTheyAreFree() throws {
        try grow()
        guard let file = try DataFile(inFolder: folder.path), let metas = try MetaPage.both(of: file) else {
            Issue.record("data.mdb is missing")
            return
        }
        let pages = try UInt64(file.length() / 4096)
        #expect(pages < MetaPage.newest(of: metas).pageCount, "the last pages were never written")
        #expect(refusal() == nil)
        let report = try Environment.checkPages(at: folder.path, expecting: [TableDescription("bytes")])
        #expect(report.defects == [])
        // A file that lacks used pages is refused.
        try writeData(Array(try data().prefix(3 * 4096)))
        #expect(refusal() != nil)
    }

    /// Allocates many pages at the end of the file, and frees them in the same transaction.
    private func grow() throws {
        let environment = try Environment.open(at: folder.path)
        let table = try environment.tables([TableDescription("bytes")], creating: false)[0]
        for round in 0..<6 as Range<UInt8> {
            let transaction = try environment.beginWrite()
            let key: [UInt8] = [round % 4], value = [UInt8](repeating: round, count: 3000)
            try transaction.view.put(value.span.bytes, for: key.span.bytes, in: table)
            try transaction.commit()
        }
        let transaction = try environment.beginWrite()
        let key: [UInt8] = [9], value = [UInt8](repeating: 9, count: 400_000)
        try transaction.view.put(value.span.bytes, for: key.span.bytes, in: table)
        try transaction.view.delete(key.span.bytes, in: table)
        let small: [UInt8] = [1]
        try transaction.view.put(small.span.bytes, for: key.span.bytes, in: table)
        try transaction.commit()
    }

    @Test func aLockFileThatIsTooShortIsRefused() throws {
        try Data([UInt8](repeating: 1, count: 100)).write(to: URL(fileURLWithPath: lockFile))
        #expect(refusal()?.description.hasPrefix("its lock.mdb is not LMDB's") == true)
        // A longer file is accepted: LMDB recreates a lock file that no process holds.
        try Data([UInt8](repeating: 1, count: 5000)).write(to: URL(fileURLWithPath: lockFile))
        #expect(refusal() == nil)
    }

    /// If a started program inherited the descriptors, it would keep the files open, and the lock of the `NewFile`.
    @Test func openFilesAreMarkedToBeClosedInStartedPrograms() throws {
        let environment = try Environment.open(at: folder.path)
        let reader = try environment.beginRead()
        let copy = try NewFile(at: folder.path + "/copy")
        try environment.copy(.plain, to: copy.descriptor)
        var names: Set<String> = []
        for number in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            guard let descriptor = CInt(number),
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + number),
                target.hasPrefix(folder.path + "/")
            else { continue }
            names.insert(String(target.dropFirst(folder.path.count + 1)))
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0, "\(target)")
        }
        #expect(names == ["data.mdb", "lock.mdb", "copy.partial"])
        _ = consume reader
    }
}
