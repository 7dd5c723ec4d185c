import FetchIndexCountedTree
import FetchIndexModels
import FetchIndexPlatform
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

/// Random steps of a live order in memory, compared with sorting and grouping all rows that its reader sees.
@Suite struct LiveOrderSeriesTests {
    private enum Step: CaseIterable {
        /// The reader edits some rows.
        case edit
        case rollBack
        /// The reader's edits are saved.
        case save
        /// Another writer saves; the reader's edits stay over the new rows.
        case merge
    }

    /// The saved rows and the reader's edits over them; an edit is nil if the row is deleted.
    private struct Rows {
        var saved: [UInt64: TestRow] = [:]
        var edits: [UInt64: TestRow?] = [:]

        var seen: [UInt64: TestRow] {
            var seen = saved
            for (number, edit) in edits { seen[number] = edit }
            return seen
        }
    }

    private static let windows: [(offset: Int, limit: Int?)] = [(0, nil), (0, 5), (3, 4), (2, nil), (100, 3)]

    @Test(arguments: TestOrder.all, 1...(TestSettings.isLong ? 10 : 1) as ClosedRange<UInt64>)
    func eachStepReturnsTheExactChangeOfTheWindow(order: TestOrder, seed: UInt64) throws {
        var failureCount = 0
        for (offset, limit) in Self.windows {
            var series = try Series(order, offset: offset, limit: limit, seed: seed)
            for number in 0..<30 { try series.perform(series.nextStep(), failing: number % 3 == 0) }
            failureCount += series.failureCount
        }
        #expect(failureCount > 0, "\(order), seed \(seed)")
    }

    private struct Series {
        let order: TestOrder
        let window: (offset: Int, limit: Int?)
        let seed: UInt64
        private(set) var failureCount = 0
        private var generator: SeededGenerator
        private let nodes = MemoryNodeStore(capacity: 256)
        private let live: LiveOrder
        private var rows = Rows()
        private var stepCount = 0

        init(_ order: TestOrder, offset: Int, limit: Int?, seed: UInt64) throws {
            (self.order, window, self.seed) = (order, (offset, limit), seed)
            generator = SeededGenerator(seed: seed)
            for number in 1...20 as ClosedRange<UInt64> { rows.saved[number] = .random(using: &generator) }
            let opened = OpenedOrder(try order.order(of: rows.saved, in: nodes), .computed, in: .memory(nodes))
            live = try LiveOrder(order.request(), opened, offset: offset, limit: limit)
        }

        mutating func nextStep() -> Step { Step.allCases.randomElement(using: &generator) ?? .edit }

        private func expected(_ rows: Rows) -> [SectionContents] {
            order.window(of: rows.seen, offset: window.offset, limit: window.limit)
        }

        private func shown() throws -> [[UInt64]] { try live.window.objects().map { $0.map(\.number) } }

        mutating func perform(_ step: Step, failing: Bool) throws {
            stepCount += 1
            let comment = "\(order), window \(window), seed \(seed), step \(stepCount): \(step)"
            let old = rows
            switch step {
            case .edit:
                var seen = rows.seen
                seen.edit(Int.random(in: 1...4, using: &generator), numbers: 1...25, using: &generator)
                rows.edits = [:]
                for number in 1...25 as ClosedRange<UInt64> where seen[number] != rows.saved[number] {
                    rows.edits.updateValue(seen[number], forKey: number)
                }
            case .rollBack: rows.edits = [:]
            case .save:
                rows.saved = rows.seen
                rows.edits = [:]
            case .merge:
                rows.saved.edit(Int.random(in: 1...4, using: &generator), numbers: 1...25, using: &generator)
                rows.edits = rows.edits.filter { $0.value != rows.saved[$0.key] }
            }
            let before = try live.window.objects()
            let taken = failing ? try takeWithoutANode(step, from: old, comment) : nil
            let change = try taken ?? take(step, from: old)
            let after = try live.window.objects()
            #expect(change.replay(on: before) == after, "\(comment)")
            #expect(try shown() == expected(rows).map(\.rows), "\(comment)")
            #expect(try live.window.order.check() == [], "\(comment)")
            #expect(try live.saved.order.contents() == order.sections(of: rows.saved), "\(comment)")
            for event in change.rows {
                let number = event.rowID.number
                // Only updates are tested, because a row at the window's bounds may be inserted or deleted although its
                // object didn't change.
                if case .update = event { #expect(old.seen[number] != rows.seen[number], "\(comment)") }
            }
            let changed = Set(change.rows.map(\.rowID.number))
            for number in Set(before.joined().map(\.number)).intersection(after.joined().map(\.number))
            where old.seen[number] != rows.seen[number] {
                #expect(changed.contains(number), "\(comment): object \(number)")
            }
        }

        private func take(_ step: Step, from old: Rows) throws -> OrderChange<RecordKey> {
            let net = try TestOrder.changes(from: old.seen, to: rows.seen)
            switch step {
            case .edit: return try live.edit(net, nil)
            case .rollBack: return try live.rollBack(net, nil)
            case .save, .merge:
                return try live.advance(
                    LiveOrder.Step(
                        committed: TestOrder.changes(from: old.saved, to: rows.saved),
                        unsaved: TestOrder.changes(from: rows.saved, to: rows.seen), net: net))
            }
        }

        /// Takes a step while a random node is missing. Returns nil if the step fails, after which the live order must
        /// be unchanged, or if no node has the random number.
        private mutating func takeWithoutANode(
            _ step: Step, from old: Rows, _ comment: String
        ) throws -> OrderChange<RecordKey>? {
            let node = NodeNumber.random(in: 1..<nodes.nextNode, using: &generator)
            guard let bytes = bytes(of: node) else { return nil }
            nodes.free(node)
            defer { if self.bytes(of: node) == nil { nodes.write(node, bytes) } }
            do { return try take(step, from: old) } catch  where error.isDamage {
                failureCount += 1
                nodes.write(node, bytes)
                #expect(try shown() == expected(old).map(\.rows), "\(comment) failed")
                #expect(try live.saved.order.contents() == order.sections(of: old.saved), "\(comment) failed")
                return nil
            }
        }

        private func bytes(of node: NodeNumber) -> [UInt8]? {
            var bytes: [UInt8]?
            try? nodes.read(node) { bytes = [UInt8](copying: $0) }
            return bytes
        }
    }
}

extension OrderChange.RowEvent {
    fileprivate var rowID: RowID {
        switch self {
        case .delete(let id, _), .insert(let id, _), .move(let id, _, _), .update(let id, _, _): id
        }
    }
}
