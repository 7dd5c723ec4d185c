import Foundation
import FetchIndexPlatform
@testable import FetchIndex
import FetchIndexLMDB
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexOrderCaches
@testable import FetchIndexRecords

/// Damages a store in many ways, one after the other, and repairs it each time.
@Suite struct RepairTests {
    private static let model = Model(entities: [
        Entity(
            "Book",
            [
                AttributeDescription("id", .string, isOptional: false, isUnique: true),
                AttributeDescription("publisher", .string), AttributeDescription("price", .integer),
            ]),
        Entity("Shop", [AttributeDescription("name", .string)]),
    ])
    private static let definitions = [
        "by price": OrderDefinition(entity: "Book", sortKeys: [SortKey("price")]),
        "by publisher": OrderDefinition(
            entity: "Book", sortKeys: [SortKey("id")], sectionKey: .attribute("publisher")),
    ]

    private let folder = TemporaryFolder()
    let copy = TemporaryFolder()
    let container: PersistentContainer

    /// Makes a copy of a store with commits in the log, deleted objects, and two caches, of which one is behind.
    init() throws {
        let original = try PersistentContainer(path: folder.path, model: Self.model)
        for commit in 0..<6 {
            let writer = try original.store.beginWrite()
            for number in 0..<100 {
                let record = try Self.model.entities[0].record([
                    .string("b\(commit)-\(number)"), .string("p\(number % 7)"), .integer(Int64(number * 37 % 101)),
                ])
                try writer.insert(0, record.span.bytes)
            }
            if commit > 0 { for number in 1...20 { try writer.delete(Self.book(commit * 20 + number)) } }
            try writer.commit()
            for (name, definition) in Self.definitions where commit < 5 || name == "by price" {
                try original.withOrder(definition, .init(cacheName: name)) { _ in }
            }
        }
        _ = try original.store.backup(to: copy.path)
        container = try PersistentContainer(path: copy.path)
    }

    private static func book(_ number: Int) -> RecordKey { RecordKey(entity: 0, number: UInt64(number)) }

    private func write(_ body: (StoreWriter) throws -> Void) throws {
        let writer = try container.store.beginWrite()
        try body(writer)
        try writer.commit()
    }

    func entries(_ table: KeyPath<StoreTables, Table>) throws -> [[UInt8]: [UInt8]] {
        let snapshot = try container.store.snapshot()
        return try snapshot.view.withCursor(on: snapshot.tables[keyPath: table]) { cursor in
            var entries: [[UInt8]: [UInt8]] = [:]
            var isAtEntry = try cursor.seekToFirst()
            while isAtEntry {
                entries[[UInt8](copying: cursor.key)] = [UInt8](copying: cursor.value)
                isAtEntry = try cursor.seekToNext()
            }
            return entries
        }
    }

    /// Changes the value of one entry of a table. If the body returns nil, removes the entry.
    func change(
        _ table: KeyPath<StoreTables, Table>, _ key: [UInt8], _ body: ([UInt8]) -> [UInt8]?
    ) throws {
        let value = try entries(table)[key] ?? []
        try write { writer in
            let table = writer.tables[keyPath: table]
            if let changed = body(value) {
                try writer.view.put(changed.span.bytes, for: key.span.bytes, in: table)
            } else {
                try writer.view.delete(key.span.bytes, in: table)
            }
        }
    }

    func flipped(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        bytes[bytes.count / 2] ^= 0x10
        return bytes
    }

