import FetchIndexRecords
@testable import FetchIndex
import Foundation
import FetchIndexLMDB
import FetchIndexTestSupport
import Testing

/// The oracle for requests, in plain Swift: filters, groups and sorts.
struct PlainFetch {
    let definition: OrderDefinition
    let entity: Entity

    func sections(of objects: [(number: UInt64, values: [Value])]) throws -> [(name: String, rows: [UInt64])] {
        let members = try objects.filter { object in
            try definition.predicate?.evaluate(with: named(object.values)) ?? true
        }
        let collators = try definition.sortKeys.map { try TextCollator($0.textOrder) }
        let value = definition.sectionKey.map { key in
            { (object: (number: UInt64, values: [Value])) in
                let value = named(object.values)[key.attribute ?? ""] ?? .null
                let name = sectionName(value, key)
                switch value {
                case .boolean, .integer, .double, .decimal: return name.map { PlainSectionValue(number: $0) } ?? .null
                default: return PlainSectionValue(name)
                }
            }
        }
        return plainSections(
            of: members, by: { isBefore($0, $1, collators) }, in: value, PlainSectionOrder(definition.sectionOrder)
        ).map { ($0.name, $0.rows.map(\.number)) }
    }

    private func named(_ values: [Value]) -> [String: Value] {
        Dictionary(uniqueKeysWithValues: zip(entity.attributes.map(\.name), values))
    }

    private func isBefore(
        _ left: (number: UInt64, values: [Value]), _ right: (number: UInt64, values: [Value]),
        _ collators: [TextCollator?]
    ) -> Bool {
        for (key, collator) in zip(definition.sortKeys, collators) {
            let order = compare(
                named(left.values)[key.attribute] ?? .null, named(right.values)[key.attribute] ?? .null, collator)
            if order != 0 { return (order < 0) == (key.direction == .ascending) }
        }
        return left.number < right.number
    }

    private func compare(_ left: Value, _ right: Value, _ collator: TextCollator?) -> Int {
        if left.isNull || right.isNull { return left.isNull == right.isNull ? 0 : left.isNull ? -1 : 1 }
        if let collator, case .string(let left) = left, case .string(let right) = right {
            let leftKey = sortKey(left, collator), rightKey = sortKey(right, collator)
            return leftKey == rightKey ? 0 : leftKey.lexicographicallyPrecedes(rightKey) ? -1 : 1
        }
        switch left.compare(to: right) {
        case .ascending: return -1
        case .descending: return 1
        default: return 0
        }
    }

    private func sortKey(_ text: String, _ collator: TextCollator) -> [UInt8] {
        var key: [UInt8] = []
        collator.withSortKey(of: Array(text.utf8).span.bytes) { key = $0.withUnsafeBytes { [UInt8]($0) } }
        return key
    }

    private func name(of unit: CalendarUnit, in zone: String, _ date: Date) -> String {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = TimeZone(identifier: zone) ?? .gmt
        let parts = calendar.dateComponents([.year, .month, .day, .yearForWeekOfYear, .weekOfYear], from: date)
        let text = String(format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
        switch unit {
        case .day: return text
        case .week: return String(format: "%04d-W%02d", parts.yearForWeekOfYear ?? 0, parts.weekOfYear ?? 0)
        case .month: return String(text.prefix(7))
        case .quarter: return String(format: "%04d-Q%d", parts.year ?? 0, ((parts.month ?? 0) + 2) / 3)
        case .year: return String(text.prefix(4))
        }
    }

    /// The name of a row's section; nil for null, which has a section of its own.
    private func sectionName(_ value: Value, _ key: SectionKey) -> String? {
        switch (key, value) {
        case (_, .null): return nil
        case (.prefix(_, let length), .string(let text)): return String(text.prefix(length))
        case (.bucket(_, let width), .integer(let number)):
            return Value.double((Double(number) / width).rounded(.down) * width).description
        case (.date(_, let unit, let zone, _), .date(let date)): return name(of: unit, in: zone, date)
        case (.indexTitle, .string(let text)):
            // The titles are few, so a table of index titles is enough.
            if text.hasPrefix("か") || text.hasPrefix("が") { return "か" }
            let letter = text.first.map { "\($0)".uppercased() } ?? ""
            return ["É": "E", "E": "E", "A": "A", "F": "F"][letter] ?? "#"
        default: return value.description
        }
    }
}

extension PlainSectionOrder {
    init(_ order: SectionOrder) {
        self =
            switch order {
            case .byFirstRow: .byFirstRow
            case .byName(let isDescending, _): .byName(isDescending: isDescending)
            case .byCount(let isDescending): .byCount(isDescending: isDescending)
            }
    }
}

@Suite struct OrderTests {
    static let entity = Entity(
        "Book",
        [
            AttributeDescription("title", .string), AttributeDescription("publisher", .string),
            AttributeDescription("price", .integer),
            AttributeDescription("released", .date), AttributeDescription("rate", .double),
            AttributeDescription("sold", .boolean),
        ])

