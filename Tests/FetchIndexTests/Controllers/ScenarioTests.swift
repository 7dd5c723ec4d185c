import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

/// Random transactions with several controllers in several contexts. After each batch, replaying the change on the old
/// rows must give the rows that are computed from scratch. No event of a row is superfluous, and the moves within
/// sections are as few as possible.
@Suite struct ScenarioTests {
    /// The minimum number of batches that eight seeds check together, from FETCHINDEX_TEST_BATCHES; that of four seeds
    /// is half of it.
    static let batches = TestSettings.batches

    @Test(arguments: 1...(TestSettings.isLong ? 8 : 4)) func aControllerDeliversTheExactChangeOfEachBatch(seed: UInt64)
        throws
    {
        var proven = 0
        var round: UInt64 = 0
        while proven < Self.batches / 8 {
            round += 1
            var scene = try Scene(seed: seed * 1_000_003 + round)
            for step in 0..<40 { try scene.step(step) }
            proven += scene.proven
        }
    }

    /// Large saves: a second thread can prepare the caches while records are written.
    @Test(arguments: 1...(TestSettings.isLong ? 4 : 2))
    func aControllerDeliversTheExactChangeOfEachLargeBatch(seed: UInt64) throws {
        var scene = try Scene(seed: seed * 1_000_003, size: 700)
        for step in 0..<(TestSettings.isLong ? 12 : 6) { try scene.step(step) }
        #expect(scene.proven > 0)
    }
}

/// A store with two contexts, and four watched controllers in them.
private struct Scene {
    let seed: UInt64
    /// The number of rows at first. If it isn't 0, a step that edits makes 99 edits or more.
    let size: Int
    let store: LiveStore
    var generator: SeededGenerator
    var contexts: [ManagedObjectContext] = []
    var watched: [Watched] = []
    var proven = 0

    final class Watched {
        var scenario: Scenario
        let controller: FetchedResultsController<Item>
        var oldRows: [ObjectID: Scenario.Row] = [:]
        let listener = ItemListener()

        init(_ scenario: Scenario, _ controller: FetchedResultsController<Item>) {
            self.scenario = scenario
            self.controller = controller
        }
    }

    init(seed: UInt64, size: Int = 0) throws {
        self.seed = seed
        self.size = size
        store = try LiveStore(Model(Item.self))
        generator = SeededGenerator(seed: seed)
        let first = store.container.newContext()
        for _ in 0..<size { change(Item(context: first), all: true) }
        try first.save()
        for _ in 0..<2 {
            let context = store.container.newContext()
            context.isUndoEnabled = true
            context.mergePolicy =
                [.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback]
                .randomElement(using: &generator)!
            contexts.append(context)
        }
        for number in 0..<4 {
            let scenario = Scenario(using: &generator)
            let controller = try FetchedResultsController(
                fetchRequest: try scenario.request(), context: contexts[number % 2], sectionKey: scenario.sectionKey,
                sectionOrder: scenario.sectionOrder, cacheName: scenario.isNamed ? "cache \(number)" : nil)
            let one = Watched(scenario, controller)
            controller.delegate = one.listener
            try controller.performFetch()
            watched.append(one)
        }
        for one in watched { try note(one) }
        if let kept = watched.first(where: { size > 0 && $0.scenario.isNamed && $0.scenario.limit == 0 }) {
            try store.container.setMaintained(true, cacheNamed: kept.controller.cacheName ?? "")
        }
    }

    /// The rows of a context, read object by object.
    private func rows(_ context: ManagedObjectContext) throws -> [Scenario.Row] {
        try context.fetch(FetchRequest<Item>()).map {
            Scenario.Row(id: $0.objectID, group: $0.group, rank: $0.rank, isShown: $0.isShown, note: $0.note)
        }
    }

    private func note(_ one: Watched) throws {
        let rows = try rows(one.controller.managedObjectContext)
        one.oldRows = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
    }

