import FetchIndexLMDB
import FetchIndexModels
import FetchIndexPlatform
import FetchIndexTestSupport
import Testing

@testable import FetchIndexRecords

/// Bytes that other modules store beside the records, in the same transactions.
@Suite struct AttachmentTests {
    private let test: TestStore

    init() throws { test = try TestStore(model: TestStore.books) }

    private func attachments() throws -> [FetchIndexRecords.Attachment: [UInt8]] {
        let snapshot = try test.store.snapshot()
        var found: [FetchIndexRecords.Attachment: [UInt8]] = [:]
        for name in FetchIndexRecords.Attachment.allCases { found[name] = try snapshot.attachment(name) }
        return found
    }

    /// Attachments are set to random bytes and removed, together with inserted records, in transactions of which some
    /// are dropped.
    @Test(arguments: 1...5 as ClosedRange<UInt64>) func attachmentsAreSavedWithTheirRecordsOrNotAtAll(
        seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed)
        var expected: [FetchIndexRecords.Attachment: [UInt8]] = [:]
        var bookCount = 0
        for round in 0..<30 {
            let writer = try test.store.beginWrite()
            var next = expected
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let name = try #require(FetchIndexRecords.Attachment.allCases.randomElement(using: &generator))
                let length = [0, 1, 50, 6000].randomElement(using: &generator) ?? 0
                let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
                next[name] = Int.random(in: 0..<4, using: &generator) == 0 ? nil : bytes
                try writer.setAttachment(name, to: next[name])
                #expect(try writer.attachment(name) == next[name], "the writer reads the bytes that it has set")
            }
            let hasBook = Bool.random(using: &generator)
            let book = try test.book("book \(round)")
            if hasBook { try writer.insert(0, book.span.bytes) }
            let commit = writer.commit
            if Int.random(in: 0..<3, using: &generator) > 0 {
                // A transaction that inserts no book isn't counted as a commit.
                #expect(try writer.commit() == commit + (hasBook ? 1 : 0), "seed \(seed), round \(round)")
                expected = next
                bookCount += hasBook ? 1 : 0
            }
            #expect(try attachments() == expected, "seed \(seed), round \(round)")
            #expect(try test.contents().count == bookCount, "seed \(seed), round \(round)")
        }
    }

    @Test func eachDamagedByteOfAnAttachmentIsReported() throws {
        try test.write { try $0.setAttachment(.sourcePosition, to: [1, 2, 3, 4, 5]) }
        let key = Array("source position".utf8)
        var whole: [UInt8] = []
        let snapshot = try test.store.snapshot()
        _ = try snapshot.view.get(key, in: test.store.tables.meta) { whole = [UInt8](copying: $0) }
        #expect(whole.count == 9)
        func put(_ bytes: [UInt8]) throws {
            let transaction = try test.store.environment.beginWrite()
            try transaction.view.put(bytes, for: key, in: test.store.tables.meta)
            try transaction.commit()
        }
        for place in whole.indices {
            var damaged = whole
            damaged[place] ^= 1
            try put(damaged)
            #expect(throws: (any Error).self, "byte \(place)") { try attachments() }
            let defects = try test.store.snapshot().check()
            #expect(defects.count == 1 && defects[0].contains("source position"), "byte \(place): \(defects)")
        }
        try put(whole)
        #expect(try attachments() == [.sourcePosition: [1, 2, 3, 4, 5]])
    }

    /// The attachment is removed after the backup. The backup still has it, and so does a snapshot that was opened
    /// before the removal.
    @Test func aBackupHasTheAttachmentsOfItsState() throws {
        try test.write { try $0.setAttachment(.source, to: [7]) }
        let before = try test.store.snapshot()
        let folder = TemporaryFolder()
        _ = try test.store.backup(to: folder.path)
        try test.write { try $0.setAttachment(.source, to: nil) }
        #expect(try Store(at: folder.path).snapshot().attachment(.source) == [7])
        #expect(try before.attachment(.source) == [7])
        #expect(try attachments() == [:])
    }
}
