@testable import FetchIndexLMDB
import FetchIndexPlatform
import FetchIndexTestSupport
import Foundation
import Testing

/// A transaction whose changed pages are written to the file early reads, commits and rolls back as any other.
@Suite struct WriteMemoryTests {
    private let folder = TemporaryFolder()
    private let environment: Environment
    private let tables: [Table]

    init() throws {
        environment = try Environment.open(at: folder.path)
        tables = try environment.tables(
            [TableDescription("bytes"), TableDescription("numbers", .integers)], creating: true)
    }

    private typealias Contents = [[UInt64: [UInt8]]]

    private func key(_ number: UInt64) -> [UInt8] { Array("key \(number)".utf8) }

    private func contents(_ view: TransactionView) throws -> Contents {
        var contents: Contents = [[:], [:]]
        for number in 0..<400 as Range<UInt64> {
            _ = try view.get(key(number), in: tables[0]) { contents[0][number] = [UInt8](copying: $0) }
            _ = try view.get(number, in: tables[1]) { contents[1][number] = [UInt8](copying: $0) }
        }
        return contents
    }

    private func change(_ view: TransactionView, _ contents: inout Contents, _ random: inout SeededGenerator) throws {
        let (table, number) = (Int.random(in: 0...1, using: &random), UInt64.random(in: 0..<400, using: &random))
        if Int.random(in: 0..<4, using: &random) == 0 {
            let isDeleted =
                table == 0 ? try view.delete(key(number), in: tables[0]) : try view.delete(number, in: tables[1])
            #expect(isDeleted == (contents[table].removeValue(forKey: number) != nil))
            return
        }
        // Some values are longer than a page.
        let count = Int.random(in: 0..<10, using: &random) == 0 ? 9_000 : Int.random(in: 1..<300, using: &random)
        let value = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: count)
        if table == 0 {
            try view.put(value, for: key(number), in: tables[0])
        } else {
            try view.put(value.span.bytes, for: number, in: tables[1])
        }
        contents[table][number] = value
    }

    @Test(arguments: 0..<8 as Range<UInt64>, [0, 1 << 16, 128 << 20])
    func aTransactionHasExactlyItsChanges(seed: UInt64, memory: Int) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 1000)
        var committed: Contents = [[:], [:]]
        for round in 0..<12 {
            let comment: Comment = "seed \(seed), memory \(memory), round \(round)"
            var written = committed
            var transaction = try environment.beginWrite()
            for _ in 0..<Int.random(in: 0..<300, using: &random) {
                try change(transaction.view, &written, &random)
                if Int.random(in: 0..<10, using: &random) == 0 { try transaction.limitMemory(to: memory) }
            }
            #expect(try contents(transaction.view) == written, comment)
            #expect(try contents(environment.beginRead().view) == committed, comment)
            if Bool.random(using: &random) {
                try transaction.commit()
                committed = written
            } else {
                _ = consume transaction
            }
            #expect(try contents(environment.beginRead().view) == committed, comment)
            let report = try Environment.checkPages(
                at: folder.path, expecting: [TableDescription("bytes"), TableDescription("numbers", .integers)])
            #expect(report.defects.isEmpty, comment)
        }
    }

    /// A cursor keeps its place and its value while pages are written.
    @Test func aCursorStaysAtItsValue() throws {
        var transaction = try environment.beginWrite()
        for number in 0..<2_000 as Range<UInt64> {
            try transaction.view.put(
                [UInt8](repeating: UInt8(number % 251), count: 100).span.bytes, for: number, in: tables[1])
        }
        let view = transaction.view
        var cursor = try Cursor(view, tables[1])
        #expect(try cursor.seek(toKeyFrom: 1_000))
        try transaction.limitMemory(to: 0)
        #expect([UInt8](copying: cursor.value) == [UInt8](repeating: UInt8(1_000 % 251), count: 100))
        let replacement: [UInt8] = [1, 2, 3]
        try cursor.put(replacement.span.bytes, for: 1_000)
        var changed: [UInt8] = []
        _ = try view.get(1_000, in: tables[1]) { changed = [UInt8](copying: $0) }
        #expect(changed == replacement)
    }

    /// LMDB alone keeps all pages of this transaction in memory until the commit: 10,000 pages of 4 KiB.
    @Test(arguments: [true, false]) func pagesBeyondTheLimitAreInTheFile(isLimited: Bool) throws {
        var transaction = try environment.beginWrite()
        let value = [UInt8](repeating: 7, count: 3_000)
        for number in 0..<10_000 as Range<UInt64> {
            try transaction.view.put(value.span.bytes, for: number, in: tables[1])
            if isLimited, number % 100 == 0 { try transaction.limitMemory(to: 4 << 20) }
        }
        #expect((try fileLength() > 9_000 * 3_000) == isLimited)
        try transaction.commit()
        #expect(try environment.beginRead().view.statistics(of: tables[1]).entries == 10_000)
    }

    private func fileLength() throws -> Int {
        try #require(
            FileManager.default.attributesOfItem(atPath: folder.path + "/data.mdb")[.size] as? Int)
    }
}
