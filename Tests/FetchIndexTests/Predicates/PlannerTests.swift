import FetchIndexOrderCaches
import FetchIndexPlatform
import Foundation
import FetchIndexLMDB
import FetchIndexRecords
import FetchIndexTestSupport
import Testing
import FetchIndexValues

@testable import FetchIndex
@testable import FetchIndexPredicates

/// Planned fetches find what scans find, and plans name their source.
@Suite struct PlannerTests {
    private static let entity = Entity(
        "Package",
        [
            AttributeDescription("name", .string), AttributeDescription("size", .integer),
            AttributeDescription("rate", .double), AttributeDescription("built", .date),
            AttributeDescription("license", .string), AttributeDescription("number", .integer, isUnique: true),
            AttributeDescription("free", .boolean), AttributeDescription("price", .decimal),
        ])

    private static let names = ["a", "ab", "abc", "b", "影", "影武者", "", "a\u{0}b", "Ab", "é", "e\u{301}"]

    private static func values(_ number: Int, using generator: inout SeededGenerator) -> [Value] {
        func maybe(_ value: Value) -> Value { Int.random(in: 0..<6, using: &generator) == 0 ? .null : value }
        let small = Int64.random(in: -3...3, using: &generator)
        let doubles: [Double] = [-1.5, -0.0, 0, 0.1, 2, 3.5, .nan, .infinity]
        return [
            maybe(.string(names.randomElement(using: &generator) ?? "")),
            maybe(.integer([.min, .max, small, small, small].randomElement(using: &generator) ?? 0)),
            maybe(.double(doubles.randomElement(using: &generator) ?? 0)),
            maybe(
                .date(
                    Date(
                        timeIntervalSinceReferenceDate: [.nan, .infinity, Double(small) * 86_400]
                            .randomElement(using: &generator) ?? 0))),
            maybe(.string(["GPL", "MIT", "BSD"].randomElement(using: &generator) ?? "")), .integer(Int64(number)),
            maybe(.boolean(small > 0)), maybe(.decimal(Decimal(small) / 2)),
        ]
    }

    private static let parts = [
        "size == 1", "size > 1", "size <= -1", "size BETWEEN {-1, 2}", "size IN {1, 3, 1}", "size == nil", "size != 1",
        "-9223372036854775808 == size", "2 >= size", "size IN {}", "size < 2.5", "rate > 0", "rate == 0", "rate <= 2",
        "rate > 3", "rate == nil", "built >= CAST('2001-01-02', 'date')",
        "built < CAST('2001-01-01T12:00:00Z', 'date')", "name == 'ab'",
        "name BEGINSWITH 'a'", "name BEGINSWITH ''", "name BEGINSWITH[c] 'a'", "name > 'b'", "name IN {'a', '影'}",
        "name == 'a\\u0000b'", "name < 'a\\u0000c'", "license == 'MIT'", "license IN {'GPL', 'BSD'}",
        "license > 'BSD'", "number IN {1, 5, 9, 1000}", "number == 7", "number > 296", "number BETWEEN {7, 9}",
        "number < 3", "number >= 100", "free == TRUE", "free == nil", "price >= 0.5",
        "price == CAST('1.0', 'decimal')", "price < CAST('0.5', 'decimal')", "name CONTAINS 'a'", "size * 2 == 4",
        "rate IN {CAST('nan', 'double'), 2}", "built > CAST('nan', 'date')", "built == CAST('nan', 'date')",
        "built <= CAST('inf', 'date')", "rate IN {1, 2}", "free == 1", "price >= 0.5", "price IN {0, 1, 0.5}",
        "name == 'e\u{301}'", "name >= '\u{E9}'", "size >= 0.5", "size > -1.5 AND size <= 1",
        "NOT size == 1", "(size == 1 OR rate > 0)", "(size == 1 OR size == 3)",
        "(size == 1 OR size > 2 OR size == nil)",
        "(number == 4 OR number == 8 OR 15 == number)", "(number == 4 OR number > 290 OR number BETWEEN {10, 12})",
        "(name == 'a' OR name BEGINSWITH '影' OR name == nil)", "(size == 1 AND free == TRUE OR size == 2 AND rate > 0)",
        "(license == 'MIT' OR (license == 'BSD' OR license == 'x') AND size > 0)", "(size < -1 OR size IN {2, 3})",
        "(number == 3 AND size == 1 OR number == 5 AND size > 0 OR number > 297)",
        "(rate == 2 OR rate == 0 OR free == 1)",
        "(price == 0.5 OR price < 0 OR price == 1)", "(name ==[c] 'AB' OR name ==[c] 'a')",
    ]

