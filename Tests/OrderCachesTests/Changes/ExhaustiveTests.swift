import FetchIndexModels
import FetchIndexCountedTree
import Foundation
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

/// Edits of small lists: each row is deleted, updated, or moved into each gap, and new rows are inserted into each gap.
/// Each edit is applied alone, and in one batch with each edit of another object.
@Suite struct ExhaustiveTests {
    /// The number of rows of the largest lists, which the environment variable FETCHINDEX_TEST_ROWS can set.
    static let rows = TestSettings.rows

    static let orders = [
        TestOrder(hasSections: false), TestOrder(hasSections: true),
        TestOrder(hasSections: true, sectionOrder: .byName()), TestOrder(hasSections: true, sectionOrder: .byCount()),
    ]

    @Test(arguments: orders) func singleAndPairedEditsGiveTheExactChange(order: TestOrder) throws {
        for list in Self.lists(order) {
            let scene = try Scene(order, list)
            let edits = Self.edits(of: list, order)
            let changes = try edits.map { try scene.change($0) }
            for (index, first) in edits.enumerated() {
                try scene.prove([first], [changes[index]])
                for other in edits.indices[(index + 1)...] where edits[other].object != first.object {
                    try scene.prove([first, edits[other]], [changes[index], changes[other]])
                }
            }
        }
    }

    /// A row's new state; nil if the edit deletes the row.
    struct Edit {
        let object: UInt64
        let row: TestRow?
    }

    /// Lists of up to `rows` rows in up to three sections. Ranks are even, so that a new rank fits between any two.
    private static func lists(_ order: TestOrder) -> [[UInt64: TestRow]] {
        var lists: [[UInt64: TestRow]] = []
        for count in 0...rows {
            for cuts in 0..<(1 << max(0, count - 1)) where cuts.nonzeroBitCount < 3 {
                if !order.hasSections && cuts > 0 { continue }
                var list: [UInt64: TestRow] = [:]
                var section = 0
                for row in 0..<count {
                    if row > 0, cuts >> (row - 1) & 1 == 1 { section += 1 }
                    list[UInt64(row + 1)] = TestRow(group: ["a", "b", "c"][section], rank: Int64(2 * row))
                }
                lists.append(list)
            }
        }
        return lists
    }

    private static func edits(of list: [UInt64: TestRow], _ order: TestOrder) -> [Edit] {
        let places = (0...list.count).flatMap { gap in
            (order.hasSections ? ["a", "b", "c", "d"] : ["a"]).map { TestRow(group: $0, rank: Int64(2 * gap - 1)) }
        }
        var edits: [Edit] = []
        for (object, row) in list.sorted(by: { $0.key < $1.key }) {
            var noted = row
            noted.note += 1
            edits += [Edit(object: object, row: nil), Edit(object: object, row: noted)]
            edits += places.map { Edit(object: object, row: $0) }
        }
        // Two new rows, so that a pair of edits can insert both.
        for object in [UInt64(90), 91] { edits += places.map { Edit(object: object, row: $0) } }
        return edits
    }

    private struct Scene {
        let order: TestOrder
        let list: [UInt64: TestRow]
        let old: SectionedOrder
        let oldState: TestState
        let builder: OrderBuilder
        private let store = MemoryNodeStore(capacity: 256)

        init(_ order: TestOrder, _ list: [UInt64: TestRow]) throws {
            self.order = order
            self.list = list
            let shape = try OrderShape(hasSections: order.hasSections, sectionOrder: order.sectionOrder)
            builder = OrderBuilder(entity: 0, shape: shape, dependencies: [0]) { _ in
                TestPlacer(hasSections: order.hasSections)
            }
            var current = SectionedOrder(entity: 0, shape: shape, in: store)
            let edits = try list.map {
                RecordChange(object: RecordKey(entity: 0, number: $0.key), old: nil, new: try $0.value.record())
            }
            try current.update(try builder.edits(edits, nil))
            old = current
            oldState = try TestState(list, current, order)
        }

        func change(_ edit: Edit) throws -> RecordChange {
            RecordChange(
                object: RecordKey(entity: 0, number: edit.object), old: try list[edit.object]?.record(),
                new: try edit.row?.record())
        }

        func prove(_ edits: [Edit], _ changes: [RecordChange]) throws {
            let rows = try builder.edits(changes, nil)
            var fork = ForkedOrder(over: old)
            let places = try fork.update(rows)
            let new = fork.order
            let change = try OrderDiff.change(from: old, to: new, rows.rows, places)
            var newList = list
            for edit in edits { newList[edit.object] = edit.row }
            let newState = try TestState(newList, new, order)
            let expected = newState.sections.map { $0.rows.map { RecordKey(entity: 0, number: $0) } }
            var found = defects(of: change, from: oldState, to: newState, order)
            if newState.objects != expected { found.append("the order is \(newState.objects), not \(expected)") }
            if !found.isEmpty { Issue.record("\(list) with \(edits): \(found)") }
        }
    }
}
