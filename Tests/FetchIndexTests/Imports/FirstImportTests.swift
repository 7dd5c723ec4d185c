@testable import FetchIndex
import Foundation
import FetchIndexModels
@testable import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// First imports by a key, whose unique keys are deferred, which means that they are written later.
@Suite struct FirstImportTests {
    private let model = Model(entities: [
        Entity(
            "Row",
            [
                AttributeDescription("id", .string, isOptional: false, isUnique: true),
                AttributeDescription("size", .integer),
            ]),
        Entity("Other", [AttributeDescription("id", .string, isUnique: true)]),
    ])
    private let folder = TemporaryFolder()
    let container: PersistentContainer

    init() throws { container = try PersistentContainer(path: folder.path, model: model) }

    typealias Row = (id: String, size: Int64)

    func batch(_ rows: some Sequence<Row>, _ writer: BatchWriter) throws -> RecordBatch {
        var batch = RecordBatch()
        for row in rows {
            let record = try writer.entity.record([.string(row.id), .integer(row.size)])
            batch.append(record.span.bytes)
        }
        try writer.prepare(&batch, as: writer.preparation)
        return batch
    }

    func writer() throws -> BatchWriter {
        let writer = try BatchWriter(container, entity: "Row", key: "id")
        writer.deferUniqueKeys()
        return writer
    }

    /// The stored objects, in the order of their object numbers.
    func stored() throws -> [String] {
        let context = container.newContext()
        return try context.fetch(FetchRequest<ManagedObject>(entityName: "Row")).map {
            "\($0.objectID.number) \($0["id"]) \($0["size"])"
        }
    }

    func expectWhole() throws {
        let snapshot = try container.store.snapshot()
        #expect(snapshot.hasUniqueKeys(of: 0))
        #expect(try snapshot.check() == [])
    }

    func count(of id: String) throws -> Int {
        var request = FetchRequest<ManagedObject>(entityName: "Row")
        request.predicate = try FetchPredicate(format: "id == %@", argumentArray: [id])
        return try container.newContext().count(for: request)
    }

    /// The expected objects: a dictionary that the rows update one by one, in the order in which keys first occur.
    func expected(_ rows: [Row]) -> [String] {
        var order: [String] = []
        var sizes: [String: Int64] = [:]
        for row in rows {
            if sizes.updateValue(row.size, forKey: row.id) == nil { order.append(row.id) }
        }
        return order.enumerated().map { "\($0 + 1) \($1) \(sizes[$1] ?? 0)" }
    }

    /// Rows in order, in sorted blocks, and in random order.
    @Test func uniqueKeysFillTheirPagesWhateverTheOrderOfTheRowsIs() throws {
        let rows = (0..<8000).map { Row(id: "\(100_000 + $0)" + String(repeating: "x", count: 60), size: 1) }
        var generator = SeededGenerator(seed: 5)
        let blocks = (0..<80).shuffled(using: &generator).flatMap { rows[$0 * 100..<$0 * 100 + 100] }
        let pages = try [rows, blocks, rows.shuffled(using: &generator)].map { rows in
            let folder = TemporaryFolder()
            let container = try PersistentContainer(path: folder.path, model: model)
            let writer = try BatchWriter(container, entity: "Row", key: "id")
            writer.deferUniqueKeys()
            for start in stride(from: 0, to: rows.count, by: 2000) {
                try writer.write(batch(rows[start..<(start + 2000)], writer)) { _, _ in }
            }
            try writer.commit()
            let snapshot = try container.store.snapshot()
            return try snapshot.view.statistics(of: snapshot.tables.unique).leafPages
        }
        // An entry takes fewer than 100 bytes.
        let most = rows.count / (Int(getpagesize()) / 100)
        #expect(pages.allSatisfy { abs($0 - pages[0]) <= 1 && $0 <= most }, "\(pages)")
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>) func shuffledAndRepeatedRowsGiveTheSameObjectsAsADictionary(
        seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed)
        let rows = (0..<2000).map { _ -> Row in
            (
                "id-\(Int.random(in: 0..<(seed % 2 == 0 ? 100_000 : 1500), using: &generator))",
                .random(in: 0...9, using: &generator)
            )
        }
        let writer = try writer()
        var isDeferred = false
        for start in stride(from: 0, to: rows.count, by: 300) {
            try writer.write(batch(rows[start..<min(start + 300, rows.count)], writer)) { _, _ in }
            try writer.commitBatch()
            let snapshot = try container.store.snapshot()
            isDeferred = isDeferred || !snapshot.hasUniqueKeys(of: 0)
            #expect(try snapshot.check() == [])
            // While keys are deferred, a scan finds the object.
            #expect(try count(of: rows[start].id) == 1)
        }
        #expect(isDeferred)
        try writer.commit()
        try expectWhole()
        #expect(try stored() == expected(rows), "seed \(seed)")
        #expect(writer.counts.inserted == Set(rows.map(\.id)).count)
        #expect(writer.counts.inserted + writer.counts.updated + writer.counts.unchanged == rows.count)
        for row in rows.prefix(20) { #expect(try count(of: row.id) == 1) }
    }

