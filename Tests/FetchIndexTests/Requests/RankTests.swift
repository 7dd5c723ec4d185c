import FetchIndex
import FetchIndexTestSupport
import Testing

/// Parts, samples, percentiles and ranks agree with the sorted list of rows.
@Suite struct RankTests {
    private static let model = Model(entities: [
        Entity(
            "Item",
            [
                AttributeDescription("name", .string), AttributeDescription("group", .integer),
                AttributeDescription("size", .double),
            ])
    ])

    private static let keys: [SortKey<ManagedObject>] = [
        SortKey("size"), SortKey("size", .descending), SortKey("name"), SortKey("name", .ascending, .caseInsensitive),
        SortKey("name", .descending, .localized("de")),
    ]

    private let store: LiveStore

    init() throws { store = try LiveStore(Self.model) }

    private func fill(_ count: Int, _ random: inout SeededGenerator) throws {
        let writer = try BatchWriter(store.container, entity: "Item")
        for _ in 0..<count {
            let name = ["", "a", "A", "ä", "b", "B", "Ö", "z", "zz"].randomElement(using: &random)
            let sizes: [Double] = [.nan, -1, 0, 0.5, 1, 2, 1e300]
            let size = sizes.randomElement(using: &random) ?? 0
            try writer.insert([
                Int.random(in: 0..<5, using: &random) == 0 ? .null : .string(name ?? ""),
                .integer(.random(in: 0..<3, using: &random)),
                Int.random(in: 0..<5, using: &random) == 0 ? .null : .double(size),
            ])
        }
        try writer.commit()
    }

    @Test(arguments: keys.indices, [true, false]) func ranksAndPercentilesAreThoseOfTheRows(
        number: Int, hasSections: Bool
    ) throws {
        var random = SeededGenerator(seed: TestSettings.seed &+ UInt64(number))
        try fill(200, &random)
        let key = Self.keys[number]
        let definition = OrderDefinition(
            entity: "Item", sortKeys: [key], sectionKey: hasSections ? .attribute("group") : nil)
        try store.container.withOrder(definition, .init(cacheName: "c")) { order in
            for section in 0..<order.sectionCount {
                let count = try order.section(at: section).count
                let first = try order.section(at: section).rowsBefore
                var values: [Value] = []
                try order.forEachRow(from: first, limit: count) { values.append(try $0.value(of: key.attribute)) }
                let known = values.filter { $0 != .null }
                let ascending: [Value] = key.direction == .descending ? known.reversed() : known
                let percents: [Double] = [0, 0.1, 25, 50, 99, 100]
                for percent in percents {
                    let value = try order.percentile(percent, inSection: section)
                    let place = max(0, Int((Double(known.count) * percent / 100).rounded(.up)) - 1)
                    #expect("\(value)" == "\(ascending[place])", "\(key), \(percent) %")
                }
                for index in values.indices {
                    let rank = try order.rank(of: values[index], inSection: section)
                    // All rows of the rank have equal values in the order.
                    #expect(rank.contains(index), "\(key) \(values[index])")
                    let first = try order.rank(of: values[rank.lowerBound], inSection: section)
                    #expect(rank == first)
                    if rank.lowerBound > 0 {
                        let before = try order.rank(of: values[rank.lowerBound - 1], inSection: section)
                        #expect(before.upperBound == rank.lowerBound, "\(key) \(values[index])")
                    }
                }
            }
        }
    }

    @Test func aValueThatNoRowHasIsRankedAtItsPlace() throws {
        let writer = try BatchWriter(store.container, entity: "Item")
        for size in [1, 2, 2, 4] { try writer.insert([.null, .integer(0), .double(Double(size))]) }
        try writer.commit()
        func check(_ order: FetchedOrder) throws {
            #expect(try order.rank(of: .double(2)) == 1..<3)
            #expect(try order.rank(of: .double(3)) == 3..<3)
            #expect(try order.rank(of: .double(9)) == 4..<4)
            #expect(try order.rank(of: .null) == 0..<0)
            #expect(throws: RequestError.self) { try order.rank(of: .string("2")) }
        }
        try store.container.withOrder(
            OrderDefinition(entity: "Item", sortKeys: [SortKey("size")]), .init(), check)
        try store.container.withOrder(
            OrderDefinition(entity: "Item", sortKeys: [SortKey("size")], sectionKey: .attribute("size")), .init()
        ) { order in
            #expect(throws: RequestError.self) { try order.rank(of: .double(2)) }
            #expect(throws: RequestError.self) { try order.percentile(50) }
        }
        _ = try store.container.withOrder(OrderDefinition(entity: "Item"), .init()) { order in
            #expect(throws: RequestError.self) { try order.rank(of: .double(2)) }
        }
    }

