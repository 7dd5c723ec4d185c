import FetchIndexPlatform
import FetchIndexModels
import Foundation
import FetchIndexLMDB
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

@Suite struct StoreTests {
    @Test func aWriteByKeyUpdatesTheObjectWithTheKeyAndAnUpdateToATakenKeyIsRefused() throws {
        let test = try TestStore(model: TestStore.books)
        try test.write { writer in
            let a = try test.book("a", 1), b = try test.book("b", 2)
            #expect(
                try writer.write(0, a.span.bytes, by: TestStore.books.entities[0].uniqueConstraints)
                    == .inserted(RecordKey(entity: 0, number: 1)))
            #expect(
                try writer.write(0, b.span.bytes, by: TestStore.books.entities[0].uniqueConstraints)
                    == .inserted(RecordKey(entity: 0, number: 2)))
            #expect(
                try writer.write(0, a.span.bytes, by: TestStore.books.entities[0].uniqueConstraints)
                    == .unchanged(RecordKey(entity: 0, number: 1)))
            let dearer = try test.book("a", 9)
            #expect(
                try writer.write(0, dearer.span.bytes, by: TestStore.books.entities[0].uniqueConstraints)
                    == .updated(RecordKey(entity: 0, number: 1)))
            let clash = try test.book("b")
            #expect(throws: StoreError.notUnique(entity: "Book", attribute: "id", value: "b")) {
                try writer.update(RecordKey(entity: 0, number: 1), clash.span.bytes)
            }
        }
        try test.write { writer in
            try writer.delete(RecordKey(entity: 0, number: 1))
            #expect(try !writer.delete(RecordKey(entity: 0, number: 1)))
        }
        let snapshot = try test.store.snapshot()
        #expect(try snapshot.object(0, slot: 0, equalTo: "a") == nil)
        #expect(try snapshot.object(0, slot: 0, equalTo: "b")?.number == 2)
        #expect(try snapshot.entityState(0).count == 1)
    }

    @Test func aUniqueValueThatIsTooLongIsAnError() throws {
        let test = try TestStore(model: TestStore.books)
        let record = try test.book(String(repeating: "x", count: 600))
        #expect(throws: StoreError.uniqueValueTooLong(entity: "Book", attribute: "id")) {
            try test.write { try $0.insert(0, record.span.bytes) }
        }
    }

    @Test func writingAnEqualRecordMakesNoCommit() throws {
        let test = try TestStore(model: TestStore.books)
        let record = try test.book("a", 1)
        #expect(try test.write { try $0.insert(0, record.span.bytes) } == 1)
        #expect(try test.write { _ = try $0.update(RecordKey(entity: 0, number: 1), record.span.bytes) } == 1)
        #expect(try test.write { _ in } == 1)
    }

    @Test func whileAWriterIsOpenNoOtherBeginsAndDroppingItStoresNothing() throws {
        let test = try TestStore(model: TestStore.books)
        let record = try test.book("a", 1)
        do {
            let writer = try test.store.beginWrite()
            try writer.insert(0, record.span.bytes)
            #expect(try test.store.tryBeginWrite() == nil)
        }
        #expect(try test.contents().isEmpty)
        #expect(try test.store.tryBeginWrite() != nil)
    }

    @Test func aSnapshotDoesNotSeeLaterCommits() throws {
        let test = try TestStore(model: TestStore.books)
        let a = try test.book("a"), b = try test.book("b")
        try test.write { try $0.insert(0, a.span.bytes) }
        let snapshot = try test.store.snapshot()
        try test.write { try $0.insert(0, b.span.bytes) }
        #expect(snapshot.commit == 1)
        #expect(try snapshot.entityState(0).count == 1)
        #expect(try test.store.snapshot().commit == 2)
    }

    @Test func aStoreAcceptsAddedAttributesAndRefusesAnotherTypeAndDuplicateNames() throws {
        let test = try TestStore(model: TestStore.books)
        func book(_ attributes: [AttributeDescription]) -> Model { Model(entities: [Entity("Book", attributes)]) }
        let stored = TestStore.books.entities[0].attributes
        _ = try Store(at: test.path, model: book(stored + [AttributeDescription("pages", .integer)]))
        #expect(try test.store.snapshot().model.entities[0].attributes.count == 4)
        #expect(try test.store.snapshot().model.entities.count == 2)
        let record = try test.book("a")
        try test.write { try $0.insert(0, record.span.bytes) }
        _ = try Store(at: test.path, model: book(Array(stored.prefix(1))))
        #expect(try test.store.snapshot().model.entities[0].attributes.count == 4, "undeclared attributes stay")
        #expect(throws: StoreError.self) {
            try Store(at: test.path, model: book([AttributeDescription("id", .integer)]))
        }
        #expect(throws: ModelError.self) {
            try Store(
                at: test.path,
                model: Model(entities: [
                    Entity("X", [AttributeDescription("a", .string), AttributeDescription("a", .string)])
                ]))
        }
    }

    /// The model keeps undeclared attributes even if the entity has no objects, since another process may be about to
    /// insert objects.
    @Test func openingWithFewerAttributesRemovesNone() throws {
        let test = try TestStore(model: TestStore.books)
        let record = try test.book("a")
        try test.write { try $0.insert(0, record.span.bytes) }
        let older = Model(entities: [Entity("Shop", [])])
        _ = try Store(at: test.path, model: older)
        let snapshot = try test.store.snapshot()
        #expect(snapshot.model == TestStore.books)
        #expect(snapshot.state.logStart == 0)
    }

    /// Opening a store of version 2 doesn't upgrade it; the next transaction does.
    @Test func theNextTransactionUpgradesAStoreOfVersion2() throws {
        let test = try TestStore(model: TestStore.books)
        func version() throws -> UInt32? {
            let transaction = try test.store.environment.beginRead()
            let key = StoreLayout.formatKey
            var version: UInt32?
            _ = try transaction.view.get(key.span.bytes, in: test.store.tables.meta) {
                version = $0.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self)
            }
            return version
        }
        do {
            var format: [UInt8] = []
            format.appendNumber(UInt32(2))
            format.appendChecksum()
            let transaction = try test.store.environment.beginWrite()
            let key = StoreLayout.formatKey
            try transaction.view.put(format.span.bytes, for: key.span.bytes, in: test.store.tables.meta)
            let stateKey = StoreLayout.stateKey
            var state: [UInt8] = []
            for number in [UInt64(0), 0, 0, 256 << 20] { state.appendNumber(number) }
            state.appendNumber(UInt32(1))
            state.appendChecksum()
            try transaction.view.put(state.span.bytes, for: stateKey.span.bytes, in: test.store.tables.meta)
            try transaction.commit()
        }
        _ = try Store(at: test.path, model: TestStore.books)
        #expect(try version() == 2)
        let record = try test.book("a")
        try test.write { try $0.insert(0, record.span.bytes) }
        #expect(try version() == StoreLayout.version)
    }

    /// Before version 10, a unique key's value had eight bytes for the object's number.
    @Test func uniqueKeysOfVersion9AreRead() throws {
        let test = try TestStore(model: TestStore.books)
        let records = try (0..<300).map { try test.book("book \($0)", Int64($0)) }
        try test.write { writer in for record in records { try writer.insert(0, record.span.bytes) } }
        do {
            let transaction = try test.store.environment.beginWrite()
            var older: [([UInt8], [UInt8])] = []
            try transaction.view.forEachEntry(in: test.store.tables.unique) { cursor in
                let value = [UInt8](copying: cursor.value)
                var number = Array(value.dropLast(4))
                #expect(number.last != 0)
                number += [UInt8](repeating: 0, count: 8 - number.count)
                number.appendChecksum()
                older.append(([UInt8](copying: cursor.key), number))
            }
            for (key, value) in older { try transaction.view.put(value, for: key, in: test.store.tables.unique) }
            try transaction.commit()
        }
        let snapshot = try test.store.snapshot()
        for number in 0..<300 {
            let found = try snapshot.object(0, slot: 0, equalTo: .string("book \(number)"))
            #expect(found == RecordKey(entity: 0, number: UInt64(number + 1)))
        }
        let second = records[7]
        #expect(throws: StoreError.self) { try test.write { try $0.insert(0, second.span.bytes) } }
    }

    @Test func aDroppedEntityThatIsAddedAgainGetsANewNumber() throws {
        let test = try TestStore(model: TestStore.books)
        let record = try test.book("a")
        try test.write { try $0.insert(0, record.span.bytes) }
        try test.write { try $0.dropEntity(0) }
        let model = try test.store.snapshot().model
        #expect(throws: ModelError.unknownEntity("Book")) { try model.number(of: "Book") }
        #expect(throws: ModelError.unknownEntity("")) { try model.number(of: "") }
        let again = try Store(at: test.path, model: TestStore.books)
        #expect(try again.snapshot().model.number(of: "Book") == 2)
        #expect(try again.snapshot().model.number(of: "Shop") == 1)
    }

    @Test func foldersWithoutAStoreAndUnsupportedFormatsAreRefused() throws {
        let folder = NSTemporaryDirectory() + "fetchindex-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var options = Store.Options()
        options.creates = false
        #expect(throws: StoreError.missing(path: folder)) { try Store(at: folder, options: options) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        #expect(throws: StoreError.notAStore(path: folder, "it has no data.mdb")) {
            try Store(at: folder, options: options)
        }
        try Data(repeating: 66, count: 9000).write(to: URL(fileURLWithPath: folder + "/data.mdb"))
        #expect(throws: StoreError.self) { try Store(at: folder, options: options) }

        let test = try TestStore(model: TestStore.books)
        let supported = Int(StoreLayout.version)
        for (version, error) in [
            (UInt32(99), StoreError.newerFormat(found: 99, supported: supported)),
            (1, .olderFormat(found: 1, supported: supported)), (0, .olderFormat(found: 0, supported: supported)),
        ] {
            var format: [UInt8] = []
            format.appendNumber(version)
            format.appendChecksum()
            let transaction = try test.store.environment.beginWrite()
            let key = StoreLayout.formatKey
            try transaction.view.put(format.span.bytes, for: key.span.bytes, in: test.store.tables.meta)
            try transaction.commit()
            #expect(throws: error) { try Store(at: test.path) }
        }
    }

    /// The folder has one of the files that a store, or one of an older version, leaves beside its data file.
    @Test(arguments: StoreFiles.beside + ["lock.mdb", "hits"]) func aFolderWithRemainingFilesOfAStoreMayBecomeAStore(
        name: String
    ) throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: folder.path + "/" + name))
        let store = try Store(at: folder.path, model: TestStore.books)
        #expect(try store.snapshot().commit == 0)
    }

    @Test func aFolderWithOtherFilesDoesNotBecomeAStore() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: folder.path + "/letter.txt"))
        #expect(throws: StoreError.self) { try Store(at: folder.path, model: TestStore.books) }
    }

    // The tools are those of Debian's LMDB 0.9.
    @Test(.enabled(if: PageLayout.linked == .version1)) func twoToolsOfLMDBReadAStore() throws {
        let test = try TestStore(model: TestStore.books)
        let record = try test.book("a", 1)
        try test.write { try $0.insert(0, record.span.bytes) }
        let (status, output) = try TemporaryFolder.run("mdb_stat", ["-a", test.path])
        #expect(status == 0)
        for table in ["meta", "records", "log", "unique", "caches", "nodes"] {
            #expect(output.contains("Status of \(table)\n"), "\(output)")
        }
        let (dumpStatus, dump) = try TemporaryFolder.run("mdb_dump", ["-s", "unique", test.path])
        #expect(dumpStatus == 0)
        #expect(dump.contains("HEADER=END"))
    }
}
