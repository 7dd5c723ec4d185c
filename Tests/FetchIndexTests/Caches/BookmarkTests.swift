import FetchIndex
import FetchIndexModels
import FetchIndexRecords
import FetchIndexTestSupport
import Foundation
import Testing

/// Bookmarks: each consumer gets the exact changes since its own, also if others read changes of the order.
@Suite struct BookmarkTests {
    private static let definition = OrderDefinition(
        entity: "Item", sortKeys: [SortKey("size")], sectionKey: .attribute("group"))

    private func rows(_ order: FetchedOrder) throws -> [[ObjectID]] {
        var rows = [[ObjectID]](repeating: [], count: order.sectionCount)
        try order.forEachRow { rows[$0.path.section].append($0.id) }
        return rows
    }

    private func options(exact: Bool) -> PersistentContainer.OrderOptions {
        var options = PersistentContainer.OrderOptions(cacheName: "c")
        options.needsExactChange = exact
        return options
    }

    /// Random commits. Consumers read the changes since their bookmarks at random times, and move them; others read the
    /// cache meanwhile. Each change must lead from the rows at the bookmark to the newest rows.
    @Test(arguments: 0..<6 as Range<UInt64>) func eachConsumerGetsTheChangesSinceItsBookmark(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let store = try LiveStore(ItemSeries.model)
        let container = store.container
        var series = ItemSeries(container)
        /// The rows at each commit.
        var states: [UInt64: [[ObjectID]]] = [0: []]
        try container.setBookmark(named: "start", at: .commit(0))
        var marked: [String: UInt64] = ["start": 0]
        for step in 0..<40 {
            let commit = try series.commit(&random)
            states[commit] = try container.withOrder(Self.definition, .init()) { try rows($0) }
            if Bool.random(using: &random) {
                let isExact = Bool.random(using: &random)
                try container.withOrder(Self.definition, options(exact: isExact)) { _ in }
            }
            let name = "consumer \(Int.random(in: 0..<3, using: &random))"
            if Int.random(in: 0..<3, using: &random) == 0 {
                #expect(try container.setBookmark(named: name).commit == commit)
                marked[name] = commit
            }
            // Two former commits, the second of which isn't the older one.
            let first = try #require(states.keys.randomElement(using: &random))
            let last = try #require(states.keys.filter { $0 >= first }.randomElement(using: &random))
            try container.withOrder(Self.definition, options(exact: false)) { order in
                let change = try order.changes(since: .commit(first), until: .commit(last))
                #expect(
                    try change.replay(on: #require(states[first])) == states[last],
                    "seed \(seed), step \(step), from \(first) to \(last)")
                let past = try order.past(at: .commit(last))
                #expect(try rows(past) == states[last] && past.commit == last)
                #expect(try past.changes(since: .commit(first)) == change)
            }
            try container.withOrder(
                Self.definition, options(exact: false), since: .commit(first), until: .commit(last)
            ) { order, change in
                let shown = try rows(order)
                #expect(shown == states[last] && order.commit == last)
                #expect(
                    try change.replay(on: #require(states[first])) == states[last],
                    "seed \(seed), step \(step), from \(first) to \(last)")
            }
            for (name, start) in marked {
                let change = try container.withOrder(Self.definition, options(exact: false)) {
                    #expect(try rows($0) == states[commit])
                    return try $0.changes(since: .bookmark(name))
                }
                let before = try #require(states[start])
                #expect(change.replay(on: before) == states[commit], "seed \(seed), step \(step), since \(start)")
            }
        }
        #expect(try container.bookmarks().map(\.name) == marked.keys.sorted())
        #expect(try container.bookmarks().allSatisfy { $0.isReachable && marked[$0.name] == $0.commit })
    }

