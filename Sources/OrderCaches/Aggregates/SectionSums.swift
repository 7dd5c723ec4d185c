internal import CountedTree

/// The new summaries of sections, from their old ones and the changes of their rows.
struct SectionSums {
    /// More changes of a section are not added to its summary; then its rows are summed up.
    private static let fewChanges = 16

    private let keys: [ChangedKeys.Key]
    private let sum: (any RunningSummary)?
    /// The first key of a section that was not asked for.
    private var start = 0

    init(of keys: ChangedKeys, _ shape: OrderShape) {
        self.keys = keys.ascending
        sum = shape.summarizer?.begin()
    }

    /// The summary of a section after the changes; empty in an order without aggregates. Sections are asked for in ascending order.
    mutating func next(
        _ section: Int, _ old: [UInt8]?, whenUnknown sumUp: () throws -> [UInt8]
    ) throws -> [UInt8] {
        guard let sum else { return [] }
        while start < keys.count, keys[start].section < section { start += 1 }
        var end = start
        while end < keys.count, keys[end].section == section { end += 1 }
        let some = keys[start..<end]
        start = end
        guard let old, some.count <= Self.fewChanges else { return try sumUp() }
        let coming = some.lazy.filter { $0.change != .remove && $0.change != .find }.map(\.key.summary)
        let going = some.lazy.filter { $0.change == .remove || $0.change == .update() }.map {
            $0.change == .remove ? $0.key.summary : $0.oldSummary
        }
        return try sum.addDifference(old.span.bytes, coming: coming, going: going) ? sum.take() : sumUp()
    }
}
