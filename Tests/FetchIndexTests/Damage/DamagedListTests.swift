import Foundation
import FetchIndex
import FetchIndexLMDB
import FetchIndexOrderCaches
import FetchIndexTestSupport
import Testing

@testable import FetchIndexRecords

/// The lists of maintained, unread and locked caches, and the identifier of the store whose export filled the store,
/// are damaged. `check` reports that, and a repair replaces or removes the damaged value. No cache is deleted.
@Suite struct DamagedListTests {
    private static let byPrice = OrderDefinition(entity: "Book", sortKeys: [SortKey("price")])
    private let folder: TemporaryFolder
    private let container: PersistentContainer

    init() throws {
        folder = TemporaryFolder()
        container = try PersistentContainer(path: folder.path, model: Model(Book.self))
        try put(20)
        for name in ["a", "b"] { _ = try changes(of: name) }
    }

    private func put(_ count: Int) throws {
        let writer = try BatchWriter(container, entity: "Book")
        for number in 0..<count {
            try writer.insert([.string("t\(number)"), .string("P"), .integer(Int64(number % 7)), .null])
        }
        try writer.commit()
    }

    private func changes(of name: String) throws -> FetchOutcome {
        var options = PersistentContainer.OrderOptions(cacheName: name)
        options.needsExactChange = true
        return try container.withOrder(Self.byPrice, options) { $0.outcome }
    }

    private func damage(_ list: CacheList) throws {
        let writer = try container.store.beginWrite()
        try writer.setCacheList(list, Array("damaged".utf8))
        try writer.commit()
    }

    private func repair() throws -> StoreRepair {
        try PersistentContainer.repair(at: URL(fileURLWithPath: folder.path)) { _, _ in }
    }

    @Test(arguments: [CacheList.maintained, .unread, .locked])
    func aDamagedListIsReportedAndReplaced(list: CacheList) throws {
        try damage(list)
        let defects = try container.check { _, _ in }
        #expect(defects.count == 1 && defects[0].contains("the list of \(list) caches"), "\(defects)")
        let repair = try repair()
        #expect(repair.defects == defects)
        #expect(repair.repairs.count == 1 && repair.repairs[0].contains("list of \(list) caches"), "\(repair)")
        #expect(repair.left == [])
        #expect(try container.cacheStatistics().map(\.name) == ["a", "b"])
    }

    @Test func aDamagedOriginOfObjectNumbersIsReportedAndRemoved() throws {
        let writer = try container.store.beginWrite()
        try writer.view.put(Array("damaged".utf8), for: StoreLayout.numbersKey, in: writer.tables.meta)
        try writer.commit()
        let repair = try repair()
        #expect(
            repair.defects.count == 1 && repair.defects[0].contains("origin of the store's numbers"), "\(repair)")
        #expect(repair.repairs.count == 1)
        #expect(repair.left == [])
    }

    /// The lost list may have contained any cache, so the exact reader of each cache gets one rebuild.
    @Test(arguments: [false, true]) func eachReaderGetsOneRebuildAfterTheListOfUnreadCachesIsDamaged(isRepaired: Bool)
        throws
    {
        try damage(.unread)
        if isRepaired { _ = try repair() }
        try put(1)
        for name in ["a", "b"] {
            #expect(try changes(of: name) == .rebuilt(.damaged))
            #expect(try changes(of: name) == .hit)
        }
        #expect(try container.check { _, _ in } == [])
    }

    /// The nodes of cache "a" are damaged too. The cache must still exist after a save with a live controller, after a
    /// save that maintains the cache, and after a repair.
    @Test(arguments: ["live", "maintained", "repair"]) func aDamagedCacheIsNotDeletedWhileTheListOfLocksIsDamaged(
        way: String
    ) throws {
        if way == "maintained" { try container.setMaintained(true, cacheNamed: "a") }
        let context = container.newContext()
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest<Book>(sortKeys: [SortKey(\.price)]), context: context, cacheName: "a")
        if way == "live" { try controller.performFetch() }
        try damage(.locked)
        let header = try #require(try CacheDirectory.header("a", in: container.store.snapshot()))
        let writer = try container.store.beginWrite()
        var nodes: [UInt64] = []
        try writer.view.walk(writer.tables.nodes, from: UInt64(header.number) << 40) { cursor in
            if cursor.integerKey >> 40 == UInt64(header.number) { nodes.append(cursor.integerKey) }
            return true
        }
        let nonsense = Array("nonsense".utf8)
        for node in nodes { try writer.view.put(nonsense.span.bytes, for: node, in: writer.tables.nodes) }
        try writer.commit()
        if way == "repair" {
            _ = try repair()
        } else {
            let book = Book(context: context)
            (book.title, book.publisher, book.price) = ("new", "P", 3)
            try context.save()
        }
        #expect(try container.cacheStatistics().map(\.name) == ["a", "b"])
        #expect(try changes(of: "b") != .rebuilt(.first))
        withExtendedLifetime(controller) {}
    }
}
