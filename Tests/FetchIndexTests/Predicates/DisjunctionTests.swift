import Foundation
import FetchIndexLMDB
import FetchIndexRecords
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndex

/// ORs of equalities and ranges, which can be looked up instead of testing each row against each term.
@Suite struct DisjunctionTests {
    private static let entity = Entity(
        "Item",
        [
            AttributeDescription("key", .string, isUnique: true),
            AttributeDescription("number", .integer, isUnique: true),
            AttributeDescription("size", .integer), AttributeDescription("name", .string),
            AttributeDescription("made", .date), AttributeDescription("tag", .uuid),
        ])

    private let folder = TemporaryFolder()

    private struct Item {
        let key: String
        let number: Int64
        let size: Int64?
        let name: String?

        var values: [Value] {
            [
                .string(key), .integer(number), size.map(Value.integer) ?? .null, name.map(Value.string) ?? .null,
                .date(Date(timeIntervalSinceReferenceDate: Double(number))), .uuid(DisjunctionTests.tag(Int(number))),
            ]
        }
    }

    private static func tag(_ number: Int) -> UUID {
        withUnsafeBytes(of: UInt64(number).bigEndian) { bytes in
            UUID(
                uuid: (
                    0, 0, 0, 0, 0, 0, 0x40, 0, bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6],
                    bytes[7]
                ))
        }
    }

    private func store(_ items: [Item]) throws -> PersistentContainer {
        var options = Store.Options()
        options.durability = .none
        let container = try PersistentContainer(
            path: folder.path, model: Model(entities: [Self.entity]), options: options)
        let writer = try container.store.beginWrite()
        for item in items {
            let record = try Self.entity.record(item.values)
            _ = try writer.insert(0, record.span.bytes)
        }
        try writer.commit()
        return container
    }

    /// Items whose keys and numbers are shuffled. Some sizes and names are null.
    private static func items(_ count: Int) -> [Item] {
        (0..<count).map { number in
            let mixed = number * 7919 % count
            return Item(
                key: "k\(mixed)", number: Int64(mixed), size: number % 7 == 0 ? nil : Int64(number % 5),
                name: number % 11 == 0 ? nil : "n\(mixed % 50)")
        }
    }

    private func numbers(_ container: PersistentContainer, _ predicate: FetchPredicate) throws -> [Int64] {
        var request = FetchRequest<ManagedObject>(entityName: "Item")
        request.predicate = predicate
        let context = container.newContext()
        let found = try context.fetch(request).compactMap { $0["number"].integerValue }.sorted()
        #expect(try context.count(for: request) == found.count)
        return found
    }

    private func plan(_ container: PersistentContainer, _ predicate: FetchPredicate) throws -> FetchPlan {
        try container.plan(OrderDefinition(entity: "Item", predicate: predicate))
    }

    @Test(arguments: [
        ("key == 'k3' OR key == 'k5'", "key", 2, [3, 5]), ("'k3' == key OR key IN {'k5', 'k7'}", "key", 3, [3, 5, 7]),
        ("(key == 'k3' OR (key == 'k5' OR key == 'none')) AND size != 9", "key", 2, [3, 5]),
        ("key == 'k3' AND size < 9 OR key == 'k5' AND NOT size > 9 OR key == 'k7' AND name == 'x'", "key", 3, [3, 5]),
        ("number == 3 OR number < 2 OR number == 11 OR number BETWEEN {20, 21}", "number", 6, [0, 1, 3, 11, 20, 21]),
        ("number == 3 OR number > 5 AND number < 8 OR number == 3.0", "number", 3, [3, 6, 7]),
        ("key BEGINSWITH 'k1000' OR key == 'k7'", "key", 12, [7, 1000] + (10_000...10_009)),
        ("number == 1 OR number == 2 OR FALSEPREDICATE", "number", 2, [1, 2]),
    ]) func equalitiesAndRangesOfAUniqueAttributeAreLookedUp(
        format: String, attribute: String, rowsRead: Int, expected: [Int64]
    ) throws {
        let container = try store(Self.items(20_000))
        let predicate = try FetchPredicate(format)
        let plan = try plan(container, predicate)
        #expect(plan.source == .uniqueKey(attribute: attribute), "\(format): \(plan)")
        #expect(plan.rowsRead == rowsRead, "\(format): \(plan)")
        let found = try numbers(container, predicate)
        #expect(Set(found).isSubset(of: Set(expected)))
        if !format.contains("size") { #expect(found == expected) }
    }

    @Test func aPlanShowsTheNumberOfLookUps() throws {
        let container = try store(Self.items(2000))
        let texts = (0..<50).map { "key == 'k\($0)'" }.joined(separator: " OR ")
        #expect(try plan(container, FetchPredicate(texts)).description == "unique key key, 50 lookups")
        #expect(try plan(container, FetchPredicate("key == 'k1'")).description == "unique key key")
        try container.withOrder(
            OrderDefinition(entity: "Item", sortKeys: [SortKey("size")]), .init(cacheName: "by size")
        ) { _ in }
        let mixed = try plan(container, FetchPredicate("size == 9 OR size > 100 OR size == 8 OR size == 7"))
        #expect(mixed.description == "cache \"by size\" on size, 4 lookups")
        #expect(mixed.isExact)
        let inexact = try plan(container, FetchPredicate("size == 9 AND name == 'x' OR size == 8"))
        #expect(inexact.source == .order(name: "by size", attribute: "size"))
        #expect(!inexact.isExact)
    }

    /// The cost must not be the number of terms times the number of rows; the time limit finds only gross violations.
    @Test(arguments: ["key", "number", "name", "made", "tag", "key and size"])
    func aDisjunctionOfThousandsOfTermsEndsInTime(attribute: String) throws {
        let container = try store(Self.items(3000))
        let count = TestSettings.isLong ? 100_000 : 4000
        let terms = try (0..<count).map { number -> FetchPredicate in
            switch attribute {
            case "key": try FetchPredicate("key == %@", "k\(number)")
            case "number": try FetchPredicate("number == %d", number)
            case "name": try FetchPredicate("name ==[c] %@", "N\(number)")
            case "made": try FetchPredicate("made == %@", Date(timeIntervalSinceReferenceDate: Double(number)))
            case "tag": try FetchPredicate("tag == %@", Self.tag(number))
            default: try FetchPredicate("key == %@ AND size >= 0", "k\(number)")
            }
        }
        let clock = ContinuousClock()
        let start = clock.now
        let predicate = FetchPredicate(anyOf: terms)
        let found = try numbers(container, predicate)
        #expect(found.count > 2000)
        let parsed = try FetchPredicate(predicate.description)
        #expect(parsed == predicate)
        #expect(
            try parsed.evaluate(with: ["key": "k3999", "number": 3999, "size": 1, "name": "n3999"])
                == !["made", "tag"].contains(attribute))
        // The limit allows for a debug build on a busy machine.
        #expect(clock.now - start < .seconds(600), "\(clock.now - start)")
    }

    /// Random trees of AND, OR and NOT over comparisons, compared with plain closures.
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func randomTreesAgreeWithClosures(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let items = Self.items(1500)
        let container = try store(items)
        for (name, key) in [("by size", "size"), ("by name", "name")] where Bool.random(using: &generator) {
            let definition = OrderDefinition(entity: "Item", sortKeys: [SortKey(key), SortKey("number")])
            try container.withOrder(definition, .init(cacheName: name)) { _ in }
        }
        var sources: [String: Int] = [:]
        for round in 0..<(TestSettings.isLong ? 100 : 40) {
            let tree = Self.tree(depth: 3, &generator)
            let predicate = try FetchPredicate(tree.format)
            let expected = items.filter(tree.holds).map(\.number).sorted()
            let plan = try plan(container, predicate)
            sources["\(plan.source)", default: 0] += 1
            #expect(
                try numbers(container, predicate) == expected, "seed \(seed), round \(round): \(tree.format), \(plan)")
            if plan.isExact { #expect(plan.rowsRead == expected.count, "seed \(seed): \(tree.format), \(plan)") }
        }
        #expect(sources.count > 1, "seed \(seed): \(sources)")
    }

    private typealias Tree = (format: String, holds: (Item) -> Bool)

    private static func tree(depth: Int, _ generator: inout SeededGenerator) -> Tree {
        guard depth > 0, Int.random(in: 0..<4, using: &generator) > 0 else { return leaf(&generator) }
        if Int.random(in: 0..<8, using: &generator) == 0 {
            let inner = tree(depth: depth - 1, &generator)
            return ("NOT (\(inner.format))", { !inner.holds($0) })
        }
        let isAnd = Int.random(in: 0..<3, using: &generator) == 0
        // Some trees have enough parts to be looked up by value.
        let count = Int.random(in: 0..<6, using: &generator) == 0 ? 24 : Int.random(in: 2...3, using: &generator)
        let parts = (0..<count).map { _ in tree(depth: count > 3 ? min(1, depth - 1) : depth - 1, &generator) }
        let format = parts.map { "(\($0.format))" }.joined(separator: isAnd ? " AND " : " OR ")
        return (
            format, { item in isAnd ? parts.allSatisfy { $0.holds(item) } : parts.contains { $0.holds(item) } }
        )
    }

    private static func leaf(_ generator: inout SeededGenerator) -> Tree {
        let number = Int64.random(in: -2..<1510, using: &generator)
        let small = Int64.random(in: 0..<6, using: &generator)
        switch Int.random(in: 0..<9, using: &generator) {
        case 0...2: return ("key == 'k\(number)'", { $0.key == "k\(number)" })
        case 3: return ("number == \(number)", { $0.number == number })
        case 4:
            return ("number BETWEEN {\(number), \(number + small)}", { (number...number + small).contains($0.number) })
        case 5: return ("size == \(small)", { $0.size == small })
        case 6: return ("size == nil", { $0.size == nil })
        case 7: return ("name == 'n\(small)'", { $0.name == "n\(small)" })
        default: return ("name BEGINSWITH 'n4'", { $0.name?.hasPrefix("n4") ?? false })
        }
    }
}