    /// A second import into the entity looks its keys up instead.
    @Test func keysAreDeferredIfTheEntityIsEmpty() throws {
        for isEmpty in [true, false] {
            let writer = try writer()
            try writer.write(batch((0..<500).map { ("id-\($0 + 1000)", 1) }, writer)) { _, _ in }
            #expect(writer.isDeferring == isEmpty)
            try writer.commit()
            try expectWhole()
        }
    }

    /// The keys are written in the transaction that has the records.
    @Test func aShortFirstImportIsOneTransaction() throws {
        let before = try container.store.snapshot().view.identifier
        let writer = try writer()
        let rows: [Row] = [("b", 1), ("a", 2), ("b", 3)]
        try writer.write(batch(rows, writer)) { _, _ in }
        try writer.commit()
        #expect(try container.store.snapshot().view.identifier == before + 1)
        try expectWhole()
        #expect(try stored() == ["1 b 3", "2 a 2"])
        // The first row of b counts as inserted, though the last one decides.
        #expect(writer.counts.inserted == 2 && writer.counts.updated == 0 && writer.counts.unchanged == 1)
    }

    /// An import is dropped after its first commit, like an import whose process is killed.
    @Test func theNextWriterWritesDeferredKeys() throws {
        let rows = (0..<900).map { (id: "id-\($0 * 7919 % 900)", size: Int64($0)) }
        do {
            let writer = try writer()
            try writer.write(batch(rows[..<600], writer)) { _, _ in }
            try writer.commitBatch()
            try writer.write(batch(rows[600...], writer)) { _, _ in }
        }
        #expect(try !container.store.snapshot().hasUniqueKeys(of: 0))
        // A writer that changes no records does not write deferred keys.
        try container.withOrder(.init(entity: "Row", sortKeys: [SortKey("size")]), .init(cacheName: "c")) { order in
            #expect(order.rowCount == 600)
        }
        #expect(try !container.store.snapshot().hasUniqueKeys(of: 0))
        let context = container.newContext()
        let object = try context.insert("Row")
        object["id"] = .string(rows[0].id)
        #expect(throws: (any Error).self) { try context.save() }
        try expectWhole()
        #expect(try stored() == expected(Array(rows[..<600])))
        let again = try writer()
        try again.write(batch(rows, again)) { _, _ in }
        try again.commit()
        #expect(again.counts.unchanged == 600 && again.counts.inserted == 300)
        try expectWhole()
        #expect(try stored() == expected(rows))
    }

    /// Between two batches, another writer inserts an object whose key a later row has.
    @Test func anotherWriterMayWriteBetweenBatches() throws {
        let rows = (0..<900).map { (id: "id-\($0 * 7919 % 900)", size: Int64($0)) }
        let writer = try writer()
        try writer.write(batch(rows[..<300] + rows[..<5], writer)) { _, _ in }
        try writer.commitBatch()
        let other = try BatchWriter(container, entity: "Row", key: "id")
        try other.insert([.string(rows[500].id), .integer(-1)])
        try other.commit()
        try expectWhole()
        try writer.write(batch(rows[300...], writer)) { _, _ in }
        try writer.commit()
        try expectWhole()
        #expect(writer.counts.inserted == 899 && writer.counts.updated == 1 && writer.counts.unchanged == 5)
        let expected = expected(Array(rows[..<300]) + [(rows[500].id, -1)] + Array(rows[300...]))
        #expect(try stored() == expected)
    }

