import Foundation
import FetchIndexPlatform
@testable import FetchIndex
import FetchIndexLMDB
import FetchIndexOrderCaches
@testable import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// Writers go on while an index, or a record that it needs, is damaged.
@Suite struct IndexDamageTests {
    private let container: PersistentContainer
    private static let name = "index:Row(name)"

    init() throws {
        let entity = Entity("Row", [AttributeDescription("name", .string)], indexes: [Index(["name"])])
        container = try PersistentContainer(temporaryWith: Model(entities: [entity]))
        let writer = try BatchWriter(container, entity: "Row")
        for number in 0..<20 { try writer.insert([.string("row \(number)")]) }
        try writer.commit()
    }

    private func save(_ name: String) throws {
        let context = container.newContext()
        try context.insert("Row")["name"] = .string(name)
        try context.save()
    }

    private func damage(_ body: (StoreWriter) throws -> Void) throws {
        let writer = try container.store.beginWrite()
        try body(writer)
        try writer.commit()
    }

    private func damageHeader(_ writer: StoreWriter) throws {
        var header: [UInt8] = []
        _ = try writer.view.get(Array(Self.name.utf8), in: writer.tables.caches) { header = [UInt8](copying: $0) }
        header[header.count - 1] ^= 1
        try writer.view.put(header, for: Array(Self.name.utf8), in: writer.tables.caches)
    }

    /// The index is missing, because a damaged record prevents its rebuild. The model can change nevertheless.
    @Test func aModelMayChangeWhileAnIndexIsMissing() throws {
        try damage { writer in
            try writer.view.put(Array("damaged".utf8).span.bytes, for: UInt64(5), in: writer.tables.records)
            try damageHeader(writer)
        }
        try save("new")
        let other = Entity("Other", [AttributeDescription("name", .string)], indexes: [Index(["name"])])
        try container.migrate(to: Model(entities: [other]))
        #expect(try container.cacheStatistics().map(\.name) == ["index:Other(name)"])
    }

    @Test func writersGoOnWithADamagedListOfMaintainedCaches() throws {
        let definition = OrderDefinition(entity: "Row", sortKeys: [SortKey("name", .descending)])
        try container.withOrder(definition, .init(cacheName: "turned")) { _ in }
        try container.setMaintained(true, cacheNamed: "turned")
        try damage { writer in try writer.setCacheList(.maintained, Array("damaged".utf8)) }
        try save("new")
        #expect(try container.check { _, _ in }.contains { $0.hasPrefix("the list of maintained caches") })
        let repair = try PersistentContainer.repair(at: URL(fileURLWithPath: container.store.path)) { _, _ in }
        #expect(repair.left == [])
        #expect(repair.repairs == ["the list of maintained caches was damaged: it is empty now"])
        try container.setMaintained(true, cacheNamed: "turned")
        try save("newer")
        #expect(try container.cacheStatistics().map(\.isFresh) == [true, true])
    }

    @Test func theNextSaveRebuildsADamagedIndex() throws {
        try damage { writer in
            try writer.view.forEachEntry(in: writer.tables.nodes) { cursor in
                var node = [UInt8](copying: cursor.value)
                node[node.count / 2] ^= 0x10
                try cursor.put(node.span.bytes, for: cursor.integerKey)
            }
        }
        #expect(try !container.check { _, _ in }.isEmpty)
        try save("new")
        #expect(try container.check { _, _ in } == [])
        #expect(try container.cacheStatistics().map(\.rowCount) == [21])
    }

    @Test func theNextSaveReplacesADamagedIndexHeader() throws {
        try damage { try damageHeader($0) }
        try save("new")
        #expect(try container.check { _, _ in } == [])
        #expect(try container.cacheStatistics().map(\.rowCount) == [21])
    }

    @Test func savesGoOnWithoutAnIndexThatCannotBeBuilt() throws {
        let record = try #require(try container.store.snapshot().copy(of: RecordKey(entity: 0, number: 5)))
        try damage { writer in
            try writer.view.put(Array("damaged".utf8).span.bytes, for: UInt64(5), in: writer.tables.records)
            try damageHeader(writer)
        }
        try save("new")
        #expect(try container.cacheStatistics().isEmpty)
        try save("newer")
        #expect(try container.check { _, _ in }.contains { $0.contains("the order of the index") })
        try damage { writer in try writer.view.put(record.span.bytes, for: UInt64(5), in: writer.tables.records) }
        let repair = try PersistentContainer.repair(at: URL(fileURLWithPath: container.store.path)) { _, _ in }
        #expect(repair.left == [])
        #expect(repair.repairs == ["the order of the index \"\(Self.name)\" was missing: built"])
        #expect(try container.cacheStatistics().map(\.rowCount) == [22])
    }
}