    mutating func step(_ step: Int) throws {
        let context = contexts.randomElement(using: &generator)!
        let before = Dictionary(uniqueKeysWithValues: watched.map { (ObjectIdentifier($0), $0.controller.snapshot) })
        let inserted = try act(context)
        for one in watched {
            let renumbered = inserted.compactMap { object, id in object.objectID == id ? nil : (id, object.objectID) }
            try prove(one, before[ObjectIdentifier(one)]!, Dictionary(uniqueKeysWithValues: renumbered), step)
        }
    }

    /// Performs a random action, which gives each controller at most one batch. Returns new objects with their old ids.
    private mutating func act(_ context: ManagedObjectContext) throws -> [(ManagedObject, ObjectID)] {
        var inserted = context.insertedObjects.map { ($0, $0.objectID) }
        switch Int.random(in: 0..<13, using: &generator) {
        case 0..<6:
            let counts = size > 0 ? [99, 150, 400] : [1, 2, 5, 12]
            let inserts = size == 0 || Int.random(in: 0..<4, using: &generator) == 0
            for _ in 0..<counts.randomElement(using: &generator)! {
                if let new = try edit(context, inserts: inserts) { inserted.append((new, new.objectID)) }
            }
            if Bool.random(using: &generator) { context.processPendingChanges() } else { try save(context) }
        case 6: try save(context)
        case 7: try context.mergeChanges()
        case 8: try context.rollback()
        case 9: if Bool.random(using: &generator) { context.undo() } else { context.redo() }
        case 10: try batch(context)
        case 11: try refetch(context)
        default:
            if let object = try context.fetch(FetchRequest<Item>()).randomElement(using: &generator) {
                context.refresh(object, mergeChanges: Bool.random(using: &generator))
                context.processPendingChanges()
            }
        }
        return inserted
    }

    /// Fetches another request with a controller, under the same section key. The fetch would first merge, which could
    /// deliver a batch of its own. So the context merges here, and if that delivers a batch, nothing is fetched.
    private mutating func refetch(_ context: ManagedObjectContext) throws {
        try context.mergeChanges()
        guard let one = watched.first(where: { $0.controller.managedObjectContext === context }) else { return }
        let other = Scenario(using: &generator)
        guard one.listener.isIdle else { return }
        one.scenario.isFiltered = other.isFiltered
        one.scenario.sort = other.sort
        one.scenario.offset = other.offset
        one.scenario.limit = other.limit
        one.controller.fetchRequest = try one.scenario.request()
        try one.controller.performFetch()
    }

    private func save(_ context: ManagedObjectContext) throws { try context.save() }

    private mutating func edit(_ context: ManagedObjectContext, inserts: Bool) throws -> Item? {
        let ids = watched.first { $0.controller.managedObjectContext === context }?.oldRows.keys.sorted() ?? []
        let known = ids.map { context.object(with: $0) as? Item }.filter { $0?.isDeleted == false }
        guard let item = known.randomElement(using: &generator) ?? nil,
            !inserts || Int.random(in: 0..<4, using: &generator) > 0
        else {
            let item = Item(context: context)
            change(item, all: true)
            return item
        }
        if Int.random(in: 0..<4, using: &generator) == 0 { context.delete(item) } else { change(item, all: false) }
        return nil
    }

    private mutating func change(_ item: Item, all: Bool) {
        for what in 0..<4 where all || Int.random(in: 0..<3, using: &generator) == 0 {
            switch what {
            case 0: item.group = [nil, "a", "b", "c"].randomElement(using: &generator)!
            case 1: item.rank = Int.random(in: 0...8, using: &generator)
            case 2: item.isShown = Int.random(in: 0..<4, using: &generator) > 0
            default: item.note = Int.random(in: 0...3, using: &generator)
            }
        }
    }

    private mutating func batch(_ context: ManagedObjectContext) throws {
        let rank = Int.random(in: 0...8, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0:
            let count = Int.random(in: 0...4, using: &generator)
            let row: [Value] = ["b", .integer(Int64(rank)), true, 1]
            try context.execute(
                BatchInsertRequest(entityName: "Item", rows: repeatElement(row, count: count)))
        case 1:
            try context.execute(
                BatchUpdateRequest(
                    entityName: "Item", predicate: try FetchPredicate("rank == %ld", rank),
                    propertiesToUpdate: ["group": "c", "rank": 2]))
        default:
            try context.execute(
                BatchDeleteRequest(entityName: "Item", predicate: try FetchPredicate("rank == %ld", rank)))
        }
    }

