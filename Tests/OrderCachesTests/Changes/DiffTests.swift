import FetchIndexModels
import FetchIndexCountedTree
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

@Suite struct FewestMovesTests {
    @Test(arguments: 1...300) func theFewestItemsMoveAndTheOthersKeepTheirOrder(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let oldCount = Int.random(in: 0...14, using: &generator)
        let old = Array(0..<oldCount)
        let left = old.filter { _ in Int.random(in: 0..<6, using: &generator) == 0 }
        let staying = old.filter { !left.contains($0) }
        let moving = staying.filter { _ in Int.random(in: 0..<3, using: &generator) == 0 }
        // Unchanged items keep their order; changed and new ones go to random places.
        var new = staying.filter { !moving.contains($0) }
        let came = (0..<Int.random(in: 0...3, using: &generator)).map { 100 + $0 }
        for item in moving + came { new.insert(item, at: Int.random(in: 0...new.count, using: &generator)) }

        let changed = moving.map { item in FewestMoves.Changed(old: item, new: new.firstIndex(of: item) ?? 0) }
        let newCame = came.compactMap { new.firstIndex(of: $0) }.sorted()
        let result = FewestMoves.find(changed, oldCount: oldCount, oldLeft: left, newCame: newCame)

        let unchanged = staying.filter { !moving.contains($0) }
        let moved = result.movedChanged.map { moving[$0] } + result.movedUnchanged.joined().map { unchanged[$0] }
        let oldRest = staying.filter { !moved.contains($0) }
        let newRest = new.filter { staying.contains($0) && !moved.contains($0) }
        #expect(oldRest == newRest, "seed \(seed): \(old) to \(new), moved \(moved)")
        #expect(
            moved.count == fewestMoves(from: old, to: new), "seed \(seed): \(old) to \(new)")
    }
}

/// The events between two states.
@Suite struct OrderDiffTests {
    /// Applies random edits to an order in memory. The change must lead from the old rows to the new ones. Sorting and
    /// grouping all rows again gives the expected new rows.
    @Test(arguments: TestOrder.all, [1, 2, 3] as [UInt64]) func replayingAChangeOnTheOldOrderGivesTheNewOrder(
        order: TestOrder, seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed * 77)
        var rows: [UInt64: TestRow] = [:]
        let store = MemoryNodeStore(capacity: 256)
        let shape = try order.shape()
        var current = SectionedOrder(entity: 0, shape: shape, in: store)
        for batch in 0..<60 {
            let (newRows, edits) = try randomEdits(rows, order, &generator)
            var fork = ForkedOrder(over: current)
            let places = try fork.update(OrderEdits(edits))
            let next = fork.order
            let context: Comment = "\(order), seed \(seed), batch \(batch)"
            #expect(try next.check() == [], context)
            #expect(isEqual(try next.contents(), order.sections(of: newRows)), context)
            let change = try OrderDiff.change(from: current, to: next, edits, places)
            #expect(try OrderDiff.change(from: current, to: next, OrderEdits(edits)) == change, context)
            #expect(
                defects(
                    of: change, from: try TestState(rows, current, order), to: try TestState(newRows, next, order),
                    order)
                    == [], context)
            // The reversed change leads from the new rows to the old ones.
            let back = try OrderDiff.change(
                from: next, to: current,
                OrderEdits(edits.map { RowChange(object: $0.object, old: $0.new, new: $0.old) }))
            #expect(back.replay(on: try next.objects()) == (try current.objects()), context)
            current = try fork.publish(to: store)
            rows = newRows
        }
    }

    private func randomEdits(
        _ rows: [UInt64: TestRow], _ order: TestOrder, _ generator: inout SeededGenerator
    ) throws -> ([UInt64: TestRow], [RowChange]) {
        var new = rows
        for _ in 0..<Int.random(in: 1...5, using: &generator) {
            let number = UInt64.random(in: 1...25, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: new[number] = nil
            case 1: new[number]?.note += 1
            case 2: new[number]?.rank = .random(in: 0...5, using: &generator)
            default: new[number] = TestRow.random(using: &generator)
            }
        }
        let placer = order.placer
        var placement = RowPlacement()
        let touched = Set(rows.keys).union(new.keys).filter { rows[$0] != new[$0] }
        let edits = try touched.map { number in
            let object = RecordKey(entity: 0, number: number)
            return RowChange(
                object: object, old: try placer.key(of: object, try rows[number]?.record(), in: nil, &placement),
                new: try placer.key(of: object, try new[number]?.record(), in: nil, &placement))
        }
        return (new, edits.filter { $0.old != nil || $0.new != nil })
    }
}

/// A state of an order: its rows by number, and the sections of the order and of the oracle.
struct TestState {
    let rows: [UInt64: TestRow]
    let objects: [[RecordKey]]
    let sections: [SectionContents]

    init(_ rows: [UInt64: TestRow], _ order: SectionedOrder, _ test: TestOrder) throws {
        self.rows = rows
        objects = try order.objects()
        sections = test.sections(of: rows)
    }
}

/// The defects of a change, one sentence each: it must lead from the old rows to the new ones, report every changed row
/// once, report no unchanged row as updated, and move as few rows and sections as possible.
func defects(
    of change: OrderChange<RecordKey>, from old: TestState, to new: TestState, _ order: TestOrder
) -> [String] {
    let (oldRows, newRows) = (old.rows, new.rows)
    var defects: [String] = []
    func require(_ isTrue: Bool, _ defect: @autoclosure () -> String) { if !isTrue { defects.append(defect()) } }
    let before = old.objects, after = new.objects
    require(
        change.replay(on: before) == after, "the change does not lead to the new rows: \(before) | \(change) | \(after)"
    )
    let oldSections = old.sections, newSections = new.sections
    var rowMoves = 0, sectionMoves = 0
    var reported: Set<RecordKey> = []
    for event in change.rows {
        let object: RecordKey
        switch event {
        case .delete(let deleted, let from):
            object = deleted
            require(before[from.section][from.row] == object, "a deletion names another row")
            require(newRows[object.number]?.isMember != true, "a row that stays is deleted")
        case .insert(let inserted, let to):
            object = inserted
            require(after[to.section][to.row] == object, "an insertion names another row")
            require(oldRows[object.number]?.isMember != true, "a row that existed is inserted")
        case .move(let moved, let from, let to):
            object = moved
            require(
                before[from.section][from.row] == object && after[to.section][to.row] == object,
                "a move names another row")
            if !order.hasSections || oldRows[object.number]?.group == newRows[object.number]?.group { rowMoves += 1 }
        case .update(let updated, let from, let to):
            object = updated
            require(
                before[from.section][from.row] == object && after[to.section][to.row] == object,
                "an update names another row")
            require(oldRows[object.number] != newRows[object.number], "a row that did not change is updated")
        }
        require(reported.insert(object).inserted, "two events for \(object)")
    }
    for case .move in change.sections { sectionMoves += 1 }
    for (number, row) in newRows where row.isMember && oldRows[number] != row {
        require(reported.contains(RecordKey(entity: 0, number: number)), "row \(number) changed without an event")
    }
    let expectedMoves = fewestMovesWithinSections(
        from: oldSections.map { (name: $0.name, rows: $0.rows) }, to: newSections.map { (name: $0.name, rows: $0.rows) }
    )
    require(rowMoves == expectedMoves, "\(rowMoves) moves of rows where \(expectedMoves) are enough")
    let fewest = fewestMoves(from: oldSections.map(\.name), to: newSections.map(\.name))
    require(sectionMoves == fewest, "\(sectionMoves) moves of sections where \(fewest) are enough")
    return defects
}
