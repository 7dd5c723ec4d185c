import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

final class Sale: ManagedObject {
    @Attribute("shop") var shop: String?
    @Attribute("amount") var amount: Int?
    @Attribute("weight") var weight: Double?
    @Attribute("cost") var cost: Decimal?
    @Attribute("sold") var sold: Date?

    static let aggregates: [Aggregate<Sale>] = [
        .count(\.shop), .count(\.amount), .sum(\.amount), .min(\.amount), .max(\.amount), .average(\.amount),
        .sum(\.weight), .min(\.weight), .max(\.weight), .average(\.weight),
        .count(\.cost), .sum(\.cost), .min(\.cost), .max(\.cost), .average(\.cost),
        .count(\.sold), .min(\.sold), .max(\.sold),
    ]

    /// The oracle: aggregates of an array of objects, computed one by one. Weights are multiples of 1/4, so that their
    /// sums are exact.
    static func plain(_ sales: [Sale]) -> [Value] {
        let (amounts, weights) = (sales.compactMap(\.amount), sales.compactMap(\.weight))
        let (costs, dates) = (sales.compactMap(\.cost), sales.compactMap(\.sold))
        let (amount, weight) = (amounts.reduce(0, +), weights.reduce(0, +))
        let cost = costs.reduce(0, +)
        func integer(_ number: Int) -> Value { .integer(Int64(number)) }
        func double(_ number: Double) -> Value { .double(number) }
        func average(_ sum: Double, _ count: Int) -> Value { count == 0 ? .null : .double(sum / Double(count)) }
        func null<Wrapped>(_ value: Wrapped?, _ make: (Wrapped) -> Value) -> Value { value.map(make) ?? .null }
        return [
            integer(sales.count { $0.shop != nil }), integer(amounts.count), integer(amount),
            null(amounts.min(), integer), null(amounts.max(), integer), average(Double(amount), amounts.count),
            .double(weight), null(weights.min(), double), null(weights.max(), double), average(weight, weights.count),
            integer(costs.count), .decimal(cost), null(costs.min()) { .decimal($0) },
            null(costs.max()) { .decimal($0) },
            costs.isEmpty ? Value.null : rounded(.decimal(cost / Decimal(costs.count))), integer(dates.count),
            null(dates.min()) { .date($0) }, null(dates.max()) { .date($0) },
        ]
    }

    /// Rounds a decimal, since Foundation's division can have an error in the last digit.
    static func rounded(_ value: Value) -> Value {
        guard case .decimal(var number) = value else { return value }
        var rounded = Decimal()
        NSDecimalRound(&rounded, &number, 30, .plain)
        return .decimal(rounded)
    }

    func setRandomValues(_ generator: inout SeededGenerator) {
        func optional<Result>(_ value: Result) -> Result? {
            Int.random(in: 0..<6, using: &generator) == 0 ? nil : value
        }
        shop = optional("shop \(Int.random(in: 0..<4, using: &generator))")
        amount = optional(Int.random(in: -50...50, using: &generator))
        weight = optional(Double(Int.random(in: -4000...4000, using: &generator)) / 4)
        cost = optional(Decimal(string: "\(Int.random(in: -9999...9999, using: &generator))e-2")!)
        sold = optional(Date(timeIntervalSinceReferenceDate: Double(Int.random(in: 0...9, using: &generator)) * 86_400))
    }
}

/// Aggregates of sections and of ranges of rows.
@Suite struct AggregateTests {
    let store: LiveStore
    let context: ManagedObjectContext

    init() throws {
        store = try LiveStore(Model(Sale.self))
        context = store.container.newContext()
    }

    private func request(_ aggregates: [Aggregate<Sale>] = Sale.aggregates) -> FetchRequest<Sale> {
        var request = FetchRequest<Sale>(sortKeys: [SortKey(\.amount)])
        request.aggregates = aggregates
        return request
    }

    private func check(
        _ controller: FetchedResultsController<Sale>, _ generator: inout SeededGenerator, _ comment: Comment
    ) throws {
        var all: [Sale] = []
        for section in controller.sections {
            let sales = Array(section.objects)
            #expect(Sale.aggregates.map { Sale.rounded(section.aggregate($0)) } == Sale.plain(sales), comment)
            all += sales
        }
        for _ in 0..<3 {
            let bounds = (0..<2).map { _ in Int.random(in: 0...all.count, using: &generator) }.sorted()
            let found = Sale.aggregates.map { Sale.rounded(controller.aggregate($0, in: bounds[0]..<bounds[1])) }
            #expect(found == Sale.plain(Array(all[bounds[0]..<bounds[1]])), comment)
        }
    }

