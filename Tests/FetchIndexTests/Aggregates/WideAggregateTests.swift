import FetchIndex
import FetchIndexTestSupport
import Testing

/// The values of aggregates, and the space that their summaries take in nodes.
@Suite struct WideAggregateTests {
    @Test(arguments: [1, 2] as [UInt64]) func sectionsAndTheirRowsHaveEqualSumsOfDoublesOfManySizes(seed: UInt64) throws
    {
        var generator = SeededGenerator(seed: seed)
        let names = (0..<5).map { "d\($0)" }
        let model = Model(
            entities: [
                Entity(
                    "Wide",
                    [AttributeDescription("group", .integer)] + names.map { AttributeDescription($0, .double) })
            ])
        let store = try LiveStore(model)
        let definition = OrderDefinition(
            entity: "Wide", sortKeys: [SortKey("d0")], sectionKey: .attribute("group"),
            aggregates: names.map { .sum($0) })
        for round in 0..<6 {
            let writer = try BatchWriter(store.container, entity: "Wide")
            for _ in 0..<400 {
                let group = Int64.random(in: 0..<12, using: &generator)
                let values = names.map { _ -> Value in
                    let exponent = round < 2 ? 0 : Int.random(in: -1000...1000, using: &generator)
                    return .double(
                        Double(sign: .plus, exponent: exponent, significand: .random(in: -2...2, using: &generator)))
                }
                try writer.insert([.integer(group)] + values)
            }
            try writer.commit()
            try store.container.withOrder(definition, .init(cacheName: "c")) { order in
                if round > 0 { guard case .caughtUp = order.outcome else { Issue.record("\(order.outcome)"); return } }
                try order.forEachSection { section in
                    for name in names {
                        // The first sum comes from the sections tree, the second one from the rows tree.
                        let sum = try section.aggregate(.sum(name))
                        let sumOfRows = try order.aggregate(
                            .sum(name), inRows: section.rowsBefore..<section.rowsBefore + section.count)
                        #expect(sum == sumOfRows)
                    }
                    return true
                }
            }
            #expect(try store.container.verifyCache("c") == [], "seed \(seed), round \(round)")
        }
    }

    /// Aggregates of integers take few bytes, so those of sixteen attributes don't exceed the limit of a request.
    @Test func aRequestMayHaveSumsAndMaximaOfSixteenIntegerAttributes() throws {
        let names = (0..<16).map { "n\($0)" }
        let store = try LiveStore(Model(entities: [Entity("Many", names.map { AttributeDescription($0, .integer) })]))
        let writer = try BatchWriter(store.container, entity: "Many")
        for row in 0..<500 { try writer.insert(names.indices.map { .integer(Int64(row * $0)) }) }
        try writer.commit()
        let definition = OrderDefinition(
            entity: "Many", sortKeys: [SortKey("n1")], aggregates: names.flatMap { [.sum($0), .max($0)] })
        try store.container.withOrder(definition, .init(cacheName: "c")) { order in
            let sums = try names.map { try order.aggregate(.sum($0), inRows: 0..<500) }
            #expect(sums == names.indices.map { .integer(Int64(499 * 500 / 2 * $0)) })
        }
    }

    /// The keys of a node share their common beginning, even if the node has aggregates.
    @Test func aggregatesAtMostDoubleTheNumberOfNodesForLongKeys() throws {
        let model = Model(entities: [
            Entity("Page", [AttributeDescription("path", .string), AttributeDescription("size", .integer)])
        ])
        let store = try LiveStore(model)
        let writer = try BatchWriter(store.container, entity: "Page")
        let start = String(repeating: "a", count: 600)
        for row in 0..<5000 { try writer.insert([.string(start + "\(row)"), .integer(Int64(row))]) }
        try writer.commit()
        func nodes(_ aggregates: [Aggregate<ManagedObject>]) throws -> Int {
            let definition = OrderDefinition(entity: "Page", sortKeys: [SortKey("path")], aggregates: aggregates)
            let name = "\(aggregates)"
            try store.container.withOrder(definition, .init(cacheName: name)) { _ in }
            return try #require(store.container.cacheStatistics().first { $0.name == name }).nodeCount
        }
        #expect(try nodes([.sum("size"), .max("size")]) <= 2 * nodes([]))
    }
}
