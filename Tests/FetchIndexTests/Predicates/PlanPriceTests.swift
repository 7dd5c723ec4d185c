import FetchIndexTestSupport
import Testing

@testable import FetchIndex
@testable import FetchIndexRecords

/// Which of a cache's rows and a scan a plan chooses, by their prices.
@Suite struct PlanPriceTests {
    private static let entity = Entity(
        "File", [AttributeDescription("section", .string), AttributeDescription("length", .integer)])
    private static let count = 40_000

    private let folder = TemporaryFolder()

    /// In each 1,024 objects, 128 successive ones are of the section "run"; of the others, each 8th one is of "spread".
    private func container() throws -> PersistentContainer {
        let container = try PersistentContainer(path: folder.path, model: Model(entities: [Self.entity]))
        let writer = try container.store.beginWrite()
        for number in 0..<Self.count {
            let section = number % 1024 < 128 ? "run" : number % 8 == 0 ? "spread" : "other"
            // The lengths are shuffled, so that the bounds of each zone are wide.
            let record = try Self.entity.record([.string(section), .integer(Int64(number * 7919 % Self.count))])
            try writer.insert(0, record.span.bytes)
        }
        try writer.commit()
        return container
    }

    private func plan(_ format: String, _ container: PersistentContainer) throws -> FetchPlan {
        try container.plan(OrderDefinition(entity: "File", predicate: FetchPredicate(format)))
    }

    /// A scan that reads columns doesn't read records between runs, but it reads records between matches that are near
    /// each other.
    @Test func rowsOfACacheAreLookedUpUnlessAScanSkipsMostOtherRecords() throws {
        let container = try container()
        let unaided = try plan("section == 'run'", container)
        #expect(unaided.source == .scan && unaided.rowsRead < 2 * Self.count / 8, "\(unaided)")
        let spread = try plan("section == 'spread'", container)
        #expect(spread.source == .scan && spread.rowsRead > Self.count / 4 * 3, "\(spread)")
        let definition = OrderDefinition(entity: "File", sortKeys: [SortKey("section"), SortKey("length")])
        try container.withOrder(definition, .init(cacheName: "by section")) { _ in }
        // Both have about 5,000 rows, at a price of 25,000 records of a scan.
        #expect(try plan("section == 'run'", container).source == .scan)
        #expect(
            try plan("section == 'spread'", container).source == .order(name: "by section", attribute: "section"))
        // With the length, the rows are few.
        #expect(
            try plan("section == 'run' AND length < 3000", container).source
                == .order(name: "by section", attribute: "section, length"))
    }

    @Test func rowsOfACacheAreLookedUpIfTheyAreAtMostAFifthOfTheRecordsThatAScanReads() throws {
        let container = try container()
        let definition = OrderDefinition(entity: "File", sortKeys: [SortKey("length")])
        try container.withOrder(definition, .init(cacheName: "by length")) { _ in }
        #expect(try plan("length < 8000", container).source == .order(name: "by length", attribute: "length"))
        #expect(try plan("length < 8001", container).source == .scan)
    }
}
