import FetchIndexPlatform
@testable import FetchIndex
import Foundation
import FetchIndexLMDB
import FetchIndexModels
import FetchIndexOrderCaches
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndexRecords

/// Fetches that take their candidates from a range of unique keys find what a scan finds.
@Suite struct UniqueRangeTests {
    private static let entity = Entity(
        "Item",
        [
            AttributeDescription("key", .string, isUnique: true),
            AttributeDescription("weight", .double, isUnique: true),
            AttributeDescription("size", .integer),
        ])

    private let folder = TemporaryFolder()

    private func container(_ model: Model = Model(entities: [entity])) throws -> PersistentContainer {
        var options = Store.Options()
        options.durability = .none
        return try PersistentContainer(path: folder.path, model: model, options: options)
    }

    private struct Item {
        let key: String?
        let weight: Double?
        let size: Int64

        var values: [Value] {
            [key.map(Value.string) ?? .null, weight.map(Value.double) ?? .null, .integer(size)]
        }
    }

    /// A random text of few characters; some texts have a long common beginning.
    private static func text(_ generator: inout SeededGenerator, most: Int = 8) -> String {
        let characters = ["a", "b", "z", "/", "影", "\0", "\u{FF}", "\u{10FFFF}"]
        let start = Int.random(in: 0..<3, using: &generator) == 0 ? String(repeating: "ab/", count: 100) : ""
        return (0..<Int.random(in: 0...most, using: &generator)).reduce(into: start) { text, _ in
            text += characters.randomElement(using: &generator)!
        }
    }

    private static func items(_ count: Int, _ generator: inout SeededGenerator) -> [Item] {
        var keys: Set<String> = []
        let special: [Double?] = [.nan, .infinity, -.infinity, 0.1]
        return (0..<count).map { number in
            let key = text(&generator)
            let isNew = Int.random(in: 0..<30, using: &generator) > 0 && keys.insert(key).inserted
            return Item(
                key: isNew ? key : nil,
                weight: number < special.count ? special[number] : Double(number - count / 2) / 4,
                size: Int64.random(in: 0..<4, using: &generator))
        }
    }

    private func insert(_ items: [Item], into container: PersistentContainer) throws {
        let writer = try container.store.beginWrite()
        for item in items {
            let record = try Self.entity.record(item.values)
            _ = try writer.insert(0, record.span.bytes)
        }
        try writer.commit()
    }

    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    private typealias Condition = (predicate: FetchPredicate, holds: (Item) -> Bool)

    private static func condition(_ generator: inout SeededGenerator, _ items: [Item]) throws -> Condition {
        // Many bounds are stored keys, and some are too long for a key.
        let text =
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: Self.text(&generator)
            case 1: String(repeating: "ab/", count: 100) + String(repeating: "z", count: 300)
            default: items.randomElement(using: &generator)?.key ?? "b"
            }
        let other = items.randomElement(using: &generator)?.key ?? "z"
        let weight = Double(Int.random(in: -items.count...items.count, using: &generator)) / 8
        let width = Double(Int.random(in: 0...20, using: &generator))
        func texts(_ format: String, _ arguments: String..., holds: @escaping (String) -> Bool) throws -> Condition {
            (
                try FetchPredicate(format: format, argumentArray: arguments),
                { item in item.key.map(holds) ?? false }
            )
        }
        switch Int.random(in: 0..<8, using: &generator) {
        case 0, 1:
            let prefix = String(text.unicodeScalars.prefix(Int.random(in: 1...400, using: &generator)))
            return try texts("key BEGINSWITH %@", prefix) { !prefix.isEmpty && $0.utf8.starts(with: prefix.utf8) }
        case 2:
            return try texts("key > %@ AND key <= %@", text, other) { precedes(text, $0) && !precedes(other, $0) }
        case 3: return try texts("key < %@", text) { precedes($0, text) }
        case 4: return try texts("key >= %@", text) { !precedes($0, text) }
        case 5:
            return (
                try FetchPredicate("weight >= %@ AND weight < %@", weight, weight + width),
                { item in item.weight.map { $0 >= weight && $0 < weight + width } ?? false }
            )
        case 6:
            return (
                try FetchPredicate("weight > %@ AND size == 2", weight),
                { item in item.size == 2 && item.weight.map { $0 > weight } ?? false }
            )
        default:
            return (
                try FetchPredicate("weight BETWEEN {%@, %@} AND key < %@", weight, weight + width, text),
                { item in
                    (item.weight.map { $0 >= weight && $0 <= weight + width } ?? false)
                        && (item.key.map { precedes($0, text) } ?? false)
                }
            )
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>) func rangesOfUniqueKeysFindTheSameObjectsAsAScan(seed: UInt64) throws
    {
        var generator = SeededGenerator(seed: seed)
        let items = Self.items(2000, &generator)
        let container = try container()
        try insert(items, into: container)
        let context = container.newContext()
        var plans: [String: Int] = [:]
        for round in 0..<150 {
            let condition = try Self.condition(&generator, items)
            let expected = items.indices.filter { condition.holds(items[$0]) }.map { UInt64($0 + 1) }
            var request = FetchRequest<ManagedObject>(entityName: "Item")
            request.predicate = condition.predicate
            let found = try context.fetch(request)
            let plan = try container.plan(OrderDefinition(entity: "Item", predicate: condition.predicate))
            plans["\(plan.source)", default: 0] += 1
            let place = "seed \(seed), round \(round): \(condition.predicate), \(plan)"
            #expect(found.map(\.objectID.number).sorted() == expected, "\(place)")
            #expect(try context.count(for: request) == expected.count, "\(place)")
            if plan.source != .scan {
                #expect(plan.rowsRead >= expected.count && plan.rowsRead <= 128, "\(place)")
            }
        }
        #expect(plans.count == 3 && plans.values.allSatisfy { $0 >= 10 }, "seed \(seed): \(plans)")
    }

