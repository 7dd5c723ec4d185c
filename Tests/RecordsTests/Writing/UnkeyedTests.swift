import FetchIndexPlatform
import FetchIndexLMDB
import FetchIndexModels
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

/// Objects whose unique keys a first import has deferred.
@Suite struct UnkeyedTests {
    private let folder = TemporaryFolder()
    private let store: Store
    private let constraint = TestStore.books.entities[0].uniqueConstraints[0]

    init() throws {
        var options = Store.Options()
        options.durability = .none
        store = try Store(at: folder.path, model: TestStore.books, options: options)
    }

    private func book(_ id: String) throws -> [UInt8] {
        try TestStore.books.entities[0].record([.string(id), .null, .null])
    }

    private func write(_ body: (StoreWriter) throws -> Void) throws {
        let writer = try store.beginWrite()
        try body(writer)
        try writer.commit()
    }

    private func batch(_ ids: some Sequence<String>) throws -> RecordBatch {
        var batch = RecordBatch()
        for id in ids {
            let record = try book(id)
            batch.append(record.span.bytes)
        }
        return batch
    }

    /// Inserts objects with their unique keys, and then objects without their unique keys.
    private func fill(keyed: some Sequence<String>, unkeyed: some Sequence<String>) throws {
        let (keyed, unkeyed) = try (batch(keyed), batch(unkeyed))
        try write { writer in
            try writer.write(0, keyed, .update(by: [constraint])) { _, _ in }
            _ = try writer.beginDeferral(of: 0, constraint)
            let none = try BatchKeys(unkeyed, 0, nil, nil, in: writer)
            var insertion = try BatchInsertion(none, of: 0, in: writer)
            for row in 0..<unkeyed.count { _ = try insertion.insert(row, of: unkeyed, in: writer) }
            try insertion.end(in: writer)
        }
    }

    /// Begins a writer of records, which first writes the deferred keys.
    private func complete() throws { _ = try store.beginWrite() }

    @Test func theStoredStateNamesTheObjectsWithDeferredKeys() throws {
        func state(_ more: (inout [UInt8]) -> Void) throws -> StoreState {
            var bytes: [UInt8] = []
            for number in [9, 1, 0, 1 << 20] as [UInt64] { bytes.appendNumber(number) }
            bytes.appendNumber(UInt32(1))
            bytes.appendNumber(UInt64(12))
            more(&bytes)
            bytes.appendChecksum()
            return try StoreState(decoding: bytes.span.bytes)
        }
        #expect(try state { _ in }.unkeyed == nil)
        // An older program has deferred the keys of all objects of the entity.
        #expect(try state { $0.appendNumber(UInt16(3)) }.unkeyed == .init(entity: 3, first: 0))
        func withFirst(_ first: UInt64) throws -> StoreState {
            try state {
                $0.appendNumber(UInt16(3))
                $0.appendNumber(first)
            }
        }
        #expect(try withFirst(77).unkeyed == .init(entity: 3, first: 77))
        #expect(throws: StoreError.self) { try withFirst(RecordKey.maximumNumber + 1) }
        #expect(throws: StoreError.self) { try withFirst(.max) }
    }

    /// The keys take more memory than changed pages may take. They are among other keys of the entity.
    @Test func manyDeferredKeysAreWrittenInOneTransaction() throws {
        let end = String(repeating: "x", count: 400)
        func id(_ number: Int) -> String { "\(100_000 + number)\(end)" }
        let numbers = 0..<30_000
        try fill(
            keyed: numbers.filter { $0 % 10 == 0 }.map(id), unkeyed: numbers.filter { $0 % 10 > 0 }.map(id))
        let before = try store.snapshot().view.identifier
        try complete()
        let snapshot = try store.snapshot()
        #expect(snapshot.view.identifier == before + 1)
        #expect(snapshot.hasUniqueKeys(of: 0))
        #expect(try snapshot.check() == [])
        #expect(try snapshot.object(0, slot: 0, equalTo: .string(id(12_345))) != nil)
    }

    /// One of the deferred keys is already written, as if a writer of these keys had been killed.
    @Test func someDeferredKeysMayAlreadyBeWritten() throws {
        try fill(keyed: ["b", "d"], unkeyed: ["c", "a", "e"])
        let transaction = try store.environment.beginWrite()
        var key = StoreLayout.uniqueKey(entity: 0, constraint)
        OrderKey.append(.string("c"), to: &key)
        try StoreWriter.withUniqueValue(of: RecordKey(entity: 0, number: 3), under: key.span.bytes) {
            try transaction.view.put($0, for: key.span.bytes, in: store.tables.unique)
        }
        try transaction.commit()
        #expect(try store.snapshot().check() == [])
        #expect(try store.snapshot().object(0, slot: 0, equalTo: .string("a"))?.number == 4)
        #expect(try store.snapshot().object(0, slot: 0, equalTo: .string("x")) == nil)
        try complete()
        #expect(try store.snapshot().check() == [])
        #expect(try store.snapshot().hasUniqueKeys(of: 0))
    }

    /// Two objects have the same value: the key stays with the first one.
    @Test(arguments: [(["b"], 3), (["a", "a"], 4)] as [([String], UInt64)])
    func aDeferredKeyDoesNotReplaceTheKeyOfAnotherObject(unkeyed: [String], second: UInt64) throws {
        try fill(keyed: ["b", "d"], unkeyed: unkeyed)
        try expectOtherEntityAlone()
        let found = try store.snapshot().object(0, slot: 0, equalTo: .string(unkeyed[0]))
        #expect(found == RecordKey(entity: 0, number: second == 3 ? 1 : 3))
        #expect(try store.snapshot().check() == ["Book \(second): its unique key for id does not lead to it"])
    }

    /// Expects that objects of another entity can be inserted, and that inserting one of this entity throws.
    private func expectOtherEntityAlone() throws {
        try write { writer in
            let shop = try TestStore.books.entities[1].record([.string("s")])
            try writer.insert(1, shop.span.bytes)
            let book = try book("z")
            #expect(throws: StoreError.self) { try writer.insert(0, book.span.bytes) }
        }
    }

    /// A lookup of a deferred key reports the lost record. The deferred keys can't be written, so no object of the
    /// entity can be inserted.
    @Test func aLostRecordWithADeferredKeyIsReported() throws {
        try fill(keyed: ["b", "d"], unkeyed: ["c", "a", "e"])
        let transaction = try store.environment.beginWrite()
        try transaction.view.delete(RecordKey(entity: 0, number: 4).rawValue, in: store.tables.records)
        try transaction.commit()
        #expect(throws: StoreError.corrupted("Book counts 3 objects, but has 2")) {
            try store.snapshot().object(0, slot: 0, equalTo: .string("a"))
        }
        #expect(try store.snapshot().object(0, slot: 0, equalTo: .string("d"))?.number == 2)
        try expectOtherEntityAlone()
    }
}
