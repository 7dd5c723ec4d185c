internal import FetchIndexCountedTree

/// Computes the new summaries of sections from their old ones and the changes of their rows.
struct SectionSums {
    /// The maximum number of a section's changes that are applied to its old summary. If a section has more changes,
    /// its summary is read from the rows tree again.
    private static let fewChanges = 16

    private let keys: [ChangedKeys.Key]
    private let sum: (any RunningSummary)?
    /// The index of the first key after the keys of the sections handled so far.
    private var start = 0

    init(of keys: ChangedKeys, _ shape: OrderShape) {
        self.keys = keys.ascending
        sum = shape.summarizer?.begin()
    }

    /// Returns the summary of a section after the changes; empty in an order without aggregates. Calls `sumUp` if the
    /// section is new or has too many changes, or if they don't determine the summary. The caller passes section
    /// numbers in ascending order.
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
        var (coming, going): ([[UInt8]], [[UInt8]]) = ([], [])
        for key in some {
            switch key.change {
            case .insert: coming.append(key.key.summary)
            case .update:
                coming.append(key.key.summary)
                going.append(key.oldSummary)
            case .remove: going.append(key.key.summary)
            case .find: break
            }
        }
        return try sum.change(old.span.bytes, coming: coming, going: going) ?? sumUp()
    }
}
