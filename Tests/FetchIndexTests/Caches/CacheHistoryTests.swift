import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// The history of a cache: its last openings that weren't hits, and its hits by hour.
@Suite struct CacheHistoryTests {
    private static let model = Model(entities: [
        Entity("Item", [AttributeDescription("name", .string), AttributeDescription("size", .integer)])
    ])

    private let store: LiveStore
    private var container: PersistentContainer { store.container }
    private var file: String { store.folder.path + "/statistics" }

    init() throws {
        store = try LiveStore(Self.model)
        try insert(10)
    }

    private func insert(_ count: Int) throws {
        let context = container.newContext()
        for number in 0..<count { try context.insert("Item")["size"] = .integer(Int64(number)) }
        try context.save()
    }

    private func open(
        _ name: String = "c", sort: String = "size", author: String = "me", in other: PersistentContainer? = nil
    ) throws {
        var options = PersistentContainer.OrderOptions(cacheName: name)
        options.author = author
        try (other ?? container).withOrder(OrderDefinition(entity: "Item", sortKeys: [SortKey(sort)]), options) { _ in }
    }

    private func hits(_ name: String) throws -> Int {
        try container.cacheHistory(name).hitsByHour.map(\.count).reduce(0, +)
    }

    /// A container may hold hits in memory until a later hit. When it's released, it tries to write the hits that it
    /// still holds.
    @Test func aReleasedContainerWritesItsRemainingHits() throws {
        try open()
        do {
            let other = try PersistentContainer(at: URL(fileURLWithPath: store.folder.path))
            for _ in 0..<5 { try open(in: other) }
            #expect((1...5).contains(try hits("c")))
            try open()
        }
        #expect(try hits("c") == 6)
        #expect(try container.cacheStatistics().map(\.hits) == [6])
    }

    /// The cache "next" gets the number of the deleted cache, of which another container still holds hits in memory.
    @Test func unwrittenHitsAreNotCountedForALaterCache() throws {
        try open()
        do {
            let other = try PersistentContainer(at: URL(fileURLWithPath: store.folder.path))
            for _ in 0..<5 { try open(in: other) }
            try container.deleteCache(named: "c")
            for _ in 0..<3 { try open("next") }
        }
        #expect(try hits("next") == 2)
        #expect(try container.cacheHistory("next").openings.map(\.kind) == [.rebuilt(.first, rowCount: 10)])
    }

