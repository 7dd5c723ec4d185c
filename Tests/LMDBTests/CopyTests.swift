@testable import FetchIndexLMDB
import FetchIndexPlatform
import Foundation
import FetchIndexTestSupport
import Testing

/// New files that get their names when they are complete, copies of environments, and compaction.
@Suite struct CopyTests {
    let folder = TemporaryFolder()

    private func fill() throws -> Environment {
        let environment = try Environment.open(at: folder.path)
        let table = try environment.tables([TableDescription("numbers", .integers)], creating: true)[0]
        for round in 0..<3 {
            let transaction = try environment.beginWrite()
            for key in 0..<UInt64(2000) {
                let value = [UInt8](repeating: UInt8(round), count: 100)
                try transaction.view.put(value.span.bytes, for: key, in: table)
            }
            try transaction.commit()
        }
        return environment
    }

    @Test(arguments: [Environment.CopyKind.compact, .plain]) func aFullDiskFailsACopyButNotTheEnvironment(
        kind: Environment.CopyKind
    ) throws {
        let environment = try fill()
        let full = open("/dev/full", O_WRONLY)
        defer { close(full) }
        #expect(throws: LMDBError(rawValue: ENOSPC)) { try environment.copy(kind, to: full) }
        #expect(try environment.readers().allSatisfy { $0.transaction == nil })
        try environment.beginWrite().commit()
    }

    @Test func aNewFileGetsItsNameOnlyWhenItIsComplete() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let path = folder.path + "/file", bytes = Array("whole".utf8)
        let mask = umask(0)
        defer { umask(mask) }
        do {
            let file = try NewFile(at: path)
            try file.write(bytes.span.bytes)
            #expect(access(path, F_OK) != 0)
            #expect(access(path + ".partial", F_OK) == 0)
            #expect(throws: SystemError.busy) { _ = try NewFile(at: path).path }
        }
        #expect(access(path + ".partial", F_OK) != 0, "a file that wasn't kept is removed")
        // A partial file that was left is replaced, and the new file has the mode 600.
        try Data(repeating: 1, count: 100).write(to: URL(fileURLWithPath: path + ".partial"))
        let file = try NewFile(at: path)
        try file.write(bytes.span.bytes)
        try file.keep()
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(bytes))
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
    }

    @Test func aLinkInPlaceOfAPartialFileIsNotFollowed() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let path = folder.path + "/file", victim = folder.path + "/victim"
        try Data("precious".utf8).write(to: URL(fileURLWithPath: victim))
        symlink(victim, path + ".partial")
        #expect(throws: SystemError(rawValue: ELOOP)) { _ = try NewFile(at: path).path }
        unlink(path + ".partial")
        link(victim, path + ".partial")
        #expect(throws: SystemError.busy) { _ = try NewFile(at: path).path }
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious")
    }

    @Test func onlyAClosedEnvironmentIsCompacted() throws {
        var environment: Environment? = try fill()
        let used = try #require(try environment?.information().usedPages)
        #expect(throws: Environment.InUse.self) { try Environment.compact(at: folder.path) }
        environment = nil
        let compaction = try Environment.compact(at: folder.path)
        #expect(compaction.bytesBefore >= used * 4096)
        #expect(compaction.bytesAfter < compaction.bytesBefore)
        let opened = try Environment.open(at: folder.path)
        #expect(try opened.information().usedPages * 4096 == compaction.bytesAfter)
        let table = try opened.tables([TableDescription("numbers", .integers)], creating: false)[0]
        let reader = try opened.beginRead()
        #expect(try reader.view.statistics(of: table).entries == 2000)
        #expect(try reader.view.freePages().isEmpty)
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: folder.path)) == ["data.mdb", "lock.mdb"])
    }

    /// The meta pages count one page that is neither used nor free, as if LMDB had lost it.
    @Test func anEnvironmentWithALostPageCanBeCopiedPlainlyButNotCompacted() throws {
        var environment: Environment? = try fill()
        environment = nil
        let path = folder.path + "/data.mdb"
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        for page in 0..<2 {
            let offset = page * 4096 + PageLayout.linked.headerLength + 120
            bytes.withUnsafeMutableBytes { bytes in
                let last = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                bytes.storeBytes(of: last + 1, toByteOffset: offset, as: UInt64.self)
            }
        }
        bytes.append(Data(count: 4096))
        try bytes.write(to: URL(fileURLWithPath: path))
        #expect(throws: LMDBError.leaked) { try Environment.compact(at: folder.path) }
        environment = try Environment.open(at: folder.path)
        let copy = folder.path + "/copy"
        let file = try NewFile(at: copy)
        #expect(throws: LMDBError.leaked) { try environment?.copy(.compact, to: file.descriptor) }
        #expect(ftruncate(file.descriptor, 0) == 0)
        #expect(lseek(file.descriptor, 0, SEEK_SET) == 0)
        try environment?.copy(.plain, to: file.descriptor)
        try file.keep()
        #expect(try Data(contentsOf: URL(fileURLWithPath: copy)).count >= bytes.count)
    }
}
