@testable import FetchIndex
import Foundation
import FetchIndexModels
@testable import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// First imports of several batches, whose keys are ascending at first and scattered later.
extension FirstImportTests {
    /// The number of rows grows by this factor if pages are larger than 4 KiB.
    private static let scale = Int(getpagesize()) / 4096
    private static let batchLength = 200 * scale

    /// Keys are long, so that few of them fill a page.
    private func longID(_ number: Int) -> String {
        "id-\(1_000_000 + number)" + String(repeating: "x", count: 380)
    }

    /// Three batches of rows with ascending keys, and then twelve batches with scattered keys. Some of the scattered
    /// keys repeat earlier keys of both kinds.
    private func interleavedRows(_ generator: inout SeededGenerator) -> [Row] {
        let count = 3 * Self.batchLength
        let first = (0..<count).map { (id: longID($0 * 10), size: Int64($0)) }
        let others = (0..<4 * count).map { _ -> Row in
            (longID(.random(in: 0..<10 * count, using: &generator)), .random(in: 0...9, using: &generator))
        }
        return first + others
    }

    private func batches(_ rows: [Row]) -> [ArraySlice<Row>] {
        stride(from: 0, to: rows.count, by: Self.batchLength).map {
            rows[$0..<min($0 + Self.batchLength, rows.count)]
        }
    }