    private func options(_ name: String) -> PersistentContainer.OrderOptions { .init(cacheName: name) }

    private func store(_ rows: Int, using generator: inout SeededGenerator, at path: String) throws
        -> PersistentContainer
    {
        var options = Store.Options()
        options.durability = .none
        let container = try PersistentContainer(path: path, model: Model(entities: [Self.entity]), options: options)
        let writer = try container.store.beginWrite()
        for number in 0..<rows {
            let record = try Self.entity.record(Self.values(number, using: &generator))
            _ = try writer.insert(0, record.span.bytes)
        }
        try writer.commit()
        return container
    }

    @Test(arguments: 1...(TestSettings.isLong ? 24 : 6)) func aPlannedFetchFindsTheSameObjectsAsAScan(seed: UInt64)
        throws
    {
        var generator = SeededGenerator(seed: seed)
        let folder = TemporaryFolder()
        let container = try store(300, using: &generator, at: folder.path)
        let orders: [(String, OrderDefinition)] = [
            ("by size", OrderDefinition(entity: "Package", sortKeys: [SortKey("size"), SortKey("name")])),
            ("by name", OrderDefinition(entity: "Package", sortKeys: [SortKey("name", .descending)])),
            ("by rate", OrderDefinition(entity: "Package", sortKeys: [SortKey("rate", .descending)])),
            ("by built", OrderDefinition(entity: "Package", sortKeys: [SortKey("built")])),
            ("by price", OrderDefinition(entity: "Package", sortKeys: [SortKey("price", .descending)])),
            ("by free", OrderDefinition(entity: "Package", sortKeys: [SortKey("free")])),
            (
                "by license, size",
                OrderDefinition(
                    entity: "Package", sortKeys: [SortKey("license"), SortKey("size", .descending), SortKey("name")])
            ),
            (
                "by size, rate",
                OrderDefinition(entity: "Package", sortKeys: [SortKey("size", .descending), SortKey("rate")])
            ),
            (
                "by license",
                OrderDefinition(
                    entity: "Package", sortKeys: [SortKey("rate")], sectionKey: .attribute("license"),
                    sectionOrder: .byCount())
            ),
            (
                "free by size",
                OrderDefinition(
                    entity: "Package", predicate: try FetchPredicate("free == TRUE"), sortKeys: [SortKey("size")])
            ),
        ]
        var sources: Set<String> = []
        for round in 0..<120 {
            if round % 20 == 0 {
                _ = try container.deleteCache(named: nil)
                for (name, definition) in orders where Bool.random(using: &generator) {
                    try container.withOrder(definition, options(name)) { _ in }
                }
            }
            let count = Int.random(in: 1...3, using: &generator)
            let format = (0..<count).map { _ in Self.parts.randomElement(using: &generator) ?? "" }
                .joined(separator: " AND ")
            let predicate = try FetchPredicate(format)
            let plan = try container.plan(OrderDefinition(entity: "Package", predicate: predicate))
            sources.insert("\(plan)")
            let context = container.newContext()
            var request = FetchRequest<ManagedObject>(entityName: "Package")
            request.sortKeys = [SortKey("rate"), SortKey("number")]
            let all = try context.fetch(request)
            // Unsaved edits are included in both results.
            for object in all.prefix(Int.random(in: 0...2, using: &generator)) { object["size"] = .integer(1) }
            if round % 3 == 0 { try context.insert("Package")["number"] = .integer(Int64(1000 + round)) }
            let expected = try context.fetch(request).filter { object in
                try predicate.evaluate(
                    with: Dictionary(uniqueKeysWithValues: Self.entity.attributes.map { ($0.name, object[$0.name]) }))
            }
            request.predicate = predicate
            let found = try context.fetch(request)
            #expect(
                found.map(\.objectID) == expected.map(\.objectID), "seed \(seed), round \(round): \(format), \(plan)")
            #expect(try context.count(for: request) == expected.count, "seed \(seed), round \(round): \(format)")
            try context.rollback()
            // An exact plan reads as many records as match.
            if plan.isExact { #expect(plan.rowsRead == (try context.count(for: request)), "\(format), \(plan)") }
        }
        #expect(sources.count > 3, "seed \(seed): only \(sources)")
    }

