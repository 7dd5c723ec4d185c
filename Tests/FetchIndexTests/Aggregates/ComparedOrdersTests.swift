import FetchIndex
import FetchIndexTestSupport
import Foundation
import Testing

/// `FetchedOrder.forEachDifference`, compared with a plain difference of the two stores' rows.
@Suite struct ComparedOrdersTests {
    private typealias Row = [Value]

    private static func model(codeType: ValueType = .integer) -> Model {
        Model(entities: [
            Entity(
                "Item",
                [
                    AttributeDescription("code", codeType), AttributeDescription("group", .string),
                    AttributeDescription("size", .integer),
                ])
        ])
    }

    private static func store(_ rows: [Row], _ random: inout SeededGenerator) throws -> LiveStore {
        let store = try LiveStore(model())
        let writer = try BatchWriter(store.container, entity: "Item")
        // The two stores give objects different numbers.
        for row in rows.shuffled(using: &random) { try writer.insert(row) }
        try writer.commit()
        return store
    }

    private static func sorted(_ rows: [Row]) -> [String] {
        rows.map { $0.map(\.description).joined(separator: "|") }.sorted()
    }

    /// The rows of `rows` that others don't have, or not so often.
    private static func difference(_ rows: [Row], _ others: [Row]) -> [String] {
        var counts: [String: Int] = [:]
        for row in sorted(others) { counts[row, default: 0] += 1 }
        return sorted(rows).filter { row in
            let count = counts[row] ?? 0
            counts[row] = count - 1
            return count <= 0
        }
    }

    @Test(arguments: 0..<24 as Range<UInt64>) func differencesAreThoseOfTheRows(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let count = [0, 1, 30, 400, 1500][Int(seed % 5)]
        // Few groups and sizes, so that many rows share their section and sort keys.
        let places = [1, 3, 40, 100_000].randomElement(using: &random) ?? 1
        func row(_ code: Int) -> Row {
            [
                .integer(Int64(code)), .string("g\(Int.random(in: 0..<min(places, 20), using: &random))"),
                .integer(Int64.random(in: 0..<Int64(places), using: &random)),
            ]
        }
        let first = (0..<count).map { row($0 / 2) }
        var second = first
        for _ in 0..<[0, 1, 8, 300].randomElement(using: &random)! {
            switch Int.random(in: 0..<3, using: &random) {
            case 0 where !second.isEmpty: second.remove(at: Int.random(in: second.indices, using: &random))
            case 1 where !second.isEmpty: second[Int.random(in: second.indices, using: &random)] = row(count)
            default: second.append(row(count + second.count))
            }
        }
        if seed % 7 == 6 { second = [] }
        let stores = (try Self.store(first, &random), try Self.store(second, &random))
        for (section, order) in [(nil, .byFirstRow), (SectionKey.attribute("group"), .byCount(descending: true))]
            as [(SectionKey?, SectionOrder)]
        {
            let definition = OrderDefinition(
                entity: "Item", sortKeys: [SortKey("size", .descending)], sectionKey: section, sectionOrder: order,
                aggregates: [.fingerprint, .sum("size")])
            var found: (first: [Row], second: [Row]) = ([], [])
            try stores.0.container.withOrder(definition, .init(cacheName: "c")) { first in
                try stores.1.container.withOrder(definition, .init()) { second in
                    try first.forEachDifference(from: second) { row, isInOther in
                        let values = try (0..<3).map { try row.value(at: $0) }
                        let order = isInOther ? second : first
                        let index = try order.section(at: row.path.section).rowsBefore + row.path.row
                        let sought = try order.row(of: row.id)
                        #expect(sought == index)
                        if isInOther { found.second.append(values) } else { found.first.append(values) }
                    }
                }
            }
            #expect(Self.sorted(found.first) == Self.difference(first, second), "seed \(seed)")
            #expect(Self.sorted(found.second) == Self.difference(second, first), "seed \(seed)")
        }
    }

    @Test func ordersThatCannotBeComparedAreRefused() throws {
        var random = SeededGenerator(seed: 1)
        let store = try Self.store([], &random)
        let other = try LiveStore(Self.model(codeType: .string))
        let plain = OrderDefinition(entity: "Item", sortKeys: [SortKey("code")])
        var marked = plain
        marked.aggregates = [.fingerprint]
        func compare(_ first: OrderDefinition, _ second: OrderDefinition, _ container: PersistentContainer) throws {
            try store.container.withOrder(first, .init()) { first in
                try container.withOrder(second, .init()) { second in
                    try first.forEachDifference(from: second) { _, _ in }
                }
            }
        }
        #expect(throws: RequestError.self) { try compare(plain, marked, store.container) }
        #expect(throws: RequestError.self) { try compare(marked, plain, store.container) }
        #expect(throws: RequestError.self) { try compare(marked, marked, other.container) }
        try compare(marked, marked, store.container)
        var (sorted, sectioned, limited) = (marked, marked, marked)
        sorted.sortKeys = [SortKey("size")]
        sectioned.sectionKey = .attribute("group")
        limited.predicate = try FetchPredicate(format: "size == 1")
        for other in [sorted, sectioned, limited] {
            #expect(throws: RequestError.self) { try compare(marked, other, store.container) }
        }
        var sections = marked
        sections.sectionKey = .attribute("group")
        var byCount = sections
        byCount.sectionOrder = .byCount(descending: true)
        try compare(sections, byCount, store.container)
    }

    /// The sort key of a row may change although the row's own values don't.
    @Test func ordersThatReadRelatedObjectsAreRefused() throws {
        let store = try LiveStore(
            Model(entities: [
                Entity("House", [AttributeDescription("name", .string)]),
                Entity(
                    "Item", [AttributeDescription("code", .integer)],
                    relationships: [RelationshipDescription("house", toOne: "House")]),
            ]))
        let definition = OrderDefinition(
            entity: "Item", sortKeys: [SortKey("house.name")], aggregates: [.fingerprint])
        try store.container.withOrder(definition, .init()) { order -> Void in
            func compare() throws { try order.forEachDifference(from: order) { _, _ in } }
            #expect(throws: RequestError.self) { try compare() }
        }
    }
}