    /// Controllers with a cache, without a cache, and with a limit are compared with the oracle after unsaved edits,
    /// saves, rollbacks and merges.
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func controllersKeepAggregatesUpToDate(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let other = store.container.newContext()
        var some = request()
        (some.fetchOffset, some.fetchLimit) = (5, 17)
        let controllers = try [
            FetchedResultsController(
                fetchRequest: request(), context: context, sectionKey: .attribute("shop"), cacheName: "by shop"),
            FetchedResultsController(
                fetchRequest: request(), context: context, sectionKey: .attribute("shop"),
                sectionOrder: .byCount(descending: true)),
            FetchedResultsController(fetchRequest: request(), context: context, cacheName: "all"),
            FetchedResultsController(fetchRequest: some, context: context, sectionKey: .attribute("shop")),
        ]
        for controller in controllers { try controller.performFetch() }
        for step in 0..<60 {
            let editor = step % 5 == 4 ? other : context
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let sales = try editor.fetch(FetchRequest<Sale>(entityName: "Sale"))
                let kind = Int.random(in: 0..<5, using: &generator)
                let sale = kind < 2 ? nil : sales.randomElement(using: &generator)
                if let sale, kind == 2 {
                    editor.delete(sale)
                } else {
                    (sale ?? Sale(context: editor)).setRandomValues(&generator)
                }
            }
            context.processPendingChanges()
            for controller in controllers { try check(controller, &generator, "seed \(seed), step \(step), edited") }
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: try context.rollback()
            case 1: break
            default: try context.save()
            }
            if editor === other {
                try? other.save()
                try context.save()
                try context.mergeChanges()
                try other.rollback()
            }
            for controller in controllers { try check(controller, &generator, "seed \(seed), step \(step)") }
        }
        try context.save()
        for name in ["by shop", "all"] { #expect(try store.container.verifyCache(name) == [], "seed \(seed)") }
        // The reopened store has the same aggregates.
        let reopened = try store.reopened().newContext()
        let fresh = try FetchedResultsController(
            fetchRequest: request(), context: reopened, sectionKey: .attribute("shop"), cacheName: "by shop")
        #expect(try fresh.performFetch() != .computed)
        try check(fresh, &generator, "seed \(seed), reopened")
    }

    private func insert(_ amounts: [Int?], shop: String = "s") throws {
        for amount in amounts {
            let sale = Sale(context: context)
            (sale.shop, sale.amount) = (shop, amount)
        }
        try context.save()
    }

    @Test func aggregatesRebuildACacheOnlyIfTheyNeedOtherColumns() throws {
        try insert([1, 2, nil])
        func fetch(_ aggregates: [Aggregate<Sale>]) throws -> (FetchOutcome, Value) {
            let controller = try FetchedResultsController(
                fetchRequest: request(aggregates), context: store.container.newContext(), cacheName: "c")
            let outcome = try controller.performFetch()
            return (outcome, aggregates.isEmpty ? .null : controller.sections[0].aggregate(aggregates[0]))
        }
        #expect(try fetch([]) == (.rebuilt(.first), .null))
        #expect(try fetch([.sum(\.amount)]) == (.rebuilt(.aggregatesChanged), .integer(3)))
        #expect(try fetch([.sum(\.amount)]) == (.hit, .integer(3)))
        // A cache with sums has averages and counts too, and a cache with greatest values has least values too.
        #expect(try fetch([.average("amount"), .count(\.amount)]) == (.hit, .double(1.5)))
        #expect(try fetch([.max("amount"), .sum(\.amount)]) == (.rebuilt(.aggregatesChanged), .integer(2)))
        #expect(try fetch([.sum("amount"), .min(\.amount), .sum(\.amount)]) == (.hit, .integer(3)))
        #expect(
            try fetch([.sum("amount"), .min(\.amount), .count(\.cost)]) == (.rebuilt(.aggregatesChanged), .integer(3)))
        #expect(try fetch([]) == (.rebuilt(.aggregatesChanged), .null))
    }

    @Test func sumsBeyond64BitsAreDecimals() throws {
        try insert([.max, .max, .max])
        let controller = try FetchedResultsController(fetchRequest: request(), context: context)
        try controller.performFetch()
        #expect(controller.aggregate(.sum(\.amount), in: 0..<3) == .decimal(Decimal(string: "27670116110564327421")!))
        #expect(controller.aggregate(.sum(\.amount), in: 0..<1) == .integer(.max))
        #expect(controller.aggregate(.average(\.amount), in: 0..<3) == .double(9.223372036854775807e18))
    }

    @Test func sumsOfNoRowsAreZero() throws {
        let controller = try FetchedResultsController(fetchRequest: request(), context: context)
        try controller.performFetch()
        #expect(Sale.aggregates.map { controller.sections[0].aggregate($0) } == Sale.plain([]))
        #expect(Sale.aggregates.map { controller.aggregate($0, in: 0..<0) } == Sale.plain([]))
    }

    /// The changed value is aggregated, but rows aren't sorted or grouped by it.
    @Test func aCacheCatchesUpWithAChangeOfOnlyAnAggregatedValue() throws {
        try insert([1, 2], shop: "a")
        try insert([3], shop: "b")
        let request = request([.sum(\.weight)])
        func open() throws -> (FetchOutcome, [Value]) {
            let controller = try FetchedResultsController(
                fetchRequest: request, context: store.container.newContext(), sectionKey: .attribute("shop"),
                cacheName: "c")
            let outcome = try controller.performFetch()
            return (outcome, controller.sections.map { $0.aggregate(.sum(\.weight)) })
        }
        #expect(try open() == (.rebuilt(.first), [.double(0), .double(0)]))
        let sale = try #require(context.fetch(self.request()).first)
        sale.weight = 2.5
        try context.save()
        let (outcome, sums) = try open()
        guard case .caughtUp(let change) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(change.rows.count == 1)
        #expect(change.sections.isEmpty)
        #expect(sums == [.double(2.5), .double(0)])
        #expect(try open() == (.hit, [.double(2.5), .double(0)]))
    }

    @Test func aggregatesOfUnsuitableUnknownOrTooManyAttributesAreErrors() throws {
        func fetch(_ aggregates: [Aggregate<Sale>]) throws {
            _ = try FetchedResultsController(fetchRequest: request(aggregates), context: context).performFetch()
        }
        #expect(throws: RequestError.wrongType("sum(shop) needs numbers, but Sale.shop is a string")) {
            try fetch([.sum(\.shop)])
        }
        #expect(throws: RequestError.wrongType("average(sold) needs numbers, but Sale.sold is a date")) {
            try fetch([.average(\.sold)])
        }
        #expect(throws: RequestError.wrongType("max(shop) needs numbers or dates, but Sale.shop is a string")) {
            try fetch([.max(\.shop)])
        }
        #expect(throws: StoreError.unknownAttribute(entity: "Sale", attribute: "colour")) {
            try fetch([.count("colour")])
        }
        let names = (0..<6).map { "d\($0)" }
        let wide = Model(entities: [Entity("Wide", names.map { AttributeDescription($0, .double) })])
        let container = try LiveStore(wide)
        let definition = OrderDefinition(entity: "Wide", aggregates: names.map { .sum($0) })
        #expect(throws: RequestError.self) { try container.container.withOrder(definition, .init()) { _ in } }
        let most = OrderDefinition(entity: "Wide", aggregates: names.prefix(5).map { .sum($0) })
        try container.container.withOrder(most, .init()) { order in
            let sum = try order.aggregate(.sum("d0"), inRows: 0..<0)
            #expect(sum == .double(0))
        }
    }

    @Test func theAverageOfEqualDoublesIsTheirCommonValue() throws {
        let least = Double.leastNonzeroMagnitude
        for weights in [[0.1, 0.1, 0.1], [1.5e308, 1.5e308], [least, least, least]] {
            let store = try LiveStore(Model(Sale.self))
            let context = store.container.newContext()
            for weight in weights { Sale(context: context).weight = weight }
            try context.save()
            let controller = try FetchedResultsController(fetchRequest: request(), context: context)
            try controller.performFetch()
            #expect(controller.sections[0].aggregate(.average(\.weight)) == .double(weights[0]))
        }
    }

    @Test func aggregatesAreReadBackFromTheirTexts() throws {
        for aggregate in Sale.aggregates + [.sum("a, b"), .max("x(y)")] {
            #expect(try Aggregate<Sale>(parsing: aggregate.description) == aggregate)
        }
        #expect(try Aggregate<Sale>.list(parsing: "sum(amount), avg(`a, b`)") == [.sum("amount"), .average("a, b")])
        for text in ["sum", "sum()", "total(amount)", "sum(a,b)", "sum(amount", "(amount)", " "] {
            #expect(throws: RequestError.self, "\(text)") { try Aggregate<Sale>(parsing: text) }
        }
    }
}
