import FetchIndex
import Foundation
import TestSupport
import Testing

@testable import OrderCaches

/// The rows of the random scenarios: few values, so that they tie and meet.
final class Item: ManagedObject {
    @Attribute("group") var group: String?
    @Attribute("rank") var rank: Int
    @Attribute("isShown") var isShown: Bool
    @Attribute("note") var note: Int
}

/// A request of the scenarios, and what it means: filter, sort, group, cut, from scratch.
struct Scenario: CustomStringConvertible {
    var isFiltered: Bool
    var sort: SortDirection
    var sectionKey: SectionKey?
    var sectionOrder: SectionOrder
    var offset: Int
    var limit: Int
    var isNamed: Bool

    init(using generator: inout SeededGenerator) {
        isFiltered = Bool.random(using: &generator)
        sort = Bool.random(using: &generator) ? .ascending : .descending
        sectionKey = [nil, .attribute("group"), .attribute("group"), .bucket("rank", width: 3)].randomElement(
            using: &generator)!
        sectionOrder = [.byFirstRow, .byName(), .byName(descending: true), .byCount(), .byCount(descending: false)]
            .randomElement(using: &generator)!
        let isCut = Int.random(in: 0..<3, using: &generator) == 0
        offset = isCut ? Int.random(in: 0...3, using: &generator) : 0
        limit = isCut ? Int.random(in: 0...6, using: &generator) : 0
        isNamed = Bool.random(using: &generator)
    }

    var description: String {
        "filtered \(isFiltered), \(sort), sections \(sectionKey.map { "\($0)" } ?? "none") \(sectionOrder), "
            + "\(offset)+\(limit), named \(isNamed)"
    }

    func request() throws -> FetchRequest<Item> {
        var request = FetchRequest<Item>()
        if isFiltered { request.predicate = try FetchPredicate("isShown == TRUE") }
        request.sortKeys = [SortKey(\.rank, sort)]
        request.fetchOffset = offset
        request.fetchLimit = limit
        return request
    }

    struct Row: Equatable {
        let id: ObjectID
        let group: String?
        let rank: Int
        let isShown: Bool
        let note: Int
    }

    /// Sections with names and ids.
    func results(of rows: [Row]) -> [(name: String, ids: [ObjectID])] {
        let members = rows.filter { !isFiltered || $0.isShown }.sorted {
            $0.rank == $1.rank ? $0.id < $1.id : ($0.rank < $1.rank) == (sort == .ascending)
        }
        let first = Dictionary(members.enumerated().map { ($1.id, $0) }) { first, _ in first }
        let groups = Dictionary(grouping: members, by: sectionValue)
        var sections = groups.map { (value: $0.key, rows: $0.value) }
        if sectionKey == nil && sections.isEmpty { sections = [(.none, [])] }
        sections.sort { left, right in
            switch sectionOrder {
            case .byFirstRow: return first[left.rows[0].id]! < first[right.rows[0].id]!
            case .byName(let isDescending, _):
                let names = (name(left.value), name(right.value))
                return isDescending ? names.0 > names.1 : names.0 < names.1
            case .byCount(let isDescending):
                if left.rows.count == right.rows.count { return left.value < right.value }
                return (left.rows.count < right.rows.count) != isDescending
            }
        }
        var skipped = offset
        var left = limit == 0 ? Int.max : limit
        var results: [(String, [ObjectID])] = []
        for section in sections {
            let kept = section.rows.dropFirst(skipped).prefix(left)
            skipped -= min(skipped, section.rows.count)
            left -= kept.count
            if !kept.isEmpty || sectionKey == nil { results.append((name(section.value), kept.map(\.id))) }
        }
        return results
    }

    private enum SectionValue: Hashable, Comparable {
        case none
        case text(String)
        case number(Int)
    }

    private func sectionValue(_ row: Row) -> SectionValue {
        switch sectionKey {
        case .attribute: row.group.map(SectionValue.text) ?? .none
        case .bucket: .number(row.rank / 3 * 3)
        default: .none
        }
    }

    private func name(_ value: SectionValue) -> String {
        switch value {
        case .none: ""
        case .text(let text): text
        case .number(let number): "\(number)"
        }
    }
}

/// Random transactions against several controllers of several contexts; after each batch the old rows with the change
/// replayed on them are the rows that a fetch from scratch gives, no event is superfluous, and moves are the fewest.
@Suite struct ScenarioTests {
    /// Batches that are proven in a run: FETCHINDEX_TEST_BATCHES says how many.
    static let batches = Int(ProcessInfo.processInfo.environment["FETCHINDEX_TEST_BATCHES"] ?? "") ?? 2_000

    @Test(arguments: 1...8) func everyBatchIsExact(seed: UInt64) throws {
        var proven = 0
        var round: UInt64 = 0
        while proven < Self.batches / 8 {
            round += 1
            var scene = try Scene(seed: seed * 1_000_003 + round)
            for step in 0..<40 { try scene.step(step) }
            proven += scene.proven
        }
    }
}

/// Controllers that are watched, and the contexts that they are of.
private struct Scene {
    let seed: UInt64
    let store: LiveStore
    var generator: SeededGenerator
    var contexts: [ManagedObjectContext] = []
    var watched: [Watched] = []
    var proven = 0