    private mutating func prove(
        _ one: Watched, _ before: ResultsSnapshot, _ renumbered: [ObjectID: ObjectID], _ step: Int
    ) throws {
        let context: Comment = "seed \(seed), step \(step): \(one.scenario)"
        let after = one.controller.snapshot
        let rows = try rows(one.controller.managedObjectContext)
        let expected = one.scenario.results(of: rows)
        #expect(after.sectionNames == expected.map(\.name), context)
        #expect(after.objectIDs == expected.map(\.ids), context)
        for (section, ids) in after.objectIDs.enumerated() {
            for (row, id) in ids.enumerated() {
                let item = try #require(one.controller.managedObjectContext.object(with: id) as? Item)
                #expect(one.controller.indexPath(forObject: item) == RowPath(section: section, row: row), context)
            }
        }
        let changes = one.listener.take()
        #expect(changes.count <= 1, "\(context): at most one batch")
        let change = changes.first ?? ResultsChange()
        let oldIDs = before.objectIDs.map { $0.map { renumbered[$0] ?? $0 } }
        try expectExact(change, from: oldIDs, before.sectionNames, to: after, one, rows, renumbered, context)
        one.oldRows = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
        if !change.isEmpty { proven += 1 }
    }

    private func expectExact(
        _ change: ResultsChange, from old: [[ObjectID]], _ oldNames: [String], to new: ResultsSnapshot, _ one: Watched,
        _ rows: [Scenario.Row], _ renumbered: [ObjectID: ObjectID], _ context: Comment
    ) throws {
        #expect(change.replay(on: old) == new.objectIDs, context)
        let plain = change.asDeletesAndInserts { new.objectIDs[$0] }
        #expect(replayedByAList(plain, on: old) == new.objectIDs, context)
        var oldRows: [ObjectID: Scenario.Row] = [:]
        for (id, row) in one.oldRows { oldRows[renumbered[id] ?? id] = row }
        let newRows = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
        let (oldAll, newAll) = (Set(old.joined()), Set(new.objectIDs.joined()))
        var seen: Set<ObjectID> = []
        var moves = 0
        for event in change.rows {
            let id: ObjectID
            switch event {
            case .delete(let object, _):
                id = object
                #expect(oldAll.contains(id), context)
                #expect(!newAll.contains(id), context)
            case .insert(let object, _):
                id = object
                #expect(!oldAll.contains(id), context)
                #expect(newAll.contains(id), context)
            case .update(let object, _, _):
                id = object
                let (before, now) = (oldRows[id], newRows[id])
                #expect(
                    before?.group != now?.group || before?.rank != now?.rank || before?.isShown != now?.isShown
                        || before?.note != now?.note, "\(context): an update without a change")
            case .move(let object, let from, let to):
                id = object
                moves += oldNames[from.section] == new.sectionNames[to.section] ? 1 : 0
            }
            #expect(seen.insert(id).inserted, "\(context): two events for one row")
        }
        // Every row that changed and stayed has an event.
        for id in oldAll.intersection(newAll) where !seen.contains(id) {
            let (before, now) = (oldRows[id], newRows[id])
            #expect(before?.group == now?.group, "\(context): a change without an event")
            #expect(before?.rank == now?.rank, "\(context): a change without an event")
            #expect(before?.isShown == now?.isShown, "\(context): a change without an event")
            #expect(before?.note == now?.note, "\(context): a change without an event")
        }
        let fewest = fewestMovesWithinSections(
            from: zip(oldNames, old).map { (name: $0, rows: $1) },
            to: zip(new.sectionNames, new.objectIDs).map { (name: $0, rows: $1) })
        #expect(moves == fewest, "\(context): moves are not the fewest")
    }
}