    /// Per cents are decimal numbers: 8.8 % of 375 rows are 33, and 99.9 % of 1000 are 999.
    @Test(arguments: [(8.8, 375, 33), (2.2, 1500, 33), (99.9, 1000, 999), (0.1, 1000, 1), (0.05, 1000, 1), (100, 7, 7)])
    func aPercentileIsNotRoundedTwice(percent: Double, count: Int, place: Int) throws {
        let writer = try BatchWriter(store.container, entity: "Item")
        for size in 1...count { try writer.insert([.null, .integer(0), .double(Double(size))]) }
        try writer.commit()
        let definition = OrderDefinition(entity: "Item", sortKeys: [SortKey("size", .descending)])
        let value = try store.container.withOrder(definition, .init()) { try $0.percentile(percent) }
        #expect(value == .double(Double(place)))
    }

    @Test func eachRowIsInOnePart() throws {
        var random = SeededGenerator(seed: TestSettings.seed)
        try fill(37, &random)
        try store.container.withOrder(OrderDefinition(entity: "Item", sortKeys: [SortKey("size")]), .init()) { order in
            for count in [1, 2, 3, 16, 37, 50] {
                let parts = (0..<count).map { order.rows(inPart: $0, of: count) }
                #expect(parts.flatMap { Array($0) } == Array(0..<37))
                #expect(Set(parts.map(\.count)).count <= 2)
            }
        }
    }

    /// Each row is chosen about equally often, and never twice.
    @Test func aSampleIsFairAndRepeatable() throws {
        var random = SeededGenerator(seed: TestSettings.seed)
        try fill(40, &random)
        try store.container.withOrder(OrderDefinition(entity: "Item", sortKeys: [SortKey("size")]), .init()) { order in
            var chosen = [Int](repeating: 0, count: 40)
            for seed in 0..<2000 as Range<UInt64> {
                let sample = order.sample(10, seed: seed)
                #expect(sample == Set(sample).sorted() && sample.count == 10)
                for row in sample { chosen[row] += 1 }
            }
            // 500 each are expected, with a standard deviation of 19.
            #expect(chosen.allSatisfy { (400...600).contains($0) }, "\(chosen)")
            #expect(order.sample(10, seed: 7) == order.sample(10, seed: 7))
            #expect(order.sample(3, seed: 1, inRows: 5..<7) == [5, 6])
            #expect(order.sample(0, seed: 1) == [])
        }
    }

    @Test func aControllersOrderHasUnsavedRows() throws {
        var random = SeededGenerator(seed: TestSettings.seed)
        try fill(50, &random)
        let context = store.container.newContext()
        var request = FetchRequest<ManagedObject>(entityName: "Item")
        request.sortKeys = [SortKey("size")]
        let controller = try FetchedResultsController<ManagedObject>(
            fetchRequest: request, context: context, sectionKey: .attribute("group"), cacheName: "c")
        #expect(try controller.fetchedOrder() == nil)
        try controller.performFetch()
        let item = try context.insert("Item")
        item["size"] = .double(-5)
        item["group"] = .integer(0)
        context.processPendingChanges()
        let order = try #require(try controller.fetchedOrder())
        #expect(order.rowCount == 51)
        let path = try #require(controller.indexPath(forObject: item))
        #expect(try order.row(of: item.objectID) == order.section(at: path.section).rowsBefore + path.row)
        #expect(try order.rank(of: .double(-5), inSection: path.section).contains(path.row))
        var seen = 0
        try order.forEachRow { row in
            let place = try order.row(of: row.id)
            #expect(place == seen)
            seen += 1
        }
        #expect(seen == 51)
        context.delete(item)
        context.processPendingChanges()
        #expect(try controller.fetchedOrder()?.row(of: item.objectID) == nil)
    }
}
