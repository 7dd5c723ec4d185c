import FetchIndexModels
import Foundation
@testable import FetchIndexLMDB
import FetchIndexRecords
import FetchIndexTestSupport
import Testing
import FetchIndexValues

/// Two meta pages without checksums say which state is the newest. If a bit of a transaction number is flipped, opening
/// the store must fail or show the newest commit. At most one bit is an exception: flipping it makes the newest page
/// look like a failed write.
@Suite struct NewestStateTests {
    private static let pageLength = 4096
    /// The offset of the transaction number in a meta page.
    private static let numberOffset = PageLayout.linked.headerLength + 128

    private func fill(_ path: String, commits: Int) throws {
        var options = Store.Options()
        options.durability = .none
        let store = try Store(at: path, model: TestStore.books, options: options)
        for _ in 0..<commits {
            let writer = try store.beginWrite()
            let record = try TestStore.books.entities[0].record([.string("book \(writer.commit)")])
            try writer.insert(0, record.span.bytes)
            try writer.commit()
        }
    }

    /// Flips each bit of the transaction numbers of both pages, with the newest state on the first and on the second
    /// page.
    @Test(arguments: [4, 5]) func atMostOneFlippedBitOfATransactionNumberHidesACommit(commits: Int) throws {
        let folder = TemporaryFolder()
        try fill(folder.path, commits: commits)
        let file = URL(fileURLWithPath: folder.path + "/data.mdb")
        let whole = try Data(contentsOf: file)
        var refused = 0
        var hidden: [String] = []
        for page in 0...1 {
            for bit in 0..<64 {
                var data = whole
                data[page * Self.pageLength + Self.numberOffset + bit / 8] ^= 1 << UInt8(bit % 8)
                try data.write(to: file)
                do {
                    let commit = try Store(at: folder.path).snapshot().commit
                    if commit != UInt64(commits) { hidden.append("page \(page), bit \(bit): commit \(commit)") }
                } catch StoreError.corrupted {
                    refused += 1
                }
            }
        }
        // If the newest page's number becomes one less than the other page's, the page looks like a failed write of a
        // commit that was never acknowledged.
        #expect(hidden.count <= 1, "\(hidden)")
        #expect(refused >= 127)
        try whole.write(to: file)
        #expect(try Store(at: folder.path).snapshot().commit == UInt64(commits))
    }

    /// The file is one of the other LMDB, which is read without LMDB.
    @Test func noFlippedBitOfATransactionNumberHidesACommitOfTheOtherLMDB() throws {
        let folder = TemporaryFolder()
        try OtherLMDBStore.write(to: folder.path)
        let file = URL(fileURLWithPath: folder.path + "/data.mdb")
        let whole = try Data(contentsOf: file)
        var options = Store.Options()
        options.isReadOnly = true
        let commit = try Store(at: folder.path, options: options).snapshot().commit
        var hidden: [String] = []
        for page in 0...1 {
            for bit in 0..<64 {
                var data = whole
                let start = page * Self.pageLength + OtherLMDBStore.layout.headerLength + 128
                data[start + bit / 8] ^= 1 << UInt8(bit % 8)
                try data.write(to: file)
                do {
                    if try Store(at: folder.path, options: options).snapshot().commit != commit {
                        hidden.append("page \(page), bit \(bit)")
                    }
                } catch StoreError.corrupted {}
            }
        }
        #expect(hidden.count <= 1, "\(hidden)")
    }

    /// After a compaction, LMDB numbers transactions from 1 again, so the newest transaction has another number than
    /// the store's state names. That isn't damage.
    @Test func aCompactedStoreOpensAtItsNewestCommit() throws {
        let folder = TemporaryFolder()
        try fill(folder.path, commits: 9)
        _ = try Store.compact(at: folder.path)
        #expect(try Store(at: folder.path).snapshot().commit == 9)
        for commit in 10...12 {
            try fill(folder.path, commits: 1)
            #expect(try Store(at: folder.path).snapshot().commit == UInt64(commit))
        }
    }
}
