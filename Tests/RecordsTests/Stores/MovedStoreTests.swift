import FetchIndexModels
import Foundation
import FetchIndexLMDB
import FetchIndexTestSupport
import Testing

@testable import FetchIndexRecords

/// A store whose files are moved while it is open.
@Suite struct MovedStoreTests {
    @Test func aMovedStoreIsReadButNotWritten() throws {
        let folder = TemporaryFolder()
        let store = try Store(at: folder.path, model: TestStore.books)
        let away = folder.path + "-away"
        defer { try? FileManager.default.removeItem(atPath: away) }
        try FileManager.default.moveItem(atPath: folder.path, toPath: away)
        let moved = StoreError.moved(path: store.path)
        #expect(throws: moved) { try store.beginWrite() }
        #expect(try store.tryBeginWrite() == nil)
        #expect(throws: StoreError.self) { try Store(at: away) }
        #expect(try store.snapshot().commit == 0)
        try FileManager.default.moveItem(atPath: away, toPath: folder.path)
        try store.beginWrite().commit()
    }

    /// The files are moved away during the transaction, so its commit throws.
    @Test func aTransactionWhoseFilesAreMovedIsNotCommitted() throws {
        let test = try TestStore(model: TestStore.books)
        let path = test.store.path
        let writer = try test.store.beginWrite()
        let record = try test.book("a", 1, "a")
        _ = try writer.write(0, record.span.bytes, by: TestStore.books.entities[0].uniqueConstraints)
        try FileManager.default.moveItem(atPath: path, toPath: path + "-away")
        #expect(throws: StoreError.moved(path: path)) { try writer.commit() }
        try FileManager.default.moveItem(atPath: path + "-away", toPath: path)
        #expect(try test.store.snapshot().commit == 0)
        try test.store.beginWrite().commit()
    }

    /// A writer that has waited for its turn checks the files again.
    @Test func movingTheFilesMakesAWaitingWriterThrow() throws {
        let folder = TemporaryFolder()
        let store = try Store(at: folder.path, model: TestStore.books)
        let away = folder.path + "-away"
        defer { try? FileManager.default.removeItem(atPath: away) }
        let lock = open(store.path + "/writer.lock", O_RDWR | O_CLOEXEC)
        try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
        defer { close(lock) }
        let moved = StoreError.moved(path: store.path)
        let waiting = Thread { #expect(throws: moved) { try store.beginWrite() } }
        waiting.start()
        usleep(100_000)
        try FileManager.default.moveItem(atPath: folder.path, toPath: away)
        flock(lock, LOCK_UN)
        let end = Date().addingTimeInterval(30)
        while !waiting.isFinished, Date() < end { usleep(1000) }
        #expect(waiting.isFinished)
    }
}