    /// Repairs the store. Expects that damage was reported and repaired, that no defect is left, that records are
    /// unchanged, and that each cache has the rows of an order that is computed from the records.
    @discardableResult
    func repair(_ comment: Comment? = nil, location: SourceLocation = #_sourceLocation) throws -> StoreRepair {
        let records = try entries(\.records)
        let next = (try? container.store.snapshot().entityState(0).nextObject) ?? 0
        let repair = try PersistentContainer.repair(at: URL(fileURLWithPath: copy.path)) { _, _ in }
        #expect(!repair.defects.isEmpty, comment, sourceLocation: location)
        #expect(!repair.repairs.isEmpty, comment, sourceLocation: location)
        #expect(repair.left == [], comment, sourceLocation: location)
        #expect(try entries(\.records) == records, comment, sourceLocation: location)
        #expect(try container.store.snapshot().entityState(0).nextObject >= next, sourceLocation: location)
        #expect(
            try PersistentContainer.repair(at: URL(fileURLWithPath: copy.path)) { _, _ in }.defects == [],
            sourceLocation: location)
        for definition in Self.definitions {
            let rows = try container.withOrder(definition.value, .init(cacheName: definition.key)) { try self.rows($0) }
            let right = try container.withOrder(definition.value, .init()) { try self.rows($0) }
            #expect(rows == right, comment, sourceLocation: location)
            #expect(rows.count == 500, comment, sourceLocation: location)
        }
        return repair
    }

    private func rows(_ order: FetchedOrder) throws -> [String] {
        var rows: [String] = []
        try order.forEachRow { rows.append("\($0.path) \($0.id)") }
        return rows
    }

    @Test func aRepairDoesNotWriteToASoundStore() throws {
        let before = try container.store.lastTransaction()
        #expect(try PersistentContainer.repair(at: URL(fileURLWithPath: copy.path)) { _, _ in }.defects == [])
        #expect(try container.store.lastTransaction() == before)
    }

    @Test func damagedUniqueKeysAreRewrittenFromRecords() throws {
        let keys = try entries(\.unique).keys.sorted { $0.lexicographicallyPrecedes($1) }
        try change(\.unique, keys[3]) { _ in nil }
        try repair("one is missing")
        try change(\.unique, keys[4]) { [$0[0] &+ 1] + $0.dropFirst() }
        try repair("one leads elsewhere")
        try change(\.unique, keys[5]) { Array($0.dropLast(3)) }
        try repair("one is too short")
        let other = try #require(try entries(\.unique)[keys[9]])
        try change(\.unique, keys[5]) { _ in other }
        try repair("one leads to the object of another key")
        try change(\.unique, keys[6] + [7]) { _ in other }
        try repair("a key that no record has")
        try change(\.unique, [1]) { _ in [1] }
        try repair("a key of unknown form")
        for key in keys { try change(\.unique, key) { _ in nil } }
        try repair("all are missing")
        #expect(try entries(\.unique).count == 500)
    }

    @Test func damagedCountersAreRecounted() throws {
        let key = StoreLayout.entityKey(0)
        for (state, next) in [((600, 499), 601), ((1, 500), 601), ((7, 0), 601), ((9000, 1), 9000)] {
            try change(\.meta, key) { _ in
                var wrong = EntityState()
                (wrong.nextObject, wrong.count) = (UInt64(state.0), UInt64(state.1))
                return wrong.encoded
            }
            try repair("\(state)")
            #expect(try container.store.snapshot().entityState(0) == EntityState(nextObject: UInt64(next), count: 500))
        }
        try change(\.meta, key, flipped)
        try repair("the checksum is wrong")
        try change(\.meta, key) { _ in nil }
        try repair("it is missing")
        #expect(try container.store.snapshot().entityState(0).nextObject == 601)
    }

    /// The last objects are deleted, so only the log has their object numbers.
    @Test func aMissingObjectCounterIsRestoredFromTheLog() throws {
        try write { writer in for number in 561...600 { try writer.delete(Self.book(number)) } }
        try change(\.meta, StoreLayout.entityKey(0)) { _ in nil }
        _ = try PersistentContainer.repair(at: URL(fileURLWithPath: copy.path)) { _, _ in }
        #expect(try container.store.snapshot().entityState(0) == EntityState(nextObject: 601, count: 460))
    }

    @Test func aDamagedLogIsTrimmedThroughTheDamagedCommit() throws {
        let parts = try entries(\.log).keys.filter { $0[7] == 3 }.sorted { $0.lexicographicallyPrecedes($1) }
        #expect(parts.count > 1)
        try change(\.log, parts[1], flipped)
        #expect(try repair("a part").repairs.contains { $0.contains("up to commit 3") })
        #expect(try container.store.snapshot().state.logStart == 3)
        try change(\.log, [0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0], flipped)
        try repair("a header")
        try change(\.log, [0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1]) { _ in nil }
        #expect(try container.store.snapshot().state.logStart == 4)
        try repair("a part is missing")
        try change(\.log, [0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0]) { _ in nil }
        try repair("the newest header is missing")
        #expect(try container.store.snapshot().state.logStart == 6)
    }

    @Test func aRepairRemovesInvalidEntriesOfTheLog() throws {
        try change(\.log, [1, 2, 3]) { _ in [0] }
        try repair("a key of unknown form")
        try change(\.log, [0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 0]) { _ in [1, 2, 3, 4, 5] }
        try repair("a commit after the newest one")
        try write { writer in
            writer.state.logBytes += 5
            writer.isStateChanged = true
        }
        try repair("the state has another size of the log")
        #expect(try container.store.snapshot().state.logStart == 0)
    }

    @Test func aRepairReplacesADamagedStateByAStateWithALaterCommit() throws {
        for (isMissing, commit) in [(false, UInt64(7)), (true, 8)] {
            try damageState(isMissing: isMissing)
            #expect(throws: StoreError.self) { try container.store.snapshot() }
            let records = try PersistentContainer.repair(at: URL(fileURLWithPath: copy.path)) { _, _ in }
            #expect(records.left == [])
            #expect(records.repairs.contains { $0.contains("at commit \(commit)") })
            let state = try container.store.snapshot().state
            #expect(state.commit == commit)
            #expect(state.logStart == commit)
            for (name, definition) in Self.definitions {
                try container.withOrder(definition, .init(cacheName: name)) { order in
                    #expect(order.outcome == .rebuilt(.logTooShort))
                    #expect(order.rowCount == 500)
                }
            }
        }
    }

    private func damageState(isMissing: Bool) throws {
        let transaction = try container.store.environment.beginWrite()
        let key = StoreLayout.stateKey, meta = container.store.tables.meta
        var value: [UInt8] = []
        _ = try transaction.view.get(key.span.bytes, in: meta) { value = flipped([UInt8](copying: $0)) }
        if isMissing {
            try transaction.view.delete(key.span.bytes, in: meta)
        } else {
            try transaction.view.put(value.span.bytes, for: key.span.bytes, in: meta)
        }
        try transaction.commit()
    }

    @Test func repairingAMissingStoreOrANewerFormatIsRefused() throws {
        let missing = TemporaryFolder()
        #expect(throws: StoreError.missing(path: missing.path)) {
            try PersistentContainer.repair(at: URL(fileURLWithPath: missing.path)) { _, _ in }
        }
        try damageState(isMissing: true)
        var format: [UInt8] = []
        format.appendNumber(StoreLayout.version + 1)
        format.appendChecksum()
        let transaction = try container.store.environment.beginWrite()
        let key = StoreLayout.formatKey
        try transaction.view.put(format.span.bytes, for: key.span.bytes, in: container.store.tables.meta)
        try transaction.commit()
        let before = try container.store.lastTransaction()
        #expect(throws: StoreError.self) {
            try PersistentContainer.repair(at: URL(fileURLWithPath: copy.path)) { _, _ in }
        }
        #expect(try container.store.lastTransaction() == before)
    }

    @Test func aRepairListsDamagedRecordsAndRepairsUniqueKeysAndCaches() throws {
        try change(\.records, [1, 1, 0, 0, 0, 0, 0, 0], flipped)
        try change(\.caches, Array("by price".utf8), flipped)
        // Removes unique keys of other records, because the unique key of the damaged record couldn't be written again.
        let unique = try entries(\.unique).keys.sorted { $0.lexicographicallyPrecedes($1) }.prefix(3)
        for lost in unique { try change(\.unique, lost) { _ in nil } }
        let (records, repair) = try (
            entries(\.records), PersistentContainer.repair(at: URL(fileURLWithPath: copy.path)) { _, _ in }
        )
        #expect(try entries(\.records) == records)
        for what in ["unique keys", "\"by price\""] { #expect(repair.repairs.contains { $0.contains(what) }) }
        #expect(!repair.left.isEmpty)
        #expect(repair.left.allSatisfy { $0.contains("Book 257") }, "\(repair.left)")
    }
}