    /// The rows keep the stored values of `size`.
    @Test func storedValuesOfMissingColumnsAreKept() throws {
        let writer = try BatchWriter(container, entity: "Row", key: "id")
        try writer.insert([.string("a"), .integer(7)])
        let rows = [(id: "a", size: Int64(1)), (id: "b", size: 2)]
        try writer.write(batch(rows, writer), keepingSlots: [1]) { _, _ in }
        try writer.commit()
        #expect(try stored() == expected([("a", 7), ("b", 2)]))
    }

    /// The superentity's objects can't have the unique values of the subentity's objects.
    @Test func aRowWithTheUniqueValueOfAnotherEntitysObjectIsRefused() throws {
        let id = AttributeDescription("id", .string, isUnique: true)
        let works = Model(entities: [Entity("Work", [id]), Entity("Film", [id], superentity: "Work")])
        let folder = TemporaryFolder()
        let container = try PersistentContainer(path: folder.path, model: works)
        let films = try BatchWriter(container, entity: "Film", key: "id")
        try films.insert([.string("b")])
        try films.commit()
        let writer = try BatchWriter(container, entity: "Work", key: "id")
        var batch = RecordBatch()
        for id in ["a", "b", "c", "c"] {
            let record = try writer.entity.record([.string(id)])
            batch.append(record.span.bytes)
        }
        var refused: [Int] = []
        try writer.write(batch, refused: { index, _ in refused.append(index) }, done: { _, _ in })
        try writer.commit()
        #expect(refused == [1])
        #expect(writer.counts.inserted == 2 && writer.counts.unchanged == 1)
        #expect(try container.store.snapshot().check() == [])
    }

    /// While keys are deferred, a row that repeats a key waits. Before the row is written, another writer changes its
    /// object.
    @Test func aRepeatedRowKeepsStoredValuesOfMissingColumns() throws {
        let rows = (0..<300).map { (id: "id-\($0 * 7919 % 900)", size: Int64($0)) }
        let writer = try writer()
        try writer.write(batch(rows + [(rows[7].id, -1)], writer), keepingSlots: [1]) { _, _ in }
        try writer.commitBatch()
        let other = try BatchWriter(container, entity: "Row", key: "id")
        let object = try #require(try other.object(key: .string(rows[7].id)))
        try other.update(object, [.string(rows[7].id), .integer(99)])
        try other.commit()
        try writer.commit()
        try expectWhole()
        #expect(try stored() == expected(rows + [(rows[7].id, 99)]))
    }

    /// If a record is damaged, the deferred keys of its entity can't be written. Writers of other entities still work.
    @Test func aDamagedRecordStopsOnlyWritersOfItsEntity() throws {
        let rows = (0..<300).map { (id: "id-\($0 * 7919 % 900 + 1000)", size: Int64($0)) }
        do {
            let writer = try writer()
            try writer.write(batch(rows, writer)) { _, _ in }
            try writer.commitBatch()
        }
        let path = folder.path + "/data.mdb"
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        let place = try #require(data.range(of: Data(rows[100].id.utf8)))
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        try file.seek(toOffset: UInt64(place.lowerBound))
        try file.write(contentsOf: Data("xx".utf8))
        try file.close()
        let others = try BatchWriter(container, entity: "Other")
        try others.insert([.string("a")])
        try others.commit()
        let row = try BatchWriter(container, entity: "Row", key: "id")
        #expect(throws: StoreError.self) { try row.insert([.string(rows[3].id), .integer(1)]) }
        row.rollback()
        #expect(throws: StoreError.self) { try row.write(batch(rows, row)) { _, _ in } }
    }

    @Test func aRollbackKeepsCommittedBatches() throws {
        let rows = (0..<900).map { (id: "id-\($0 * 7919 % 900)", size: Int64($0)) }
        let writer = try writer()
        try writer.write(batch(rows[..<300], writer)) { _, _ in }
        try writer.commitBatch()
        try writer.write(batch(rows[300..<600], writer)) { _, _ in }
        writer.rollback()
        try writer.write(batch(rows[600...], writer)) { _, _ in }
        try writer.commit()
        try expectWhole()
        #expect(try stored() == expected(Array(rows[..<300] + rows[600...])))
    }
}
