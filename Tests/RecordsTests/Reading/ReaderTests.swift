import FetchIndexModels
import Foundation
import FetchIndexLMDB
import FetchIndexTestSupport
import Testing

@testable import FetchIndexRecords

/// The ages of readers, and the pages that they pin.
@Suite struct ReaderTests {
    private func commit(_ count: Int, in store: Store, _ test: TestStore) throws {
        for _ in 0..<count {
            let writer = try store.beginWrite()
            let record = try test.book("a", Int64.random(in: 0...1_000_000_000), String(repeating: "x", count: 3000))
            _ = try writer.write(0, record.span.bytes, by: TestStore.books.entities[0].uniqueConstraints)
            try writer.commit()
        }
    }

    @Test func aHeldSnapshotIsListedWithItsAgeAndPinsPagesUntilItEnds() throws {
        let test = try TestStore(model: TestStore.books)
        try commit(5, in: test.store, test)
        var held: Snapshot? = try test.store.snapshot()
        let newest = try #require(try test.store.environmentInformation().readers.first)
        #expect(newest.process == Int(getpid()))
        #expect(newest.transactions == 0)
        #expect(newest.seconds == 0)
        #expect(newest.pinnedPages == 0)
        let before = currentTime()
        try commit(1, in: test.store, test)
        let after = currentTime()
        usleep(20_000)
        try commit(40, in: test.store, test)
        let grown = try test.store.environmentInformation()
        let old = try #require(grown.readers.first)
        let seconds = try #require(old.seconds)
        #expect(old.transactions == 41)
        #expect(!old.isOlder)
        #expect(seconds >= 0.02)
        #expect(seconds <= currentTime() - before)
        #expect(seconds >= currentTime() - after - 5)
        #expect(old.pinnedPages > 40)
        #expect(old.pinnedBytes == old.pinnedPages * 4096)
        #expect(withExtendedLifetime(held) { held?.commit } == 5)
        held = nil
        #expect(try test.store.environmentInformation().readers.isEmpty)
        // The pages that were pinned are used again, so these commits don't grow the file.
        try commit(old.pinnedPages / 8, in: test.store, test)
        #expect(try test.store.environmentInformation().fileBytes == grown.fileBytes)
    }

    @Test func aReaderOlderThanTheLogIsReportedAsOlder() throws {
        let test = try TestStore(model: TestStore.books)
        try commit(5, in: test.store, test)
        let held = try test.store.snapshot()
        try commit(10, in: test.store, test)
        try test.write { try $0.trimLog(through: 10) }
        let old = try #require(try test.store.environmentInformation().readers.first)
        #expect(old.isOlder)
        #expect(old.seconds != nil)
        #expect(old.transactions == 11)
        try test.write { try $0.trimLog(through: 15) }
        #expect(try test.store.environmentInformation().readers.first?.seconds == nil)
        #expect(held.commit == 5)
    }

    @Test func agesOfReadersAreCorrectInABackup() throws {
        let test = try TestStore(model: TestStore.books)
        try commit(30, in: test.store, test)
        let folder = TemporaryFolder()
        #expect(try test.store.backup(to: folder.path).commit == 30)
        let copy = try Store(at: folder.path)
        let held = try copy.snapshot()
        #expect(held.view.identifier < 3)
        #expect(try copy.environmentInformation().readers.first?.seconds == 0)
        usleep(50_000)
        let before = currentTime()
        try commit(3, in: copy, test)
        let age = try #require(try copy.environmentInformation().readers.first)
        let seconds = try #require(age.seconds)
        #expect(age.transactions == 3)
        #expect(!age.isOlder)
        #expect(seconds <= currentTime() - before)
        #expect(held.commit == 30)
    }
}
