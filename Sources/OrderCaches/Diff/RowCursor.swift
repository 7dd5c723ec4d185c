internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexCountedTree

/// Reads an order's rows one after the other, in the order of the rows tree.
final class RowCursor {
    private static let rowsOfBlock = 1000

    private let order: SectionedOrder
    private let tree: CountedTree
    private var bytes: [UInt8] = []
    /// The ends of the block's keys in `bytes`.
    private var ends: [Int] = []
    private var position = 0
    /// The rank of the current row.
    private(set) var rank = 0

    init(_ order: SectionedOrder) throws {
        self.order = order
        tree = order.rows
        try refill()
    }

    var isAtEnd: Bool { rank == tree.count }

    private func refill() throws {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        position = 0
        try tree.walk(from: rank) { row in
            bytes.appendBytes(row.key)
            ends.append(bytes.count)
            return ends.count < Self.rowsOfBlock
        }
        guard !ends.isEmpty || isAtEnd else { throw SectionedOrder.corrupted("it counts more rows than there are") }
    }

    func advance() throws {
        rank += 1
        position += 1
        if position == ends.count && !isAtEnd { try refill() }
    }

    private var range: Range<Int> { (position == 0 ? 0 : ends[position - 1])..<ends[position] }

    /// A negative number, 0 or a positive number if the current row's key is less than, equal to or greater than `key`.
    /// Positive at the end.
    func compare(_ key: RawSpan) -> Int {
        if isAtEnd { return 1 }
        // A local copy, because a property of a class has no span.
        let bytes = bytes
        return bytes.span.bytes.extracting(range).compare(key)
    }

    func object() throws -> RecordKey {
        let bytes = bytes
        guard let object = RowKey.object(in: bytes.span.bytes.extracting(range), entity: order.entity) else {
            throw SectionedOrder.corrupted("a row key is too short")
        }
        return object
    }
}