    private func storedSizes() throws -> [String: Value] {
        let context = container.newContext()
        let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: "Row"))
        return Dictionary(uniqueKeysWithValues: objects.map { ("\($0["id"])", $0["size"]) })
    }

    private func sizes(_ rows: [Row]) -> [String: Value] {
        Dictionary(rows.map { ($0.id, .integer($0.size)) }) { $1 }
    }

    private var isDeferred: Bool { get throws { try !container.store.snapshot().hasUniqueKeys(of: 0) } }

    @Test(arguments: 1...4 as ClosedRange<UInt64>, [300, 100_000])
    func deferredKeysAreWrittenWhenTheyAreMany(seed: UInt64, most: Int) throws {
        var generator = SeededGenerator(seed: seed)
        let rows = interleavedRows(&generator)
        let writer = try BatchWriter(container, entity: "Row", key: "id")
        writer.deferUniqueKeys(atMost: most * Self.scale)
        var wasDeferred: [Bool] = []
        var keyed: Set<Int> = []
        for part in batches(rows) {
            try writer.write(batch(part, writer)) { _, _ in }
            try writer.commitBatch()
            wasDeferred.append(try isDeferred)
            let snapshot = try container.store.snapshot()
            keyed.insert(try snapshot.view.statistics(of: snapshot.tables.unique).entries)
            #expect(try container.store.snapshot().check() == [])
            for row in [rows[0], part[part.startIndex]] { #expect(try count(of: row.id) == 1) }
        }
        try writer.commit()
        // If only few keys may be deferred, some batches write the deferred keys, and the next batches defer theirs.
        #expect(wasDeferred.allSatisfy { $0 }, "\(wasDeferred), seed \(seed)")
        #expect(most == 300 ? keyed.count > 2 : keyed == [0], "\(keyed), seed \(seed)")
        try expectWhole()
        #expect(try stored() == expected(rows), "seed \(seed)")
        #expect(writer.counts.inserted == Set(rows.map(\.id)).count)
        #expect(writer.counts.inserted + writer.counts.updated + writer.counts.unchanged == rows.count)
        for row in rows.suffix(20) { #expect(try count(of: row.id) == 1) }
    }

    /// There are enough objects for several threads to find the keys that an unfinished import has left out.
    @Test(arguments: [true, false]) func manyDeferredKeysAreAllWritten(isFinished: Bool) throws {
        var generator = SeededGenerator(seed: 4)
        let first = (0..<12_000 * Self.scale).map { (id: "id-\(1_000_000 + 10 * $0)", size: Int64(0)) }
        let end = 10 * first.count + 1
        let rows = first + (0..<40_000).map { ("id-\(1_000_000 + $0 * 7919 % end)", Int64($0)) }
        let writer = try writer()
        for part in [rows[..<first.count], rows[first.count..<first.count + 200], rows[(first.count + 200)...]] {
            try writer.write(batch(part, writer)) { _, _ in }
            try writer.commitBatch()
        }
        #expect(try isDeferred)
        if isFinished {
            try writer.commit()
        } else {
            writer.rollback()
            _ = try container.store.beginWrite()
        }
        try expectWhole()
        if isFinished { #expect(try storedSizes() == sizes(rows)) }
        for row in (0..<50).map({ _ in rows.randomElement(using: &generator) ?? rows[0] }) {
            #expect(try count(of: row.id) == 1)
        }
    }

    @Test func theNextWriterWritesTheDeferredKeysOfAnUnfinishedImport() throws {
        var generator = SeededGenerator(seed: 7)
        let rows = interleavedRows(&generator)
        do {
            let writer = try writer()
            for part in batches(rows)[..<8] {
                try writer.write(batch(part, writer)) { _, _ in }
                try writer.commitBatch()
            }
        }
        #expect(try isDeferred)
        let other = try BatchWriter(container, entity: "Row", key: "id")
        #expect(try other.object(key: .string(longID(0))) != nil)
        try other.insert([.string("z"), .integer(-1)])
        try other.commit()
        try expectWhole()
        let again = try writer()
        try again.write(batch(rows, again)) { _, _ in }
        try again.commit()
        try expectWhole()
        #expect(try storedSizes() == sizes(rows + [("z", -1)]))
    }

    /// Another writer inserts an object while keys are deferred, which ends the deferral, and another object later.
    @Test func anotherWriterMayWriteBetweenScatteredBatches() throws {
        var generator = SeededGenerator(seed: 8)
        let rows = interleavedRows(&generator)
        let writer = try writer()
        var all: [Row] = []
        for (number, part) in batches(rows).enumerated() {
            try writer.write(batch(part, writer)) { _, _ in }
            try writer.commitBatch()
            all += part
            #expect(try isDeferred == (number <= 2))
            guard number == 2 || number == 5 else { continue }
            let other = try BatchWriter(container, entity: "Row", key: "id")
            let row = (id: longID(10 * rows.count + number), size: Int64(number))
            try other.insert([.string(row.id), .integer(row.size)])
            try other.commit()
            try expectWhole()
            all.append(row)
        }
        try writer.commit()
        try expectWhole()
        #expect(try storedSizes() == sizes(all))
    }

    /// The rows keep the stored values of `size`, so a row that repeats a key doesn't change the object's size.
    @Test func scatteredRowsKeepStoredValuesOfMissingColumns() throws {
        var generator = SeededGenerator(seed: 10)
        let rows = interleavedRows(&generator)
        let writer = try writer()
        for part in batches(rows) {
            try writer.write(batch(part, writer), keepingSlots: [1]) { _, _ in }
            try writer.commitBatch()
        }
        try writer.commit()
        try expectWhole()
        #expect(try storedSizes() == Dictionary(rows.map { ($0.id, Value.integer($0.size)) }) { first, _ in first })
    }

    /// While keys are deferred, rows with null keys are inserted, rows with too long keys are refused, and one batch is
    /// rolled back.
    @Test func deferringKeysAllowsNullsAndRefusesTooLongKeys() throws {
        var generator = SeededGenerator(seed: 9)
        let rows = interleavedRows(&generator)
        let writer = try BatchWriter(container, entity: "Other", key: "id")
        writer.deferUniqueKeys()
        var expected: Set<String> = []
        var (nulls, refused, tooLong) = (0, 0, 0)
        for (number, part) in batches(rows).enumerated() {
            var batch = RecordBatch()
            for row in part {
                let kind = Int.random(in: 0..<20, using: &generator)
                let value: Value = kind == 0 ? .null : .string(kind == 1 ? row.id + row.id : row.id)
                let record = try writer.entity.record([value])
                batch.append(record.span.bytes)
                if number == 6 { continue }
                switch kind {
                case 0: nulls += 1
                case 1: tooLong += 1
                default: expected.insert(row.id)
                }
            }
            try writer.prepare(&batch, as: writer.preparation)
            try writer.write(batch, refused: { _, _ in refused += number == 6 ? 0 : 1 }, done: { _, _ in })
            if number == 6 {
                #expect(try !container.store.snapshot().hasUniqueKeys(of: 1))
                writer.rollback()
            } else {
                try writer.commitBatch()
            }
        }
        try writer.commit()
        #expect(refused == tooLong && tooLong > 0 && nulls > 0)
        #expect(try container.store.snapshot().check() == [])
        let context = container.newContext()
        let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Other")).map { $0["id"] }
        #expect(found.count == expected.count + nulls)
        #expect(Set(found.filter { !$0.isNull }.map { "\($0)" }) == expected)
    }
}