    /// A cached order is used for each of these formats, even if the literal's type differs from the attribute's.
    @Test(arguments: [
        ("size == 2", "by size"), ("size > 2.5 AND size < 9", "by size"), ("size IN {3.0, 2}", "by size"),
        ("rate == 2", "by rate"),
        ("rate IN {2}", "by rate"), ("price == 1.5", "by price"), ("price > 1", "by price"),
        ("name BEGINSWITH '影'", "by name"),
        ("built BETWEEN {'2001-01-03', '2001-01-04'}", "by built"), ("name == nil AND size * 2 == 4", "by name"),
    ]) func aConditionOnTheFirstSortKeyOfACacheIsLookedUpInIt(format: String, order: String) throws {
        var generator = SeededGenerator(seed: 5)
        let folder = TemporaryFolder()
        let container = try store(400, using: &generator, at: folder.path)
        for key in ["size", "rate", "price", "name", "built"] {
            let definition = OrderDefinition(entity: "Package", sortKeys: [SortKey(key)])
            try container.withOrder(definition, options("by \(key)")) { _ in }
        }
        let plan = try container.plan(OrderDefinition(entity: "Package", predicate: try FetchPredicate(format)))
        guard case .order(let name, _) = plan.source else {
            Issue.record("\(format): \(plan)")
            return
        }
        #expect(name == order)
        #expect(plan.rowsRead < 100)
    }

    /// The fetches don't name the damaged cache, but a plan could use it. Their results must not change.
    @Test func aDamagedCacheDoesNotChangeTheResultsOfFetches() throws {
        var generator = SeededGenerator(seed: 3)
        let folder = TemporaryFolder()
        let container = try store(300, using: &generator, at: folder.path)
        let definition = OrderDefinition(entity: "Package", sortKeys: [SortKey("size"), SortKey("name")])
        try container.withOrder(definition, options("by size")) { _ in }
        let writer = try container.store.beginWrite()
        var nodes: [(key: UInt64, bytes: [UInt8])] = []
        try writer.view.withCursor(on: writer.tables.nodes) { cursor in
            var isAtEntry = try cursor.seekToFirst()
            while isAtEntry {
                nodes.append((cursor.integerKey, [UInt8](copying: cursor.value)))
                isAtEntry = try cursor.seekToNext()
            }
        }
        for (key, bytes) in nodes {
            var bytes = bytes
            bytes[bytes.count / 2] ^= 1
            try writer.view.put(bytes.span.bytes, for: key, in: writer.tables.nodes)
        }
        try writer.commit()
        let context = container.newContext()
        for format in ["size == 2", "size IN {1, 3}", "size > 0"] {
            var request = FetchRequest<ManagedObject>(entityName: "Package")
            request.predicate = try FetchPredicate(format)
            let found = try context.fetch(request)
            let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Package"))
            let expected = try all.filter { try FetchPredicate(format).evaluate(with: $0) }
            #expect(found == expected, "\(format)")
            request.predicate = try FetchPredicate(format)
            #expect(try context.count(for: request) == expected.count)
        }
    }

