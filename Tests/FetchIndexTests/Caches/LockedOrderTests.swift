import FetchIndexPlatform
import FetchIndex
import Foundation
import FetchIndexLMDB
import FetchIndexOrderCaches
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

/// Requests for a locked cache that is current, behind, unusable or damaged: its own request and another one.
@Suite struct LockedOrderTests {
    private let store: LiveStore
    private var container: PersistentContainer { store.container }
    private let byPrice = OrderDefinition(entity: "Book", sortKeys: [SortKey("price")])
    private let byTitle = OrderDefinition(entity: "Book", sortKeys: [SortKey("title")])

    init() throws {
        store = try LiveStore(Model(Book.self))
        try put(20)
        try container.withOrder(byPrice, .init(cacheName: "c")) { _ in }
        try container.setLocked(true, cacheNamed: "c")
    }

    private func put(_ count: Int) throws {
        let writer = try BatchWriter(container, entity: "Book")
        for number in 0..<count {
            try writer.insert([.string("t\(number)"), .string("P"), .integer(Int64(number % 7)), .null])
        }
        try writer.commit()
    }

    private func open(_ definition: OrderDefinition, named name: String = "c") throws -> FetchOutcome {
        try container.withOrder(definition, .init(cacheName: name)) { $0.outcome }
    }

    private func requireLocked() throws {
        #expect(throws: CacheError.locked("c")) { try open(byTitle) }
        let request = FetchRequest<Book>(sortKeys: [SortKey(\.title)])
        let controller = try FetchedResultsController(
            fetchRequest: request, context: container.newContext(), cacheName: "c")
        #expect(throws: CacheError.locked("c")) { try controller.performFetch() }
        #expect(throws: CacheError.locked("c")) { try container.deleteCache(named: "c") }
        #expect(throws: CacheError.locked("c")) { try container.deleteCache(named: nil) }
    }

    @Test func aLockedCacheServesItsOwnRequestAndRefusesAnotherOne() throws {
        try requireLocked()
        #expect(try open(byPrice) == .hit)
        #expect(try container.cacheStatistics().map(\.isLocked) == [true])
        try put(3)
        try requireLocked()
        guard case .caughtUp = try open(byPrice) else {
            Issue.record("the cache was not caught up")
            return
        }
        let context = container.newContext()
        try put(3)
        try context.mergeChanges()
        try context.deleteHistory(before: context.commit + 1)
        try requireLocked()
        #expect(try open(byPrice) == .rebuilt(.logTooShort))
        try container.setLocked(false, cacheNamed: "c")
        #expect(try open(byTitle) == .rebuilt(.sortChanged))
    }

    /// The lock contains the request, so it's effective even if the cache's header can't be read.
    @Test func aCacheWithADamagedHeaderStaysLocked() throws {
        let writer = try container.store.beginWrite()
        var header: [UInt8] = []
        _ = try writer.view.get(Array("c".utf8), in: writer.tables.caches) { header = [UInt8](copying: $0) }
        header[header.count - 1] ^= 1
        try writer.view.put(header, for: Array("c".utf8), in: writer.tables.caches)
        try writer.commit()
        #expect(throws: CacheError.locked("c")) { try open(byTitle) }
        #expect(try open(byPrice) == .rebuilt(.damaged))
        try requireLocked()
    }

    @Test func aReadOnlyStoreRefusesAnotherRequestForALockedCache() throws {
        let reader = try PersistentContainer(at: URL(fileURLWithPath: store.folder.path), isReadOnly: true)
        #expect(throws: CacheError.locked("c")) {
            try reader.withOrder(byTitle, .init(cacheName: "c")) { _ in }
        }
        #expect(try reader.withOrder(byPrice, .init(cacheName: "c")) { $0.rowCount } == 20)
    }

    @Test func anOptionForbidsReplacingAnUnlockedCache() throws {
        #expect(try open(byPrice, named: "d") == .rebuilt(.first))
        var options = PersistentContainer.OrderOptions(cacheName: "d")
        options.replacesOtherRequest = false
        #expect(throws: CacheError.locked("d")) { try container.withOrder(byTitle, options) { _ in } }
        #expect(try container.withOrder(byPrice, options) { $0.outcome } == .hit)
        options.cacheName = "e"
        #expect(try container.withOrder(byTitle, options) { $0.outcome } == .rebuilt(.first))
        #expect(try open(byTitle, named: "d") == .rebuilt(.sortChanged))
    }

    @Test func anotherRequestIsRefusedWhileTheListOfLocksIsDamaged() throws {
        let writer = try container.store.beginWrite()
        try writer.setCacheList(.locked, Array("damaged".utf8))
        try writer.commit()
        #expect(throws: StoreError.self) { try open(byTitle) }
        #expect(try open(byPrice) == .hit)
        let repair = try container.store.beginWrite()
        #expect(
            try CacheDirectory.repairLists(in: repair)
                == ["the list of locked caches was damaged: no cache is locked now"])
        try repair.commit()
        #expect(try open(byTitle) == .rebuilt(.sortChanged))
    }

    @Test func droppingAnEntityDeletesItsLockedCaches() throws {
        #expect(try container.dropEntity(named: "Book") == 20)
        #expect(try container.cacheStatistics().isEmpty)
        #expect(throws: CacheError.unknown("c")) { try container.setLocked(false, cacheNamed: "c") }
    }
}
