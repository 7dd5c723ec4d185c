import Catalogue
import FetchIndex
import Foundation
import Stores

/// Reads rows at random positions for some seconds. Prints the number of rows per second of the clock, the number per
/// second of its processor time, and the number of times that it opened the order in the newest state, which may be the
/// same state again. On a busy machine, the second number shows the cost of a writer better. At each 256th read, the
/// reader checks that the row doesn't sort before the preceding row of the order.
struct Reader {
    private let store: URL
    private let seconds: Double
    private let seed: UInt64

    private static let readsBetweenLooks = 64
    /// The time after which the reader opens the order again, in the newest state.
    private static let interval = Duration.milliseconds(100)

    struct Disorder: Error {}

    init(_ arguments: [String]) {
        store = URL(fileURLWithPath: arguments[1])
        seconds = Double(arguments[2]) ?? 10
        seed = UInt64(arguments[3]) ?? 1
    }

    func run() throws {
        let container = try PersistentContainer(at: store)
        var random = Catalogue(seed: seed)
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        var reads = 0
        var moves = 0
        while ContinuousClock.now < end {
            try container.withOrder(Shape.packages.definition, Stores.options()) { order in
                moves += 1
                let next = ContinuousClock.now + Self.interval
                repeat {
                    for _ in 0..<Self.readsBetweenLooks {
                        try read(order, random.int(order.rowCount), isChecked: reads % 256 == 0)
                        reads += 1
                    }
                } while ContinuousClock.now < min(next, end)
            }
        }
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        print("\(Int(Double(reads) / elapsed)) \(Int(Double(reads) / Self.processorSeconds)) \(moves)")
    }

    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func read(_ order: FetchedOrder, _ row: Int, isChecked: Bool) throws {
        var key: (section: Value, name: Value)?
        try order.withRow(at: row) { row in key = (try row.value(at: 1), try row.value(at: 0)) }
        guard isChecked, row > 0, let key else { return }
        try order.withRow(at: row - 1) { before in
            let (section, name) = (try before.value(at: 1), try before.value(at: 0))
            let isInOrder =
                "\(section)" == "\(key.section)"
                ? Array("\(name)".utf8).lexicographicallyPrecedes(Array("\(key.name)".utf8)) || name == key.name
                : Array("\(section)".utf8).lexicographicallyPrecedes(Array("\(key.section)".utf8))
            if !isInOrder { throw Disorder() }
        }
    }
}
