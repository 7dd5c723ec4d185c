import FetchIndexCountedTree
import FetchIndexModels
import FetchIndexPlatform
import FetchIndexRecords
import FetchIndexTestSupport
import Testing

@testable import FetchIndexOrderCaches

/// Comparisons of orders by their fingerprints, in small nodes.
@Suite struct FingerprintComparisonTests {
    /// A node store that counts how often nodes are read.
    private final class CountingStore: NodeStore {
        private let nodes = MemoryNodeStore(capacity: 512)
        private(set) var reads = 0

        var capacity: Int { nodes.capacity }
        var nextNode: NodeNumber { nodes.nextNode }
        func read(_ node: NodeNumber, _ body: (RawSpan) throws -> Void) throws {
            reads += 1
            try nodes.read(node, body)
        }
        func write(_ node: NodeNumber, _ bytes: consuming [UInt8]) throws { nodes.write(node, bytes) }
        func allocate() throws -> NodeNumber { nodes.allocate() }
        func free(_ node: NodeNumber) throws { nodes.free(node) }
    }

    /// Makes an order of rows by rank, whose objects have the numbers of the rows plus `offset`.
    private static func order(_ rows: [UInt64: TestRow], offset: UInt64, in nodes: CountingStore) throws
        -> SectionedOrder
    {
        let columns = AggregateColumns(hasFingerprint: true)
        let shape = try OrderShape(hasSections: false, sectionOrder: .byFirstRow, aggregates: columns)
        let placer = TestPlacer(hasSections: false, columns: columns)
        let builder = OrderBuilder(entity: 0, shape: shape, dependencies: [0]) { _ in placer }
        var order = SectionedOrder(entity: 0, shape: shape, in: nodes)
        let numbered = Dictionary(uniqueKeysWithValues: rows.map { ($0.key + offset, $0.value) })
        try order.update(try builder.edits(try TestOrder.changes(from: [:], to: numbered), nil))
        return order
    }

    private typealias Found = (rows: Set<UInt64>, others: Set<UInt64>, reads: Int)

    /// Compares two lists of rows; the objects of the second one have other numbers.
    private static func compare(_ rows: [UInt64: TestRow], _ others: [UInt64: TestRow]) throws -> Found {
        let nodes = (CountingStore(), CountingStore())
        let first = try order(rows, offset: 0, in: nodes.0)
        let second = try order(others, offset: 1_000_000, in: nodes.1)
        let before = nodes.0.reads + nodes.1.reads
        var found: Found = ([], [], 0)
        try FingerprintComparison.forEachDifference(first, second) { object, _, isInSecond in
            if isInSecond { found.others.insert(object.number - 1_000_000) } else { found.rows.insert(object.number) }
        }
        found.reads = nodes.0.reads + nodes.1.reads - before
        return found
    }

    @Test(arguments: 0..<12 as Range<UInt64>) func rowsWithOtherValuesAreFoundInBothOrders(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ TestSettings.seed &* 100)
        let count = UInt64([3, 200, 1500].randomElement(using: &random)!)
        // With few ranks, many rows share their place.
        let ranks = Int64([3, 40, 100_000].randomElement(using: &random)!)
        var rows: [UInt64: TestRow] = [:]
        for number in 1...count {
            // The note makes each row different from all others.
            rows[number] = TestRow(
                group: "g", rank: .random(in: 0..<ranks, using: &random), note: Int64(number))
        }
        var others = rows
        for _ in 0..<[1, 5, 100].randomElement(using: &random)! {
            let number = UInt64.random(in: 1...count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: others[number] = nil
            case 1: others[number]?.group = "h"
            case 2: others[number]?.rank = .random(in: 0..<ranks, using: &random)
            default: others[count + number] = TestRow(group: "n", rank: 1, note: Int64(count + number))
            }
        }
        let found = try Self.compare(rows, others)
        #expect(found.rows == Set(rows.keys.filter { rows[$0] != others[$0] }), "seed \(seed)")
        #expect(found.others == Set(others.keys.filter { rows[$0] != others[$0] }), "seed \(seed)")
    }

    /// A division takes three descents. Each doubling of the rows adds one division for each of them that differs.
    @Test func aDivisionReadsThreePathsOfNodes() throws {
        for (rowCount, differing) in [(2000, 1), (32_000, 1), (32_000, 16)] {
            var rows: [UInt64: TestRow] = [:]
            for number in 1...UInt64(rowCount) { rows[number] = TestRow(group: "g", rank: Int64(number)) }
            var others = rows
            let step = rowCount / differing
            for index in 0..<differing { others[UInt64(step * index + step / 2)]?.note = 1 }
            let found = try Self.compare(rows, others)
            #expect(found.rows.count == differing && found.others.count == differing)
            let nodes = CountingStore()
            let height = try Self.order(others, offset: 0, in: nodes).rows.root.level + 1
            // Parts of 32 rows aren't divided; they are read from each order, once as rows and once as others.
            let divisions = differing * (Int.bitWidth - (step / 32).leadingZeroBitCount + 1) + differing
            let most = 3 * divisions * height + differing * 4 * (height + 32)
            #expect(found.reads <= most, "\(rowCount) rows, \(differing) differ: \(found.reads) reads, at most \(most)")
        }
    }
}