    @Test func rebuildsAndCatchUpsAreRecorded() throws {
        let start = Date()
        try open()
        try insert(3)
        try open(author: "night job of a name that is far too long to be kept: 影響を受けた行")
        for _ in 0..<4 { try open() }
        try open(sort: "name")
        let history = try container.cacheHistory("c")
        #expect(
            history.openings.map(\.kind) == [
                .rebuilt(.first, rowCount: 10), .caughtUp(rowCount: 3), .rebuilt(.sortChanged, rowCount: 13),
            ])
        #expect(history.openings.map(\.author) == ["me", "night job of a name that is far too", "me"])
        #expect(Set(history.openings.map(\.processName)) == [ProcessInfo.processInfo.processName])
        #expect(history.openings.allSatisfy { $0.isStored && $0.milliseconds > 0 && $0.milliseconds < 60_000 })
        #expect(history.openings.allSatisfy { $0.date >= start.addingTimeInterval(-0.01) && $0.date <= Date() })
        // The hits before the rebuild are still counted.
        #expect(history.hitsByHour.map(\.count).reduce(0, +) == 4)
        #expect(try container.cacheHistory("other").openings.isEmpty)
    }

    @Test func anOpeningInMemoryIsRecordedAsNotStored() throws {
        try open()
        try insert(2)
        let writer = try BatchWriter(container, entity: "Item")
        try writer.insert([.string("a"), .integer(1)])
        try open()
        writer.rollback()
        let last = try #require(try container.cacheHistory("c").openings.last)
        #expect(last.kind == .caughtUp(rowCount: 2) && !last.isStored)
    }

    @Test func theOpeningOfAControllerIsRecordedWithItsContextsAuthor() throws {
        let context = container.newContext()
        context.transactionAuthor = "view"
        var request = FetchRequest<ManagedObject>(entityName: "Item")
        request.sortKeys = [SortKey("size")]
        try FetchedResultsController(fetchRequest: request, context: context, sectionKey: nil, cacheName: "c")
            .performFetch()
        #expect(try container.cacheHistory("c").openings.map(\.author) == ["view"])
    }

    @Test func theHistoryKeepsTheLast256Openings() throws {
        try open()
        for number in 0..<300 {
            try insert(1)
            try open(author: "\(number)")
        }
        let openings = try container.cacheHistory("c").openings
        #expect(openings.map(\.author) == (44..<300).map { "\($0)" })
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
        #expect(size == 2 * 40_960)
    }

    @Test func aDeletedCacheHasNoHistory() throws {
        try open()
        try open()
        try container.deleteCache(named: "c")
        #expect(try container.cacheHistory("c").openings.isEmpty)
        try open("next")
        #expect(try container.cacheHistory("next").openings.map(\.kind) == [.rebuilt(.first, rowCount: 10)])
        #expect(try container.cacheHistory("next").hitsByHour.isEmpty)
    }

    /// The new cache gets the number of the deleted cache. The statistics file still has the deleted cache's history,
    /// because a copy of it is put back after the deletion.
    @Test func aNewCacheDoesNotAdoptTheHistoryOfADeletedCache() throws {
        try open()
        try open()
        let left = try Data(contentsOf: URL(fileURLWithPath: file))
        try container.deleteCache(named: "c")
        try left.write(to: URL(fileURLWithPath: file))
        try open("next")
        try open("next")
        let history = try container.cacheHistory("next")
        #expect(history.openings.map(\.kind) == [.rebuilt(.first, rowCount: 10)])
        #expect(history.hitsByHour.map(\.count) == [1])
    }

    /// Damages each byte of the two openings, and of the head of the history, one at a time. A damaged opening is left
    /// out, `check` reports the damage, and no other opening is lost.
    @Test func aDamagedHistoryIsReportedAndRepairedAndLosesNoOtherOpening() throws {
        try open()
        try insert(1)
        try open()
        try open()
        let whole = try container.cacheHistory("c").openings
        let sound = try Data(contentsOf: URL(fileURLWithPath: file))
        let first = 40_960 + 8192
        for place in Array(first..<first + 256) + Array(40_960..<40_960 + 40) {
            var damaged = sound
            damaged[place] ^= 0x10
            try damaged.write(to: URL(fileURLWithPath: file))
            let history = try container.cacheHistory("c")
            #expect(history.openings.allSatisfy { whole.contains($0) })
            // If the head is damaged, both openings can still be read.
            #expect(history.openings.count == (place < first ? 2 : 1), "byte \(place)")
            let defects = try container.check { _, _ in }
            #expect(defects.count == 1 && defects[0].contains("history"), "byte \(place): \(defects)")
        }
        // The last damaged byte was in the head, so the repair keeps both openings.
        let repair = try PersistentContainer.repair(at: URL(fileURLWithPath: store.folder.path)) { _, _ in }
        #expect(try container.cacheHistory("c").openings == whole)
        #expect(repair.left == [] && repair.repairs.contains { $0.contains("history") }, "\(repair)")
        try insert(1)
        try open()
        #expect(try container.cacheHistory("c").openings.last?.kind == .caughtUp(rowCount: 1))
    }

    /// Four cases, one after the other: another descriptor has locked the file, another file has its name, the file is
    /// missing, and the file is removed while it's open.
    @Test func cachesOpenWithoutAUsableHistoryFile() throws {
        try open()
        let other = openFile(file)
        defer { close(other) }
        try #require(flock(other, LOCK_EX) == 0)
        let start = ContinuousClock.now
        for _ in 0..<10 { try open() }
        try insert(1)
        try open()
        #expect(ContinuousClock.now - start < .seconds(5))
        #expect(try container.cacheHistory("c").openings.count == 1)
        flock(other, LOCK_UN)
        try FileManager.default.removeItem(atPath: file)
        usleep(1_100_000)
        try Data("another file".utf8).write(to: URL(fileURLWithPath: file))
        try open()
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data("another file".utf8))
        try FileManager.default.removeItem(atPath: file)
        try open()
        #expect(try container.cacheHistory("c").hitsByHour.map(\.count) == [1])
        // The store has the file open when it is removed.
        try FileManager.default.removeItem(atPath: file)
        usleep(1_100_000)
        try open()
        #expect(try container.cacheHistory("c").hitsByHour.map(\.count) == [1])
    }
}

private func openFile(_ path: String) -> Int32 { open(path, O_RDWR) }