    @Test func aPlanUsesACachedOrderOnlyWhileItIsCurrent() throws {
        var generator = SeededGenerator(seed: 1)
        let folder = TemporaryFolder()
        let container = try store(200, using: &generator, at: folder.path)
        try container.withOrder(
            OrderDefinition(entity: "Package", sortKeys: [SortKey("size")]), options("by size")
        ) { _ in }
        let plan = try container.plan(
            OrderDefinition(entity: "Package", predicate: try FetchPredicate("size > 3")))
        #expect(plan.source == .order(name: "by size", attribute: "size"))
        #expect(plan.isExact)
        #expect(plan.rowCount == 200)
        let unique = try container.plan(
            OrderDefinition(entity: "Package", predicate: try FetchPredicate("number == 7 AND size > 3")))
        #expect(unique.source == .uniqueKey(attribute: "number"))
        #expect(unique.rowsRead == 1)
        let context = container.newContext()
        let object = try context.insert("Package")
        object["number"] = 1000
        object["size"] = 1
        try context.save()
        // The cache is behind now, so the plan does not use it.
        #expect(
            try container.plan(OrderDefinition(entity: "Package", predicate: try FetchPredicate("size > 3"))).source
                == .scan)
    }

    @Test func anOrderThatDependsOnTheClockCannotBeCached() throws {
        var generator = SeededGenerator(seed: 2)
        let folder = TemporaryFolder()
        let container = try store(200, using: &generator, at: folder.path)
        let definition = OrderDefinition(
            entity: "Package", predicate: try FetchPredicate("built < now()"), sortKeys: [SortKey("size")])
        #expect(throws: ContextError.self) { try container.withOrder(definition, options("old")) { _ in } }
        try container.withOrder(definition, .init()) { order in #expect(order.rowCount > 0) }
    }

    /// Folding and regular expressions may find other rows with another version of ICU.
    @Test(arguments: [
        ("name CONTAINS[c] 'a'", true), ("NOT name MATCHES 'a'", true), ("name LIKE 'a*'", true),
        ("uppercase:(name) == 'A'", true), ("name CONTAINS 'a'", false), ("size > 5 AND name == 'a'", false),
    ]) func aFingerprintHasTheVersionOfICUOnlyIfThePredicateNeedsIt(format: String, dependsOnICU: Bool) throws {
        let definition = OrderDefinition(entity: "Package", predicate: try FetchPredicate(format))
        let identity = try definition.compile(in: Model(entities: [Self.entity])).identity
        #expect(identity.collation.contains("ICU") == dependsOnICU)
    }

    @Test func canonicallyEquivalentTextsAreDifferentRequests() throws {
        var generator = SeededGenerator(seed: 4)
        let folder = TemporaryFolder()
        let container = try store(100, using: &generator, at: folder.path)
        func outcome(_ text: String) throws -> (FetchOutcome, Int) {
            let predicate = try FetchPredicate("name == %@", text)
            let definition = OrderDefinition(entity: "Package", predicate: predicate, sortKeys: [SortKey("name")])
            return try container.withOrder(definition, options("one")) { ($0.outcome, $0.rowCount) }
        }
        let composed = try outcome("\u{E9}")
        #expect(try outcome("\u{E9}").0 == .hit)
        let decomposed = try outcome("e\u{301}")
        #expect(decomposed.0 == .rebuilt(.predicateChanged))
        #expect(composed.1 > 0)
        #expect(decomposed.1 > 0)
    }

    @Test func aDecimalThatIsNotANumberIsNotSaved() throws {
        var generator = SeededGenerator(seed: 4)
        let folder = TemporaryFolder()
        let container = try store(3, using: &generator, at: folder.path)
        let context = container.newContext()
        let object = try context.insert("Package")
        object["number"] = 100
        object["price"] = .decimal(.nan)
        #expect(throws: ValidationError.self) { try context.save() }
        object["price"] = .decimal(1)
        try context.save()
        #expect(throws: StoreError.self) {
            try Self.entity.record([.null, .null, .null, .null, .null, 5, .null, .decimal(.nan)])
        }
    }
}
