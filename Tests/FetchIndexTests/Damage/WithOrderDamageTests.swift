import FetchIndexLMDB
import FetchIndex
import Foundation
@testable import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// `withOrder` calls its body a second time if the body met damage of the cache, but not after damage of a record or an
/// error of the body's own.
@Suite struct WithOrderDamageTests {
    private let container: PersistentContainer
    private let definition = OrderDefinition(entity: "Row", sortKeys: [SortKey("name")])

    init() throws {
        let entity = Entity("Row", [AttributeDescription("name", .string)])
        container = try PersistentContainer(temporaryWith: Model(entities: [entity]))
        let writer = try BatchWriter(container, entity: "Row")
        for number in 0..<20 { try writer.insert([.string("row \(number)")]) }
        try writer.commit()
        try container.withOrder(definition, .init(cacheName: "rows")) { #expect($0.rowCount == 20) }
    }

    /// Opens the order with a body that calls `fail`. Returns the number of calls, and the error that `withOrder`
    /// threw.
    private func calls(_ fail: (FetchedOrder) throws -> Void) -> (count: Int, error: (any Error)?) {
        var count = 0
        do {
            try container.withOrder(definition, .init(cacheName: "rows")) { order in
                count += 1
                try fail(order)
            }
            return (count, nil)
        } catch { return (count, error) }
    }

    @Test func aDamagedRecordDoesNotRebuildTheCache() throws {
        let writer = try container.store.beginWrite()
        let key = UInt64(5)
        try writer.view.put(Array("damaged".utf8).span.bytes, for: key, in: writer.tables.records)
        try writer.commit()
        let result = calls { order in try order.forEachRow { row in _ = try row.value(of: "name") } }
        #expect(result.count == 1)
        #expect(result.error is StoreError)
        #expect(try container.cacheStatistics().map(\.isFresh) == [true])
    }

    @Test func theBodyIsNotCalledAgainAfterItsOwnError() {
        let result = calls { _ in throw StoreError.corrupted("another store") }
        #expect(result.count == 1)
        #expect(result.error as? StoreError == .corrupted("another store"))
    }

    @Test func aDamagedCacheIsRebuiltAndTheBodyCalledAgain() throws {
        let writer = try container.store.beginWrite()
        var nodes: [UInt64] = []
        try writer.view.forEachEntry(in: writer.tables.nodes) { nodes.append($0.integerKey) }
        for node in nodes {
            try writer.view.put(Array("damaged".utf8).span.bytes, for: node, in: writer.tables.nodes)
        }
        try writer.commit()
        var names: [Value] = []
        let result = calls { order in
            names = []
            try order.forEachRow { row in names.append(try row.value(of: "name")) }
        }
        #expect(result.count == 2)
        #expect(result.error == nil)
        #expect(names.count == 20)
    }

    /// The change since a point doesn't need the cache: a damaged one isn't read before the body is called.
    @Test func theChangeSinceAPointIsFoundDespiteADamagedCache() throws {
        let writer = try BatchWriter(container, entity: "Row")
        try writer.insert([.string("row 21")])
        try writer.commit()
        let damaging = try container.store.beginWrite()
        var nodes: [UInt64] = []
        try damaging.view.forEachEntry(in: damaging.tables.nodes) { nodes.append($0.integerKey) }
        for node in nodes {
            try damaging.view.put(Array("damaged".utf8).span.bytes, for: node, in: damaging.tables.nodes)
        }
        try damaging.commit()
        var count = 0
        try container.withOrder(definition, .init(cacheName: "rows"), since: .commit(1)) { order, change in
            count += 1
            #expect(change.rows.map(\.kind) == [.insert])
            #expect(order.rowCount == 21)
        }
        #expect(count == 1)
    }
}