    /// The unique keys of an inherited attribute contain the entity that declares it, for the objects of all
    /// subentities.
    @Test func rangesOfInheritedKeysFindOnlyObjectsOfTheFetchedEntity() throws {
        let container = try container(
            Model(entities: [
                Entity("Base", [AttributeDescription("code", .integer, isUnique: true)]),
                Entity("One", [], superentity: "Base"), Entity("Two", [], superentity: "Base"),
            ]))
        let context = container.newContext()
        let names = ["Base", "One", "Two"]
        for code in 0..<600 { try context.insert(names[code % 3])["code"] = .integer(Int64(code)) }
        try context.save()
        for (name, wanted) in [("Base", names), ("One", ["One"]), ("Two", ["Two"])] {
            let predicate = try FetchPredicate("code >= 30 AND code < 33")
            var request = FetchRequest<ManagedObject>(entityName: name)
            request.predicate = predicate
            request.sortKeys = [SortKey("code")]
            let plan = try container.plan(OrderDefinition(entity: name, predicate: predicate))
            #expect(plan.source == .uniqueKey(attribute: "code"))
            let codes = (30..<33).filter { wanted.contains(names[$0 % 3]) }.map { Value.integer(Int64($0)) }
            #expect(try context.fetch(request).map { $0["code"] } == codes, "\(name)")
        }
    }

    /// In a store of 20,000 objects, a range of unique keys is looked up if it has at most 1/64 of the objects (312),
    /// or at most 128 if the fetch ends early.
    @Test func rangesWithTooManyKeysAreNotLookedUp() throws {
        let container = try container()
        // The values are shuffled, so that the bounds of each zone are wide and a scan can hardly skip it.
        let weights = (0..<20_000).map { $0 * 7919 % 20_000 }
        try insert(weights.map { Item(key: nil, weight: Double($0), size: Int64($0 / 2)) }, into: container)
        let bySize = OrderDefinition(entity: "Item", sortKeys: [SortKey("size")])
        try container.withOrder(bySize, .init(cacheName: "by size")) { _ in }
        func found(_ format: String, endsEarly: Bool = false) throws -> Int? {
            let definition = OrderDefinition(entity: "Item", predicate: try FetchPredicate(format))
            let selection = try definition.plan(in: container.store.snapshot(), most: endsEarly ? 50 : .max).selection
            return if case .objects(let objects) = selection { objects.count } else { nil }
        }
        #expect(try found("weight < 312") == 312)
        #expect(try found("weight < 313") == nil)
        #expect(try found("weight < 128", endsEarly: true) == 128)
        #expect(try found("weight < 129", endsEarly: true) == nil)
        #expect(try found("weight > 5 AND weight < 5", endsEarly: true) == 0)
        // A row of a cache costs 5 records of a scan, or 32 if the fetch ends early; a unique key costs 64.
        #expect(try found("size < 2000") == 4000)
        #expect(try found("size < 2001") == nil)
        #expect(try found("size < 312", endsEarly: true) == 624)
        #expect(try found("size < 313", endsEarly: true) == nil)
        #expect(try found("weight < 16 AND size < 100") == 200)
        #expect(try found("weight < 15 AND size < 100") == 15)
    }