    final class Watched {
        var scenario: Scenario
        let controller: FetchedResultsController<Item>
        var oldRows: [ObjectID: Scenario.Row] = [:]
        let listener = Listener()

        init(_ scenario: Scenario, _ controller: FetchedResultsController<Item>) {
            self.scenario = scenario
            self.controller = controller
        }
    }

    /// Gathers a controller's events as a change again.
    final class Listener: FetchedResultsControllerDelegate {
        private var batches: [ResultsChange] = []
        private var current: ResultsChange?

        /// Whether nothing was heard since the last taking.
        var isIdle: Bool { batches.isEmpty }

        func take() -> [ResultsChange] {
            defer { batches = [] }
            return batches
        }

        func controllerWillChangeContent(_ controller: FetchedResultsController<Item>) {
            #expect(current == nil)
            current = ResultsChange()
        }

        func controller(
            _ controller: FetchedResultsController<Item>, didChangeSection name: String, at index: Int?,
            for type: ResultsChangeType, newIndex: Int?
        ) {
            #expect(current?.rows.isEmpty == true, "sections come first")
            switch (type, index, newIndex) {
            case (.delete, let from?, nil): current?.sections.append(.delete(from: from, name: name))
            case (.insert, nil, let to?): current?.sections.append(.insert(to: to, name: name))
            case (.move, let from?, let to?): current?.sections.append(.move(from: from, to: to, name: name))
            default: Issue.record("a section event of no known form")
            }
        }

        func controller(
            _ controller: FetchedResultsController<Item>, didChange object: Item, at indexPath: RowPath?,
            for type: ResultsChangeType, newIndexPath: RowPath?
        ) {
            switch (type, indexPath, newIndexPath) {
            case (.delete, let from?, nil): current?.rows.append(.delete(object.objectID, from: from))
            case (.insert, nil, let to?): current?.rows.append(.insert(object.objectID, to: to))
            case (.move, let from?, let to?): current?.rows.append(.move(object.objectID, from: from, to: to))
            case (.update, let from?, let to?): current?.rows.append(.update(object.objectID, from: from, to: to))
            default: Issue.record("a row event of no known form")
            }
        }

        func controllerDidChangeContent(_ controller: FetchedResultsController<Item>) {
            if let current { batches.append(current) }
            current = nil
        }
    }

    init(seed: UInt64) throws {
        self.seed = seed
        store = try LiveStore(Model(Item.self))
        generator = SeededGenerator(seed: seed)
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
    }

    /// What a context sees, read object by object.
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

    /// One random action that makes one batch at most for each controller. Returns new objects with their old ids.
    private mutating func act(_ context: ManagedObjectContext) throws -> [(ManagedObject, ObjectID)] {
        var inserted = context.insertedObjects.map { ($0, $0.objectID) }
        switch Int.random(in: 0..<13, using: &generator) {
        case 0..<6:
            for _ in 0..<[1, 2, 5, 12].randomElement(using: &generator)! {
                if let new = try edit(context) { inserted.append((new, new.objectID)) }
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

    /// Fetches another request with a controller; its section key stays. Moves the context first, in a batch of its own
    /// where there is something to merge, so that is done before.
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

    private mutating func edit(_ context: ManagedObjectContext) throws -> Item? {
        let ids = watched.first { $0.controller.managedObjectContext === context }?.oldRows.keys.sorted() ?? []
        let known = ids.map { context.object(with: $0) as? Item }.filter { $0?.isDeleted == false }
        guard let item = known.randomElement(using: &generator) ?? nil, Int.random(in: 0..<4, using: &generator) > 0
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
            var left = Int.random(in: 0...4, using: &generator)
            try context.execute(
                BatchInsertRequest(entityName: "Item") {
                    left -= 1
                    return left < 0 ? nil : ["b", .integer(Int64(rank)), true, 1]
                })
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
        #expect(changes.count <= 1, "\(context): one batch at most")
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
                #expect(oldAll.contains(id) && !newAll.contains(id), context)
            case .insert(let object, _):
                id = object
                #expect(!oldAll.contains(id) && newAll.contains(id), context)
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
            #expect(
                before?.group == now?.group && before?.rank == now?.rank && before?.isShown == now?.isShown
                    && before?.note == now?.note, "\(context): a change without an event")
        }
        #expect(moves == fewestMoves(old, oldNames, new), "\(context): moves are not the fewest")
    }

    /// The fewest moves within sections that stayed, by the plain rule: what is not in a longest increasing
    /// subsequence of old places moves.
    private func fewestMoves(_ old: [[ObjectID]], _ oldNames: [String], _ new: ResultsSnapshot) -> Int {
        var moves = 0
        for (section, name) in new.sectionNames.enumerated() {
            guard let oldSection = oldNames.firstIndex(of: name) else { continue }
            let places = Dictionary(uniqueKeysWithValues: old[oldSection].enumerated().map { ($1, $0) })
            let sequence = new.objectIDs[section].compactMap { places[$0] }
            moves += sequence.count - longestIncreasing(sequence)
        }
        return moves
    }
}

func longestIncreasing(_ sequence: [Int]) -> Int {
    var longest = [Int](repeating: 1, count: sequence.count)
    for index in sequence.indices {
        for before in 0..<index where sequence[before] < sequence[index] {
            longest[index] = max(longest[index], longest[before] + 1)
        }
    }
    return longest.max() ?? 0
}
