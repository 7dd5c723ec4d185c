import FetchIndexModels
import FetchIndexTestSupport
import FetchIndexValues
import Foundation
import Synchronization
import Testing

@testable import FetchIndexRecords

/// Writers and builds of one store, on one thread and on two.
@Suite struct WriterTurnTests {
    private let test: TestStore

    init() throws { test = try TestStore(model: TestStore.books) }

    /// Runs the body on another thread, and waits for its end.
    private func onThread(_ body: @escaping @Sendable () -> Void) {
        let isDone = DispatchSemaphore(value: 0)
        let thread = Thread {
            body()
            isDone.signal()
        }
        thread.start()
        isDone.wait()
    }

    @Test func aThreadDoesNotWaitForItsOwnWriter() throws {
        let store = test.store
        do {
            let writer = try store.beginWrite()
            #expect(throws: StoreError.wouldWaitForItself) { try store.beginWrite() }
            #expect(throws: StoreError.wouldWaitForItself) { try Store(at: test.path).beginWrite(limit: .seconds(9)) }
            #expect(try store.tryBeginWrite() == nil)
            #expect(store.hasOpenWriter)
            withExtendedLifetime(writer) {}
        }
        #expect(!store.hasOpenWriter)
        try store.beginWrite().commit()
    }

    @Test func aWriterWaitsForAnotherThreadsWriterUpToItsLimit() throws {
        let store = test.store
        do {
            let writer = try store.beginWrite()
            onThread {
                let start = ContinuousClock.now
                #expect(throws: StoreError.writerBusy) { try store.beginWrite(limit: .milliseconds(30)) }
                #expect(ContinuousClock.now - start >= .milliseconds(30))
                do { #expect(try store.tryBeginWrite() == nil) } catch { Issue.record(error) }
            }
            withExtendedLifetime(writer) {}
        }
        onThread { #expect(throws: Never.self) { try store.beginWrite(limit: .milliseconds(30)).commit() } }
    }

    /// Passes a writer to another thread, which must not release it.
    private final class LentWriter: @unchecked Sendable {
        var writer: StoreWriter?
    }

    @Test func aWriterRefusesChangesOnAnotherThread() throws {
        let book = try test.book("a")
        let lent = LentWriter()
        lent.writer = try test.store.beginWrite()
        let shop = try TestStore.books.entities[1].record(["shop"])
        try lent.writer?.insert(1, shop.span.bytes)
        onThread {
            let object = RecordKey(entity: 1, number: 1)
            #expect(throws: StoreError.wrongThread) { try lent.writer?.insert(0, book.span.bytes) }
            #expect(throws: StoreError.wrongThread) { try lent.writer?.update(object, book.span.bytes) }
            #expect(throws: StoreError.wrongThread) { try lent.writer?.delete(object) }
            #expect(throws: StoreError.wrongThread) { try lent.writer?.beginNextCommit(author: "") }
            #expect(throws: StoreError.wrongThread) {
                try lent.writer?.write(0, RecordBatch([book]), .insert) { _, _ in }
            }
        }
        // The transaction ends on its own thread.
        lent.writer = nil
        #expect(try test.store.snapshot().commit == 0)
        #expect(try test.contents(1).isEmpty)
    }

    @Test func aReadOnlyStoreHasNoWriterAndNoBuild() throws {
        var options = Store.Options()
        options.isReadOnly = true
        let store = try Store(at: test.path, options: options)
        #expect(throws: StoreError.readOnly) { try store.beginWrite() }
        #expect(throws: StoreError.readOnly) { try store.tryBeginWrite() }
        #expect(throws: StoreError.readOnly) { try store.beginBuild(limit: .zero) }
        #expect(try store.snapshot().commit == 0)
    }

    /// Other threads see the commit at which the build reads records, so that their writers keep the log after it.
    @Test func onlyOneBuildRunsAtATime() throws {
        let store = test.store
        do {
            let build = try #require(try store.beginBuild(limit: .seconds(5)))
            #expect(try store.beginBuild(limit: .seconds(5)) == nil, "this thread would wait for itself")
            build.begin(at: 17)
            onThread {
                do { #expect(try store.beginBuild(limit: .milliseconds(10)) == nil) } catch { Issue.record(error) }
                #expect(store.commitBeingBuilt() == 17)
            }
            // A build doesn't prevent writers.
            try store.beginWrite().commit()
            withExtendedLifetime(build) {}
        }
        #expect(store.commitBeingBuilt() == nil)
        #expect(try store.beginBuild(limit: .zero) != nil)
    }

    @Test func theMarkOfABuildIsStoredAndRemovedWithoutACommit() throws {
        #expect(try test.store.snapshot().markedBuild() == nil)
        try test.write { try $0.markBuild(7) }
        #expect(try test.store.snapshot().markedBuild() == 7)
        try test.write { try $0.markBuild(nil) }
        #expect(try test.store.snapshot().markedBuild() == nil)
        #expect(try test.store.snapshot().commit == 0)
    }
}