    /// The value of a unique key is damaged, or leads to another object or a missing one. The fetch scans all objects
    /// instead.
    @Test(arguments: [0, 1, 2]) func aDamagedUniqueKeyDoesNotHideAnObjectFromFetches(kind: Int) throws {
        let container = try container()
        let items = (0..<1000).map { Item(key: String(format: "k%03d", $0), weight: nil, size: 1) }
        try insert(items, into: container)
        let predicate = try FetchPredicate("key BEGINSWITH 'k10'")
        let definition = OrderDefinition(entity: "Item", predicate: predicate)
        #expect(try container.plan(definition).source == .uniqueKey(attribute: "key"))
        let writer = try container.store.beginWrite()
        let record = try Self.entity.record(items[101].values)
        let key = try #require(try writer.uniqueKey(0, Self.entity.uniqueConstraints[0], record.span.bytes))
        var value: [UInt8] = []
        _ = try writer.view.get(key, in: writer.tables.unique) { value = [UInt8](copying: $0) }
        switch kind {
        case 0: value[0] ^= 1
        default:
            // The key leads to another object, or to one that does not exist.
            value = kind == 1 ? [7] : [255, 255]
            value.appendChecksum()
        }
        try writer.view.put(value.span.bytes, for: key.span.bytes, in: writer.tables.unique)
        try writer.commit()
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Item")
        request.predicate = predicate
        request.sortKeys = [SortKey("key")]
        #expect(try context.fetch(request).map { $0["key"] } == (100..<110).map { .string("k\($0)") })
        #expect(try context.count(for: request) == 10)
    }

    @Test func aPlanUsesTheRangeWithTheFewestCandidates() throws {
        let container = try container()
        try insert(
            (0..<2000).map { Item(key: String(format: "k%04d", $0), weight: Double($0), size: 1) }, into: container)
        func plan(_ format: String) throws -> FetchPlan {
            try container.plan(OrderDefinition(entity: "Item", predicate: try FetchPredicate(format)))
        }
        for (format, attribute, count) in [
            ("key < 'k0020' AND weight >= 10 AND weight < 13", "weight", 3),
            ("key BEGINSWITH 'k001' AND weight > 2", "key", 10), ("weight == 5 AND key < 'k0010'", "weight", 1),
            ("key > 'k0010' AND key < 'k0010'", "key", 0),
            ("weight IN {1, 2, 3} AND key BEGINSWITH 'k000'", "weight", 3),
        ] {
            #expect(try plan(format).source == .uniqueKey(attribute: attribute), "\(format)")
            #expect(try plan(format).rowsRead == count, "\(format)")
        }
        #expect(try plan("key BEGINSWITH 'k0'").source == .scan)
        // In a store of this size, at most 128 keys are looked up.
        #expect(try plan("weight >= 0 AND weight < 128").source == .uniqueKey(attribute: "weight"))
        #expect(try plan("weight >= 0 AND weight <= 128").source == .scan)
        let context = container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Item")
        request.predicate = try FetchPredicate("key >= 'k0010' AND key < 'k0013'")
        request.sortKeys = [SortKey("key")]
        let found = try context.fetch(request)
        #expect(found.map { $0["weight"] } == [.double(10), .double(11), .double(12)])
        found[0]["key"] = "a"
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))[1500]["key"] = "k0010b"
        try context.insert("Item")["key"] = "k0012b"
        #expect(try context.fetch(request).map { $0["key"] } == ["k0010b", "k0011", "k0012", "k0012b"])
        #expect(try context.count(for: request) == 4)
        request.sortKeys = []
        request.fetchLimit = 2
        #expect(try context.fetch(request).map { $0["key"] } == ["k0011", "k0012"])
    }
}
