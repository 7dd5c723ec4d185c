@testable import FetchIndexLMDB
import FetchIndexPlatform
import FetchIndexTestSupport
import Foundation
import Testing

/// Read transactions share what they know of the map, of tables and of states, while others write.
@Suite struct SharedReadingTests {
    private let folder = TemporaryFolder()

    private func open() throws -> (Environment, [Table]) {
        let environment = try Environment.open(at: folder.path)
        let descriptions = [TableDescription("bytes"), TableDescription("numbers", .integers)]
        return (environment, try environment.tables(descriptions, creating: true))
    }

    /// The value of the key 2.
    private func value(_ view: TransactionView, _ table: Table) throws -> [UInt8]? {
        var found: [UInt8]?
        _ = try view.get([2], in: table) { found = [UInt8](copying: $0) }
        return found
    }

    /// A reader that began before a table was made doesn't have it; one that begins after that reads it.
    @Test func aTableThatIsMadeLaterIsReadByLaterTransactions() throws {
        let (environment, _) = try open()
        let before = try environment.beginRead()
        let later = try environment.tables([TableDescription("later")], creating: true)[0]
        let writer = try environment.beginWrite()
        try writer.view.put([1], for: [2], in: later)
        try writer.commit()
        let after = try environment.beginRead()
        #expect(try value(after.view, later) == [1])
        #expect(throws: LMDBError.tableNotFound) { try value(before.view, later) }
    }

    /// Reads while a thread commits and the map is moved between transactions.
    @Test func readersSeeWholeStatesWhileOthersCommit() throws {
        let (environment, tables) = try open()
        Thread.detachNewThread {
            for round in 0..<60 as Range<UInt64> {
                do {
                    let writer = try environment.beginWrite()
                    for number in 0..<60 as Range<UInt64> {
                        let value = withUnsafeBytes(of: round) { [UInt8]($0) } + [UInt8](repeating: 0, count: 300)
                        try writer.view.put(value.span.bytes, for: number, in: tables[1])
                    }
                    try writer.commit()
                } catch { Issue.record(error) }
                environment.releasePages()
            }
        }
        var last: UInt64 = 0
        let end = Date() + 60
        while last < 59, Date() < end {
            let reader = try environment.beginRead()
            var rounds: Set<UInt64> = []
            try reader.view.forEachEntry(in: tables[1]) {
                rounds.insert($0.value.unsafeLoadUnaligned(as: UInt64.self))
            }
            #expect(rounds.count <= 1)
            let round = rounds.first ?? 0
            #expect(round >= last)
            last = round
        }
        #expect(last == 59)
    }
}
