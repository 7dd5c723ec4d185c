@testable import FetchIndexLMDB
import Foundation
import FetchIndexTestSupport
import Testing

@Suite struct EnvironmentTests {
    let folder = TemporaryFolder()

    func open() throws -> (Environment, Table, Table) {
        let environment = try Environment.open(at: folder.path)
        let tables = try environment.tables(
            [TableDescription("bytes"), TableDescription("numbers", .integers)], creating: true)
        return (environment, tables[0], tables[1])
    }

    @Test func onlyCommittedValuesAreRead() throws {
        let (environment, bytes, _) = try open()
        let key: [UInt8] = [1, 2], value: [UInt8] = [3]
        do {
            let transaction = try environment.beginWrite()
            try transaction.view.put(value.span.bytes, for: key.span.bytes, in: bytes)
        }
        do {
            let reader = try environment.beginRead()
            let isFound = try reader.view.get(key.span.bytes, in: bytes) { _ in }
            #expect(!isFound)
        }

        let transaction = try environment.beginWrite()
        try transaction.view.put(value.span.bytes, for: key.span.bytes, in: bytes)
        try transaction.commit()
        let reader = try environment.beginRead()
        let isFound = try reader.view.get(key.span.bytes, in: bytes) { found in
            #expect(found.byteCount == 1)
            #expect(found.unsafeLoad(as: UInt8.self) == 3)
        }
        #expect(isFound)
    }

    /// The first page of each value states a wrong number of pages. If LMDB deleted such a value, it would free that
    /// many pages: four billion, which could take all memory; or three, the last of which is a page of another value.
    @Test(arguments: [UInt32.max, 3]) func aLongValueWhosePagesAreMiscountedIsNotDeleted(count: UInt32) throws {
        let value = [UInt8](repeating: 7, count: 5000)
        do {
            let (environment, _, numbers) = try open()
            let transaction = try environment.beginWrite()
            for key in 1...3 as ClosedRange<UInt64> {
                try transaction.view.put(value.span.bytes, for: key, in: numbers)
            }
            try transaction.commit()
        }
        let file = URL(fileURLWithPath: folder.path + "/data.mdb")
        var data = try Data(contentsOf: file)
        // A run of overflow pages begins with a header, which ends with the flags and the number of pages.
        let header = PageLayout.linked.headerLength
        for page in stride(from: 2 * 4096, to: data.count, by: 4096)
        where data[page + header - 6] == 4 && data[page + header] == 7 {
            withUnsafeBytes(of: count.littleEndian) {
                data.replaceSubrange(page + header - 4..<page + header, with: $0)
            }
        }
        try data.write(to: file)
        let (environment, _, numbers) = try open()
        let transaction = try environment.beginWrite()
        try transaction.view.withCursor(on: numbers) { cursor in
            #expect(try cursor.seekToFirst())
            do {
                try cursor.deleteCurrent()
                Issue.record("the value was deleted")
            } catch let error as LMDBError {
                #expect(error == .corrupted)
            }
        }
    }

    /// If a value is shortened in the transaction that wrote it, LMDB keeps all overflow pages of the value. Having
    /// more pages than needed isn't taken for damage.
    @Test(arguments: [5000, 4081, 3000], [false, true])
    func aShortenedLongValueIsDeleted(length: Int, isCommitted: Bool) throws {
        let (environment, _, numbers) = try open()
        var writer = try environment.beginWrite()
        for value in [20_000, length].map({ [UInt8](repeating: 7, count: $0) }) {
            for key in 1...3 as ClosedRange<UInt64> { try writer.view.put(value.span.bytes, for: key, in: numbers) }
        }
        if isCommitted {
            try writer.commit()
            writer = try environment.beginWrite()
        }
        try writer.view.withCursor(on: numbers) { cursor in
            #expect(try cursor.seekToFirst())
            try cursor.deleteCurrent()
        }
        #expect(try writer.view.statistics(of: numbers).entries == 2)
        try writer.commit()
    }

    /// After a write of a transaction has failed because the map is full, a further use of the transaction throws, and
    /// the error isn't called damage.
    @Test func aTransactionThatFilledTheMapCannotBeUsedAnyMore() throws {
        var options = Environment.Options()
        options.mapSize = 1 << 18
        let environment = try Environment.open(at: folder.path, options: options)
        let table = try environment.tables([TableDescription("numbers", .integers)], creating: true)[0]
        let value = [UInt8](repeating: 1, count: 2000)
        let transaction = try environment.beginWrite()
        var key: UInt64 = 0
        #expect(throws: MapFull.self) {
            while key < 1000 {
                key += 1
                try transaction.view.put(value.span.bytes, for: key, in: table)
            }
        }
        #expect(key < 1000)
        do {
            _ = try transaction.view.get(1 as UInt64, in: table) { _ in }
            try transaction.commit()
            Issue.record("a transaction that failed was committed")
        } catch let error as LMDBError {
            #expect(!error.isDamage)
            #expect(error.description == "an earlier error ended the transaction")
        }
    }

    @Test func integerKeysAreOrderedByValue() throws {
        let (environment, _, numbers) = try open()
        let transaction = try environment.beginWrite()
        let keys: [UInt64] = [1 << 40, 7, 300, 0]
        let value: [UInt8] = [0]
        for key in keys { try transaction.view.put(value.span.bytes, for: key, in: numbers) }
        let walked = try transaction.view.withCursor(on: numbers) { cursor in
            var walked: [UInt64] = []
            var isAtEntry = try cursor.seekToFirst()
            while isAtEntry {
                walked.append(cursor.integerKey)
                isAtEntry = try cursor.seekToNext()
            }
            return walked
        }
        #expect(walked == keys.sorted())
    }

    @Test func aReaderStillReadsItsStateAfterAWriterCommits() throws {
        let (environment, _, numbers) = try open()
        let old: [UInt8] = [1], new: [UInt8] = [2]
        let first = try environment.beginWrite()
        try first.view.put(old.span.bytes, for: 1, in: numbers)
        try first.commit()
        let reader = try environment.beginRead()
        let second = try environment.beginWrite()
        try second.view.put(new.span.bytes, for: 1, in: numbers)
        try second.commit()
        _ = try reader.view.get(1, in: numbers) { #expect($0.unsafeLoad(as: UInt8.self) == 1) }
        #expect(try environment.readers().contains { $0.transaction == reader.identifier })
    }

    @Test func twoOpeningsOfAPathReturnTheSameEnvironment() throws {
        var first: Environment? = try Environment.open(at: folder.path)
        let second = try Environment.open(at: folder.path + "/.")
        #expect(first === second)
        first = nil
        #expect(try second.readers().isEmpty)
        for _ in 0..<20 { _ = try Environment.open(at: folder.path + "-other") }
        try FileManager.default.removeItem(atPath: folder.path + "-other")
    }

    @Test func openingAMissingFolderReadOnlyOrAForeignFileThrows() throws {
        var options = Environment.Options()
        options.isReadOnly = true
        #expect(throws: LMDBError.self) { try Environment.open(at: folder.path, options: options) }
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data(repeating: 65, count: 10_000).write(to: URL(fileURLWithPath: folder.path + "/data.mdb"))
        #expect(throws: DataFileError.self) { try Environment.open(at: folder.path) }
    }
}
