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
        let start = 4096 + PageLayout.linked.headerLength
        bytes.replaceSubrange(start + 16..<start + 120, with: written[start + 16..<start + 120])
        try writeData(bytes)
        #expect(refusal() == nil)
        // If page 1 also has the last page of a committed state, its transaction number 0 must be damaged.
        bytes.replaceSubrange(start + 120..<start + 128, with: written[start + 120..<start + 128])
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
            bytes[page * 4096 + PageLayout.linked.headerLength + 4] = 2
            try writeData(bytes)
            #expect(
                refusal() == .foreign("its data.mdb has data version 2, which neither LMDB 0.9 nor LMDB 1.0 writes"))
        }
    }

    /// The meta pages of this file are written as the other LMDB writes them.
    @Test func aFileOfTheOtherLMDBIsNamedAndNotTouched() throws {
        let other = PageLayout.linked == .version1 ? PageLayout.version3 : .version1
        let (header, start) = (PageLayout.linked.headerLength, other.headerLength)
        let whole = try data()
        var bytes = whole
        for page in [0, 4096] {
            bytes.replaceSubrange(page..<page + 4096, with: repeatElement(0, count: 4096))
            bytes[page + start - 6] = 8
            bytes.replaceSubrange(page + start..<page + start + 136, with: whole[page + header..<page + header + 136])
            bytes[page + start + 4] = UInt8(other.rawValue)
        }
        try writeData(bytes)
        try FileManager.default.removeItem(atPath: lockFile)
        #expect(refusal() == .otherVersion(other))
        let sentence = refusal()?.description ?? ""
        #expect(sentence.hasPrefix("its data.mdb has data version \(other.rawValue) of \(other.releases), but "))
        #expect(sentence.contains("LMDB \(LinkedLMDB.version), which writes version \(PageLayout.linked.rawValue)"))
        #expect(try data() == bytes)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["data.mdb"])
        bytes.replaceSubrange(4096..<8192, with: whole[4096..<8192])
        try writeData(bytes)
        #expect(refusal() == .damaged("the first two pages of its data.mdb have different data versions"))
    }

    @Test func damagedMetaPagesAreRefused() throws {
        let whole = try data()
        guard let file = try DataFile(inFolder: folder.path), let metas = try MetaPage.both(of: file) else {
            Issue.record("data.mdb is missing")
            return
        }
        let newest = metas[0].transaction > metas[1].transaction ? 0 : 4096
        // The offsets behind a meta page's header are those of the page size (24); flags, depth and root of the free
        // list (28, 30, 64); flags, depth and root of the main tree (76, 78, 112); last page (120); and transaction
        // (128).
        let lies: [(Int, [UInt8])] = [
            (24, [0, 0, 0, 0]), (24, [0, 16, 1, 0]), (24, [0, 0, 1, 0]), (28, [4]), (30, [40]), (30, [0]),
            (64, [1, 0, 0, 0, 0, 0, 0, 0]), (64, [0, 0, 0, 0, 0, 1, 0, 0]), (76, [4]), (76, [8]), (78, [33]),
            (112, [0, 0, 0, 0, 0, 0, 0, 0]), (112, [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), (120, [200]),
            (120, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
            (120, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), (120, [0, 0]), (128, [9, 1]), (128, [8, 1]),
            (135, [0x80]),
        ]
        for (offset, bytes) in lies {
            var lying = whole
            let start = newest + PageLayout.linked.headerLength + offset
            lying.replaceSubrange(start..<start + bytes.count, with: bytes)
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
