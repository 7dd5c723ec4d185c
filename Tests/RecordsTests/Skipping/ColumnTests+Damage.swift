import FetchIndexPlatform
import FetchIndexLMDB
import FetchIndexModels
import FetchIndexTestSupport
import Testing

@testable import FetchIndexRecords

/// Damaged columns and records.
extension ColumnTests {
    private func write(_ body: (TransactionView, Table) throws -> Void) throws {
        let transaction = try test.store.environment.beginWrite()
        try body(transaction.view, test.store.tables.meta)
        try transaction.commit()
    }

    private func stored(_ key: TextColumnKey) throws -> [UInt8] {
        var bytes: [UInt8] = []
        let reader = try snapshot
        _ = try reader.view.get(key.bytes, in: reader.tables.meta) { bytes = [UInt8](copying: $0) }
        return bytes
    }

    /// `check` reports each of these kinds of damage, and a repair mends it. Scans for a text read all matching
    /// objects; this isn't tried with wrong codes under a right checksum.
    @Test func damagedColumnsAreReportedAndRepaired() throws {
        try insert(9000)
        let key = TextColumnKey(ZoneKey(entity: 0, index: 0), slot: Self.kind)
        let other = TextColumnKey(ZoneKey(entity: 0, index: 1), slot: Self.kind)
        let right = try stored(key)
        let all = try columns()
        func damage(_ defect: String, isRead: Bool = true, _ change: (TransactionView, Table) throws -> Void) throws {
            try write(change)
            let found = try snapshot.check()
            #expect(found.count == 1 && found[0].contains(defect), "\(found)")
            if isRead { try skipped(Self.kind, "kind-1", defect) }
            var done: [String] = []
            try test.write { done = try $0.repair { _ in } }
            #expect(done == ["1 zone was missing or wrong: corrected"], "\(done)")
            #expect(try stored(key) == right && columns() == all && snapshot.check() == [])
        }
        for place in [0, 1, 3, 10, 30, 4000, right.count - 1] {
            try damage("the column of slot 1 in zone 0 of entity 0 does not match its checksum") { view, table in
                var bytes = right
                bytes[place] ^= 4
                try view.put(bytes, for: key.bytes, in: table)
            }
        }
        try damage("the column of slot 1 in zone 0 of entity 0 is missing") { view, table in
            try view.delete(key.bytes, in: table)
        }
        // One column is in place of another.
        try damage("the column of slot 1 in zone 0 of entity 0 does not match its checksum") { view, table in
            try view.put(stored(other), for: key.bytes, in: table)
        }
        func changed(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
            var bytes = Array(right.dropLast(4))
            change(&bytes)
            bytes.appendChecksum(with: key.checksum)
            return bytes
        }
        try damage("is malformed") { view, table in
            try view.put(changed { $0.removeLast() }, for: key.bytes, in: table)
        }
        // The checksums are right, so scans may miss matching objects.
        try damage("says that object 8191 has another text", isRead: false) { view, table in
            try view.put(changed { $0[$0.count - 1] ^= 1 }, for: key.bytes, in: table)
        }
        try damage("says that object 8191 has another text", isRead: false) { view, table in
            try view.put(changed { $0[$0.count - 1] = 200 }, for: key.bytes, in: table)
        }
        try damage("counts 8192 objects, but has 8191", isRead: false) { view, table in
            try view.put(changed { $0[$0.count - 8192] = 1 }, for: key.bytes, in: table)
        }
        try damage("the column of slot 1 in zone 5 of entity 0 is not listed by a zone") { view, table in
            let stray = TextColumnKey(ZoneKey(entity: 0, index: 5), slot: Self.kind)
            try view.put(right, for: stray.bytes, in: table)
        }
    }

    /// A scan that reads the damaged record throws. When the columns of its zone must be rebuilt, they are deleted
    /// instead.
    @Test func aZoneWithADamagedRecordGetsNoNewColumns() throws {
        try insert(8191)
        let object = RecordKey(entity: 0, number: 77)
        let right = try #require(try snapshot.copy(of: object))
        func put(_ bytes: [UInt8]) throws {
            let transaction = try test.store.environment.beginWrite()
            try transaction.view.put(bytes.span.bytes, for: object.rawValue, in: test.store.tables.records)
            try transaction.commit()
        }
        try put(right.dropLast() + [right[right.count - 1] ^ 1])
        // The record is the only defect that `check` reports.
        #expect(try snapshot.check().count == 1)
        try test.write { writer in
            for number in 1000..<2000 {
                let record = try Self.record(number, kind: "new", section: nil)
                try writer.update(RecordKey(entity: 0, number: UInt64(number)), record.span.bytes)
            }
        }
        #expect(try columns() == [] && zones()[0]!.coded == CodedPlaces())
        let filter = try #require(Self.filter(Self.kind, "none"))
        #expect(throws: StoreError.self) {
            _ = try snapshot.readBlocks(of: 0, numbers: [0..<9000], where: filter) { _ in true }
        }
        try put(right)
        let record = try Self.record(1, kind: "new", section: nil)
        try test.write { try $0.update(RecordKey(entity: 0, number: 1), record.span.bytes) }
        #expect(try columns() == ["0:1", "0:2"])
    }

    /// A record is lost among the objects that a scan reads, while the scan skips other objects.
    @Test func aScanThatSkipsObjectsReportsALostRecord() throws {
        try insert(8191) { $0 == 5000 ? "rare" : "common" }
        let transaction = try test.store.environment.beginWrite()
        try transaction.view.delete(RecordKey(entity: 0, number: 5000).rawValue, in: test.store.tables.records)
        try transaction.commit()
        let filters = [Self.filter(Self.kind, "rare"), Self.filter(Self.kind, "absent")]
        let scan = try Scan(of: snapshot, entities: [0], fewestOfThread: .max)
        #expect(throws: StoreError.self) { try scan.forEachBlock(of: 0, where: [filters[0]]) { _, _ in } }
        try test.write { _ = try $0.repair { _ in } }
        try scan.forEachBlock(of: 0, where: [filters[1]]) { _, _ in }
    }
}
