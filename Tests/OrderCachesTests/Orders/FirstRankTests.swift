import FetchIndexPlatform
import FetchIndexCountedTree
import Foundation
import FetchIndexModels
import FetchIndexRecords
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexOrderCaches

/// The rank of a section's first row, as the section's entry gives it, compared with a search in the rows tree.
@Suite struct FirstRankTests {
    private static let groups: [String?] = [nil, "", "a", "ab", "b", "é"]

    @Test(arguments: TestOrder.all.filter(\.hasSections)) func aSectionEntryGivesTheRankOfTheSectionsFirstRowOrNil(
        order: TestOrder
    ) throws {
        let placer = order.placer
        var placement = RowPlacement()
        func key(_ group: String?, _ number: UInt64) throws -> RowKey? {
            let record = try TestRow(group: group, rank: Int64(number % 3)).record()
            return try placer.key(of: RecordKey(entity: 0, number: number), record, in: nil, &placement)
        }
        // Leaves out the rows of each group in turn; then all groups have rows.
        for missing in Self.groups.indices.map({ Optional($0) }) + [nil] {
            var fork = ForkedOrder(
                over: SectionedOrder(entity: 0, shape: try order.shape(), in: MemoryNodeStore(capacity: 256)))
            var rows: [RowChange] = []
            for (index, group) in Self.groups.enumerated() where index != missing {
                for number in UInt64(10 * index)...UInt64(12 * index) {
                    rows.append(
                        RowChange(
                            object: RecordKey(entity: 0, number: number), old: nil, new: try key(group, number)))
                }
            }
            try fork.update(OrderEdits(rows))
            for group in Self.groups {
                let section = try #require(try key(group, 1)).section
                let known = try fork.order.entry(of: section).firstRank
                let counted = try fork.order.firstRank(of: section)
                #expect(known == nil || known == counted, "\(order), \(group ?? "null")")
                if case .byName(descending: false, _) = order.sectionOrder, group != nil { #expect(known != nil) }
            }
        }
    }

    /// If `hasSectionsInOrderOfRows` is true for a value, its section key compares with other section keys like the
    /// value with the other values.
    @Test func sectionKeysCompareLikeTheirValuesIfTheShapeSaysSo() throws {
        let texts = ["", "\0", "\u{1}", "a", "a\0b", "aa", "B", "b", "10", "9", "é", "e\u{301}", "日本"]
        let values: [[Value]] = [
            [.null] + texts.map(Value.string), [.null] + [-10, 9, 10, 100].map { .integer($0) },
            [.null] + [-1.5, 0, 2, 10].map { .double($0) }, [.null, .boolean(false), .boolean(true)],
            [.null] + [0, 1e9, 2e9].map { .date(Date(timeIntervalSinceReferenceDate: $0)) },
            [.null] + ["http://b", "http://a/1"].compactMap { URL(string: $0).map(Value.url) },
            [.null] + texts.map { .data(Data($0.utf8)) },
        ]
        var held: Set<ValueType?> = []
        for order: SectionOrder in [
            .byName(), .byName(descending: true), .byName(.localized("en")), .byCount(), .byFirstRow,
        ] {
            let shape = try OrderShape(hasSections: true, sectionOrder: order)
            for values in values {
                let sections = values.map { value in
                    var bytes: [UInt8] = []
                    OrderKey.append(value, to: &bytes)
                    return (value: bytes, key: shape.sectionKey(value: bytes, nil, firstRow: [], count: 0))
                }
                for (index, one) in sections.enumerated()
                where shape.hasSectionsInOrderOfRows(one.key, value: one.value) {
                    held.insert(values[index].type)
                    for other in sections {
                        let (byValue, byKey) = (
                            one.value.span.bytes.compare(other.value.span.bytes),
                            one.key.span.bytes.compare(other.key.span.bytes)
                        )
                        #expect(byValue.signum() == byKey.signum(), "\(order) \(one.value) \(other.value)")
                    }
                }
            }
        }
        #expect(held == [.string])
    }

    /// The nodes are intact, but two of the sections count other numbers of rows than the rows tree has.
    @Test(arguments: TestOrder.all.filter(\.hasSections)) func sectionsWithWrongCountsAreAnError(
        order: TestOrder
    ) throws {
        let placer = order.placer
        var placement = RowPlacement()
        func key(_ group: String, _ rank: Int64, _ number: UInt64) throws -> RowKey? {
            let record = try TestRow(group: group, rank: rank).record()
            return try placer.key(of: RecordKey(entity: 0, number: number), record, in: nil, &placement)
        }
        func change(_ group: String, _ number: UInt64, from old: Int64?, to new: Int64?) throws -> RowChange {
            RowChange(
                object: RecordKey(entity: 0, number: number), old: try old.flatMap { try key(group, $0, number) },
                new: try new.flatMap { try key(group, $0, number) })
        }
        var fork = ForkedOrder(
            over: SectionedOrder(entity: 0, shape: try order.shape(), in: MemoryNodeStore(capacity: 256)))
        let groups = ["a", "b", "c"]
        try fork.update(
            OrderEdits(try (0..<30).map { try change(groups[$0 / 10], UInt64($0 + 1), from: nil, to: Int64($0)) }))
        var damaged = fork.order
        let sections = try (0..<3).map { try damaged.section(at: $0) }
        let places = try sections.map { try #require(try damaged.place(of: $0.value)) }
        for (place, count) in zip(places, [2, 10, 18]) {
            try damaged.sections.apply([TreeEdit(place.key, .update(weight: count), summary: place.summary)])
        }
        // Updates the first or the last row of each section, or moves it within the section, each in a fork of its own.
        for isMoved in [false, true] {
            var found = 0
            for (number, group) in [(1, 0), (10, 0), (11, 1), (20, 1), (21, 2), (30, 2)] {
                var next = ForkedOrder(over: damaged)
                let rank = Int64(number - 1)
                let edits = [try change(groups[group], UInt64(number), from: rank, to: isMoved ? 50 : rank)]
                do {
                    let places = try next.update(OrderEdits(edits))
                    _ = try OrderDiff.change(from: damaged, to: next.order, edits, places)
                } catch  where error.isDamage { found += 1 }
            }
            // At least one of the edits must find the damage.
            #expect(found > 0, "moved: \(isMoved)")
        }
    }
}