    let folder = TemporaryFolder()

    func container() throws -> PersistentContainer {
        try PersistentContainer(
            at: URL(fileURLWithPath: folder.path), model: Model(entities: [Self.entity]), durability: .none)
    }

    func randomValues(_ generator: inout SeededGenerator) -> [Value] {
        func pick(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &generator)] }
        let titles = ["影との戦い", "かがみ", "がく", "Été", "ete", "apple", "Apple", "file10", "file2", "", "👩‍👩‍👧x", "e\u{301}"]
        return [
            pick(titles.map(Value.string) + [.null]), pick(["早川書房", "岩波書店", "文藝春秋", .null]),
            pick([.null, .integer(.random(in: -50...50, using: &generator)), 7]),
            pick([
                .null, .date(Date(timeIntervalSince1970: Double(Int.random(in: 0...1_500_000_000, using: &generator)))),
            ]),
            pick([.null, .double(.random(in: -2...2, using: &generator))]), pick([true, false, .null]),
        ]
    }

    func randomDefinition(_ generator: inout SeededGenerator) throws -> OrderDefinition {
        func pick<Element>(_ elements: [Element]) -> Element {
            elements[Int.random(in: 0..<elements.count, using: &generator)]
        }
        let predicates = [
            "price > 0", "title CONTAINS[cd] 'e'", "publisher IN {'早川書房', '岩波書店'} AND NOT sold == TRUE",
            "released BETWEEN {CAST('1980-01-01', 'date'), CAST('2010-01-01', 'date')} OR price == nil", "rate != nil",
        ]
        let keys: [SortKey<ManagedObject>] = [
            SortKey("title"), SortKey("title", .descending), SortKey("title", .ascending, .localized("ja")),
            SortKey("title", .descending, .localizedStandard("en")), SortKey("title", .ascending, .caseInsensitive),
            SortKey("price"), SortKey("price", .descending), SortKey("rate", .descending), SortKey("released"),
            SortKey("sold"),
        ]
        let sections: [SectionKey?] = [
            nil, .attribute("publisher"), .attribute("sold"), .attribute("price"), .prefix("title", 1),
            .prefix("title", 2),
            .bucket("price", width: 10), .bucket("price", width: 2.5), .date("released", .day),
            .date("released", .month, timeZone: "Asia/Tokyo"), .date("released", .year, timeZone: "America/New_York"),
            .date("released", .week, timeZone: "Europe/Berlin"),
            .date("released", .quarter, timeZone: "Pacific/Apia"), .indexTitle("title", locale: "ja"),
        ]
        var definition = OrderDefinition(
            entity: "Book", sortKeys: (0..<Int.random(in: 0...2, using: &generator)).map { _ in pick(keys) })
        definition.predicate = Bool.random(using: &generator) ? try FetchPredicate(pick(predicates)) : nil
        definition.sectionKey = pick(sections)
        definition.sectionOrder = definition.sectionKey == nil ? .byFirstRow : pick([.byFirstRow, .byName()])
        return definition
    }

    func objects(_ container: PersistentContainer) throws -> [(number: UInt64, values: [Value])] {
        var objects: [(number: UInt64, values: [Value])] = []
        try container.store.snapshot().scan(0) { object, record in
            objects.append((object.number, try Self.entity.values(of: record)))
            return true
        }
        return objects
    }

    /// Random requests on random rows, uncached and cached, between random changes.
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func fetchesAgreeWithPlainFilteringSortingAndGrouping(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let container = try container()
        let writer = try BatchWriter(container, entity: "Book")
        for _ in 0..<40 { try writer.insert(randomValues(&generator)) }
        try writer.commit()
        let definition = try randomDefinition(&generator)
        let plain = PlainFetch(definition: definition, entity: Self.entity)
        for round in 0..<3 {
            let expected = try plain.sections(of: try objects(container))
            for cacheName in [nil, "cache"] {
                try container.withOrder(definition, .init(cacheName: cacheName)) { order in
                    let context: Comment = "seed \(seed), round \(round), \(definition), \(order.outcome)"
                    var found: [(name: String, rows: [UInt64])] = []
                    try order.forEachSection { section in
                        found.append((section.name, []))
                        return true
                    }
                    try order.forEachRow { row in found[row.path.section].rows.append(row.id.number) }
                    #expect(found.map { $0.rows } == expected.map { $0.rows }, context)
                    #expect(found.map { Array($0.name.utf8) } == expected.map { Array($0.name.utf8) }, context)
                }
            }
            for _ in 0..<5 {
                let object = try writer.object(number: .random(in: 1...40, using: &generator))
                if let object { try writer.update(object, randomValues(&generator)) }
                try writer.insert(randomValues(&generator))
            }
            try writer.commit()
        }
        #expect(try container.check { _, _ in } == [])
    }

    @Test func aCacheOfOneRequestIsNotUsedForAnother() throws {
        let container = try container()
        let writer = try BatchWriter(container, entity: "Book")
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<50 { try writer.insert(randomValues(&generator)) }
        try writer.commit()
        let base = OrderDefinition(
            entity: "Book", predicate: try FetchPredicate("price > 0"), sortKeys: [SortKey("title")],
            sectionKey: .attribute("publisher"))
        var others: [(OrderDefinition, RebuildReason)] = []
        others.append((base, .first))
        var changed = base
        changed.predicate = try FetchPredicate("price > 1")
        others.append((changed, .predicateChanged))
        changed.sortKeys = [SortKey("title", .descending)]
        others.append((changed, .sortChanged))
        changed.sortKeys = [SortKey("title", .descending, .caseInsensitive)]
        others.append((changed, .sortChanged))
        changed.sectionKey = .prefix("publisher", 1)
        others.append((changed, .sectionKeyChanged))
        changed.sectionOrder = .byCount()
        others.append((changed, .sectionKeyChanged))
        for (definition, reason) in others {
            for outcome in [FetchOutcome.rebuilt(reason), .hit] {
                let found = try container.withOrder(definition, .init(cacheName: "one name")) { $0.outcome }
                #expect(found == outcome, "\(definition)")
            }
        }
        let grown = Entity("Book", Self.entity.attributes + [AttributeDescription("pages", .integer)])
        _ = try PersistentContainer(at: URL(fileURLWithPath: folder.path), model: Model(entities: [grown]))
        #expect(try container.withOrder(changed, .init(cacheName: "one name")) { $0.outcome } == .hit)
        let title = AttributeDescription("title", .data)
        try container.migrate(to: Model(entities: [Entity("Book", [title])])) { _, _ in ["title": .null] }
        changed.sortKeys = [SortKey("title", .descending)]
        #expect(
            try container.withOrder(changed, .init(cacheName: "one name")) { $0.outcome } == .rebuilt(.modelChanged))
    }

    @Test func aReadThatFindsDamageRebuildsTheCache() throws {
        let container = try container()
        let writer = try BatchWriter(container, entity: "Book")
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<500 { try writer.insert(randomValues(&generator)) }
        try writer.commit()
        let definition = OrderDefinition(entity: "Book", sortKeys: [SortKey("title")])
        try container.withOrder(definition, .init(cacheName: "n")) { _ in }
        let damaging = try container.store.beginWrite()
        let junk = [UInt8](repeating: 7, count: 300)
        try damaging.view.put(junk.span.bytes, for: UInt64(1) << 40 | 1, in: damaging.tables.nodes)
        try damaging.commit()
        #expect(try container.verifyCache("n") != [])
        var outcomes: [FetchOutcome] = []
        try container.withOrder(definition, .init(cacheName: "n")) { order in
            outcomes.append(order.outcome)
            var count = 0
            try order.forEachRow { _ in count += 1 }
            #expect(count == 500)
        }
        #expect(outcomes == [.hit, .rebuilt(.damaged)])
        #expect(try container.verifyCache("n") == [])
    }

    @Test func aProgramCanRefuseToWaitForABuild() throws {
        struct Refused: Error {}
        let container = try container()
        let definition = OrderDefinition(entity: "Book", sortKeys: [SortKey("title")])
        var options = PersistentContainer.OrderOptions(cacheName: "n")
        options.check = { outcome in if case .rebuilt = outcome { throw Refused() } }
        #expect(throws: Refused.self) { try container.withOrder(definition, options) { _ in } }
        #expect(try container.namedCaches().isEmpty)
        try container.withOrder(definition, .init(cacheName: "n")) { _ in }
        #expect(try container.withOrder(definition, options) { $0.outcome } == .hit)
    }
}