    @Test func aPointIsACommitATimeOrABookmark() throws {
        let store = try LiveStore(ItemSeries.model)
        let container = store.container
        let context = container.newContext()
        try context.insert("Item")["size"] = .integer(1)
        try context.save()
        try container.setBookmark(named: "first")
        try context.insert("Item")["size"] = .integer(2)
        try context.save()
        func count(_ point: StorePoint) throws -> Int {
            try container.withOrder(Self.definition, .init()) { try $0.changes(since: point).rows.count }
        }
        #expect(try count(.commit(0)) == 2)
        #expect(try count(.commit(1)) == 1)
        #expect(try count(.bookmark("first")) == 1)
        #expect(try count(.time(Date(timeIntervalSince1970: 0))) == 2)
        #expect(try count(.time(Date(timeIntervalSinceNow: 60))) == 0)
        #expect(throws: StoreError.unknownBookmark("second")) { try count(.bookmark("second")) }
        #expect(throws: StoreError.logTooShort(commit: 9)) { try count(.commit(9)) }
        #expect(throws: StoreError.logTooShort(commit: 9)) { try container.setBookmark(named: "late", at: .commit(9)) }
        for name in ["", "7", "2026-11-29", " mail", "a\nb", String(repeating: "x", count: 512)] {
            #expect(throws: StoreError.invalidBookmarkName(name)) { try container.setBookmark(named: name) }
        }
        try container.setBookmark(named: "second", at: .bookmark("first"))
        #expect(try container.bookmarks().map(\.commit) == [1, 1])
        try container.deleteBookmark(named: "first")
        #expect(throws: StoreError.unknownBookmark("first")) { try container.deleteBookmark(named: "first") }
    }

