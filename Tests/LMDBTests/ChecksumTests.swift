@testable import FetchIndexLMDB
import FetchIndexPlatform
import FetchIndexTestSupport
import Foundation
import Testing

/// LMDB 1.0 writes a checksum into each page if a file has them, and FetchIndex compares it where it reads pages.
@Suite(.enabled(if: PageFormat.canHaveChecksums)) struct ChecksumTests {
    private let folder = TemporaryFolder()
    private static let descriptions = [TableDescription("bytes"), TableDescription("numbers", .integers)]

    private var file: URL { URL(fileURLWithPath: folder.path + "/data.mdb") }

    private func open() throws -> (Environment, [Table]) {
        var options = Environment.Options()
        options.hasPageChecksums = true
        let environment = try Environment.open(at: folder.path, options: options)
        return (environment, try environment.tables(Self.descriptions, creating: true))
    }

    private func fill(_ count: UInt64 = 400) throws {
        let (environment, tables) = try open()
        for _ in 0..<2 {
            let writer = try environment.beginWrite()
            for number in 0..<count {
                let value = [UInt8](repeating: UInt8(number % 251), count: number % 50 == 7 ? 9000 : 60)
                try writer.view.put(value, for: Array("key \(number)".utf8), in: tables[0])
                try writer.view.put(value.span.bytes, for: number, in: tables[1])
            }
            try writer.commit()
        }
    }

    /// The entries of both tables, read by a read transaction.
    private func read() throws -> [[UInt8]] {
        let (environment, tables) = try open()
        let reader = try environment.beginRead()
        var values: [[UInt8]] = []
        for table in tables { try reader.view.forEachEntry(in: table) { values.append([UInt8](copying: $0.value)) } }
        return values
    }

    private func check() throws -> PageReport {
        try Environment.checkPages(at: folder.path, expecting: Self.descriptions)
    }

    @Test func aNewFileHasChecksums() throws {
        try fill()
        #expect(try open().0.hasPageChecksums)
        #expect(try check().isWhole)
        #expect(try MappedFile(inFolder: folder.path).state.meta.format.hasChecksums)
    }

    /// A byte is changed at random places of pages. Reading gives the same values or throws, and if it throws, the check
    /// finds it.
    @Test(arguments: 1...3 as ClosedRange<UInt64>) func aChangedByteIsNoticedWhenItIsRead(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        try fill()
        let (whole, data) = (try read(), try Data(contentsOf: file))
        var thrown = 0
        for _ in 0..<150 {
            var damaged = data
            damaged[Int.random(in: 2 * 4096..<data.count, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
            try damaged.write(to: file)
            let isWhole = try? check().isWhole
            do {
                #expect(try read() == whole, "seed \(seed)")
            } catch {
                thrown += 1
                #expect(isWhole != true, "seed \(seed)")
            }
        }
        #expect(thrown > 50)
    }

    @Test func twoSwappedPagesAndAnOverflowPageOfZerosAreNoticed() throws {
        try fill()
        let data = try Data(contentsOf: file)
        let leaves = stride(from: 2 * 4096, to: data.count, by: 4096).filter { data[$0 + 18] == 2 }
        let runs = stride(from: 2 * 4096, to: data.count, by: 4096).filter { data[$0 + 18] == 4 && data[$0 + 20] == 3 }
        var swapped = data
        let (first, second) = (leaves[leaves.count - 2], leaves[leaves.count - 1])
        swapped.replaceSubrange(first..<first + 4096, with: data[second..<second + 4096])
        swapped.replaceSubrange(second..<second + 4096, with: data[first..<first + 4096])
        var zeroed = data
        for run in runs { zeroed.resetBytes(in: run + 4096..<run + 8192) }
        try #require(!runs.isEmpty)
        for (damaged, error) in [(swapped, LMDBError.corrupted), (zeroed, .wrongChecksum)] {
            try damaged.write(to: file)
            #expect(throws: error) { try read() }
            #expect(try !check().isWhole)
        }
    }

    @Test func compactAndPlainCopiesKeepTheChecksums() throws {
        try fill()
        let whole = try read()
        for kind in [Environment.CopyKind.compact, .plain] {
            let copy = TemporaryFolder()
            try FileManager.default.createDirectory(atPath: copy.path, withIntermediateDirectories: true)
            do {
                let new = try NewFile(at: copy.path + "/data.mdb")
                try Environment.open(at: folder.path).copy(kind, to: new.descriptor)
                try new.keep()
            }
            #expect(try Environment.checkPages(at: copy.path, expecting: Self.descriptions).isWhole)
            let environment = try Environment.open(at: copy.path)
            #expect(environment.hasPageChecksums)
            let tables = try environment.tables(Self.descriptions, creating: false)
            let writer = try environment.beginWrite()
            try writer.view.put([1], for: [2], in: tables[0])
            try writer.commit()
            #expect(try Environment.checkPages(at: copy.path, expecting: Self.descriptions).isWhole)
        }
        _ = try Environment.compact(at: folder.path)
        #expect(try read() == whole)
        #expect(try open().0.hasPageChecksums && check().isWhole)
    }

    /// If page 0 doesn't say that pages have checksums, LMDB would write pages without.
    @Test(arguments: [
        (0, "do not say so|does not say so"), (16, "page checksums of 16 bytes"), (9, "page checksums of 9 bytes"),
    ])
    func aDamagedLengthOfChecksumsIsRefused(length: UInt8, sentence: String) throws {
        try fill()
        var data = try Data(contentsOf: file)
        data[4094] = length
        try data.write(to: file)
        #expect {
            _ = try open()
        } throws: { error in
            sentence.split(separator: "|").contains { "\(error)".contains($0) }
        }
    }

    /// A file that was made without checksums stays so.
    @Test func aFileWithoutChecksumsIsWrittenWithout() throws {
        try OtherLMDBStore.write(to: folder.path, .version3)
        let environment = try Environment.open(at: folder.path)
        #expect(!environment.hasPageChecksums)
        let tables = try environment.tables([TableDescription("more")], creating: true)
        let writer = try environment.beginWrite()
        try writer.view.put([UInt8](repeating: 1, count: 5000), for: [2], in: tables[0])
        try writer.commit()
        #expect(try Environment.checkPages(at: folder.path, expecting: []).isWhole)
    }

    /// A file that grows while it's open is read with more pages than were known before.
    @Test func aFileThatGrowsIsRead() throws {
        let (environment, tables) = try open()
        for round in 1...6 {
            let writer = try environment.beginWrite()
            for number in 0..<UInt64(round * 400) {
                try writer.view.put([UInt8](repeating: 1, count: 700).span.bytes, for: number, in: tables[1])
            }
            try writer.commit()
            let reader = try environment.beginRead()
            var count = 0
            try reader.view.forEachEntry(in: tables[1]) { _ in count += 1 }
            #expect(count == round * 400)
        }
    }
}