    /// The values of all objects at each commit are the oracle of the changes between two commits.
    @Test(arguments: 0..<4 as Range<UInt64>) func objectsChangeBetweenAnyTwoPoints(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let store = try LiveStore(ItemSeries.model)
        var series = ItemSeries(store.container)
        var states: [[ObjectID: [Value]]] = [[:]]
        for _ in 0..<30 {
            _ = try series.commit(&random)
            var state: [ObjectID: [Value]] = [:]
            let request = FetchRequest<ManagedObject>(entityName: "Item")
            for item in try store.container.newContext().fetch(request) {
                state[item.objectID] = [item["group"], item["size"]]
            }
            states.append(state)
        }
        for first in states.indices {
            let last = Int.random(in: first..<states.count, using: &random)
            var state = states[first]
            let points = try store.container.forEachChange(
                ofEntity: "Item", since: .commit(UInt64(first)), until: .commit(UInt64(last))
            ) { change in
                #expect(change.oldValues == state[change.objectID])
                #expect(change.oldValues != change.newValues)
                #expect((change.kind == .insert) == (change.oldValues == nil))
                #expect((change.kind == .delete) == (change.newValues == nil))
                state[change.objectID] = change.newValues
            }
            #expect(points.first == UInt64(first) && points.last == UInt64(last))
            #expect(state == states[last], "seed \(seed), from \(first) to \(last)")
        }
        #expect(throws: StoreError.logTooShort(commit: 5)) {
            try store.container.forEachChange(ofEntity: "Item", since: .commit(5), until: .commit(4)) { _ in }
        }
        #expect(throws: (any Error).self) {
            try store.container.forEachChange(ofEntity: "Itm", since: .commit(5)) { _ in }
        }
    }

    /// An index or a new attribute rewrites no records, so changes since earlier points stay known; and an object whose
    /// record gets the new form has not changed by that.
    @Test func aNewIndexAndANewAttributeAreNoChanges() throws {
        let store = try LiveStore(ItemSeries.model)
        let container = store.container
        let writer = try BatchWriter(container, entity: "Item")
        let objects = try (0..<3).map { try writer.insert([.integer(0), .integer($0)]) }
        let first = try #require(try writer.commit())
        let attributes = [
            AttributeDescription("group", .integer), AttributeDescription("size", .integer),
            AttributeDescription("new", .string),
        ]
        try container.migrate(to: Model(entities: [Entity("Item", attributes, indexes: [Index(["size"])])]))
        let newer = try BatchWriter(container, entity: "Item")
        for (size, object) in objects.enumerated() {
            try newer.update(object, [.integer(0), .integer(size == 2 ? 9 : Int64(size)), .null])
        }
        try newer.commit()
        #expect(newer.counts.updated == 1 && newer.counts.unchanged == 2)
        var changed: [ObjectID] = []
        try container.forEachChange(ofEntity: "Item", since: .commit(first)) { changed.append($0.objectID) }
        #expect(changed == [objects[2]])
        let definition = OrderDefinition(entity: "Item", sortKeys: [SortKey("size")])
        let change = try container.withOrder(definition, .init()) { try $0.changes(since: .commit(first)) }
        #expect(change.rebuilt == nil && change.rows.count == 1)
    }

    @Test func aControllerTellsTheChangeSinceAPoint() throws {
        let store = try LiveStore(ItemSeries.model)
        var random = SeededGenerator(seed: TestSettings.seed)
        var series = ItemSeries(store.container)
        let first = try series.commit(&random)
        let context = store.container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Item")
        request.sortKeys = [SortKey("size")]
        let controller = try FetchedResultsController<ManagedObject>(
            fetchRequest: request, context: context, sectionKey: .attribute("group"), cacheName: "c")
        #expect(try controller.changes(since: .commit(first)) == nil, "nothing is fetched")
        try controller.performFetch()
        #expect(try controller.changes(since: .commit(first))?.isEmpty == true)
        _ = try series.commit(&random)
        try context.mergeChanges()
        let change = try store.container.withOrder(Self.definition, .init()) {
            try $0.changes(since: .commit(first))
        }
        #expect(try controller.changes(since: .commit(first)) == change)
        // Unsaved edits aren't changes since a commit, also not of the order that shows them.
        let unsaved = try context.insert("Item")
        unsaved["group"] = .integer(1)
        context.processPendingChanges()
        #expect(try controller.changes(since: .commit(first)) == change)
        #expect(try controller.fetchedOrder()?.changes(since: .commit(first)) == change)
        #expect(try controller.fetchedOrder()?.rowCount == controller.sections.reduce(0) { $0 + $1.count })
        request.fetchLimit = 1
        let limited = try FetchedResultsController(
            fetchRequest: request, context: context)
        try limited.performFetch()
        #expect(throws: RequestError.self) { try limited.changes(since: .commit(first)) }
    }

    @Test func aReaderMovesOnlyTheBookmarkThatItFound() throws {
        let store = try LiveStore(ItemSeries.model)
        let context = store.container.newContext()
        for _ in 0..<3 {
            _ = try context.insert("Item")
            try context.save()
        }
        try store.container.setBookmark(named: "mail", at: .commit(1))
        try store.container.moveBookmark(named: "mail", from: 1, to: 2)
        #expect(throws: StoreError.bookmarkMoved("mail")) {
            try store.container.moveBookmark(named: "mail", from: 1, to: 3)
        }
        #expect(try store.container.bookmarks().map(\.commit) == [2])
    }

    /// A store that has caches trims its log. A bookmark keeps the log after it; without the bookmark, the log no
    /// longer reaches back.
    @Test(arguments: [true, false]) func aBookmarkKeepsTheLog(hasBookmark: Bool) throws {
        let folder = TemporaryFolder()
        var storeOptions = Store.Options()
        storeOptions.keptLogBytes = 4000
        let container = try PersistentContainer(path: folder.path, model: ItemSeries.model, options: storeOptions)
        let writer = try BatchWriter(container, entity: "Item")
        for number in 0..<100 { try writer.insert([.integer(0), .integer(Int64(number))]) }
        try writer.commit()
        try container.withOrder(Self.definition, options(exact: false)) { _ in }
        if hasBookmark { try container.setBookmark(named: "mail") }
        let items = try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Item")).map(\.objectID)
        for round in 0..<20 {
            let writer = try BatchWriter(container, entity: "Item")
            for (number, item) in items.enumerated() {
                try writer.update(item, [.integer(0), .integer(Int64(1000 * round + number))])
            }
            try writer.commit()
            try container.withOrder(Self.definition, options(exact: false)) { _ in }
        }
        func count(_ point: StorePoint) throws -> Int {
            try container.withOrder(Self.definition, .init()) { try $0.changes(since: point).rows.count }
        }
        if hasBookmark {
            #expect(try count(.bookmark("mail")) == 100)
        } else {
            #expect(throws: StoreError.logTooShort(commit: 1)) { try count(.commit(1)) }
        }
        // A bookmark that was passed over says so.
        if hasBookmark {
            try container.newContext().deleteHistory(before: 10)
            #expect(try container.bookmarks().map(\.isReachable) == [false])
        }
    }
}
