internal import FetchIndexPlatform
package import FetchIndexModels
internal import FetchIndexCountedTree

/// Finds the rows in which two orders of the same request differ, which may belong to different stores, by the
/// fingerprints that both keep.
///
/// Both are divided at the same places, where a place is a row key without the object's number, which two stores need not
/// share. Parts with equal fingerprints are left out, others are divided further, and the rows of small parts are
/// compared by their own fingerprints. The rows of a place are read together.
///
/// If few rows share a place, k rows that differ take some k log2(n / k) divisions, and each takes three descents: one to
/// the middle row, and one in each order that counts and sums up the rows before its place. The two trees needn't share
/// boundaries of nodes, so a place may be inside of a leaf, and only a descent to this leaf tells which rows are before
/// it.
package struct FingerprintComparison {
    /// A part with at most this number of rows isn't divided.
    private static let smallPart = 32

    private let orders: (first: SectionedOrder, second: SectionedOrder)
    /// Called with an object that is in a single order, and with the rank of its row.
    private let body: (RecordKey, _ rank: Int, _ isInSecond: Bool) throws -> Void

    /// Calls the body with the rows of each order whose values no row of the other has. An order that has the same values
    /// more often than the other has the last ones of these rows left over. Throws if an order keeps no fingerprint or
    /// is damaged, and rethrows the body's errors.
    package static func forEachDifference(
        _ first: SectionedOrder, _ second: SectionedOrder,
        _ body: (RecordKey, _ rank: Int, _ isInSecond: Bool) throws -> Void
    ) throws {
        try withoutActuallyEscaping(body) { body in
            let comparison = FingerprintComparison(orders: (first, second), body: body)
            let end = try (first.summary(ofRanks: 0..<first.rowCount), second.summary(ofRanks: 0..<second.rowCount))
            try comparison.compare(
                from: Cut(first: 0, second: 0, difference: .zero),
                to: Cut(
                    first: first.rowCount, second: second.rowCount,
                    difference: try comparison.difference(of: end.0, end.1)))
        }
    }

    /// A place at which both orders are divided.
    private struct Cut {
        /// The numbers of rows before the place.
        let first: Int
        let second: Int
        /// The fingerprint of these rows of the first order minus that of the second order's. It's the same at two places
        /// if the rows between them are equal.
        let difference: Fingerprint
    }

    /// Compares the rows between two places.
    private func compare(from lower: Cut, to upper: Cut) throws {
        let (first, second) = (lower.first..<upper.first, lower.second..<upper.second)
        if first.count == second.count && lower.difference == upper.difference { return }
        guard max(first.count, second.count) > Self.smallPart, !first.isEmpty, !second.isEmpty,
            let cut = try cut(first, second)
        else { return try compareRows(first, second) }
        try compare(from: lower, to: cut)
        try compare(from: cut, to: upper)
    }

    /// Divides two ranges of ranks at the place nearest to the middle of the longer one that divides it; nil if the longer
    /// range has one place for all its rows.
    private func cut(_ first: Range<Int>, _ second: Range<Int>) throws -> Cut? {
        let isByFirst = first.count >= second.count
        let (order, range) = isByFirst ? (orders.first, first) : (orders.second, second)
        var place = try Self.place(atRank: range.lowerBound + range.count / 2, order)
        for _ in 0..<2 {
            let before = try orders.first.rows.prefix(before: place.span.bytes)
            let others = try orders.second.rows.prefix(before: place.span.bytes)
            let divided = isByFirst ? before.count : others.count
            if divided > range.lowerBound && divided < range.upperBound {
                return Cut(
                    first: Self.clamped(before.count, to: first), second: Self.clamped(others.count, to: second),
                    difference: try difference(of: before.summary, others.summary))
            }
            // The place of the middle row begins the range, so the place after it is tried: no row key of this place is
            // greater than these bytes.
            place += [UInt8](repeating: 0xFF, count: 9)
        }
        return nil
    }

    /// The ranks of damaged trees may be outside of the range.
    private static func clamped(_ rank: Int, to range: Range<Int>) -> Int {
        min(max(rank, range.lowerBound), range.upperBound)
    }

    private func difference(of first: [UInt8], _ second: [UInt8]) throws -> Fingerprint {
        var difference = try orders.first.shape.aggregates.fingerprint(of: first)
        difference.subtract(try orders.second.shape.aggregates.fingerprint(of: second))
        return difference
    }

    private static func place(atRank rank: Int, _ order: SectionedOrder) throws -> [UInt8] {
        var place: [UInt8] = []
        try order.rows.entry(at: rank) { row, _ in
            let length = row.key.byteCount - RowKey.numberLength(entity: order.entity)
            guard length >= 0 else { throw SectionedOrder.corrupted("a row key is too short") }
            place = [UInt8](copying: row.key.extracting(first: length))
        }
        return place
    }

    /// Compares the rows of two ranges by their fingerprints.
    private func compareRows(_ first: Range<Int>, _ second: Range<Int>) throws {
        try forEachRow(of: first, orders.first, besides: second, orders.second) { try body($0, $1, false) }
        try forEachRow(of: second, orders.second, besides: first, orders.first) { try body($0, $1, true) }
    }

    /// Calls the body with the rows of a range whose fingerprints don't occur in a range of the other order, or not so
    /// often.
    private func forEachRow(
        of range: Range<Int>, _ order: SectionedOrder, besides otherRange: Range<Int>, _ other: SectionedOrder,
        _ body: (RecordKey, _ rank: Int) throws -> Void
    ) throws {
        var others: [Fingerprint: Int] = [:]
        try Self.forEachRow(of: otherRange, other) { _, _, fingerprint in others[fingerprint, default: 0] += 1 }
        try Self.forEachRow(of: range, order) { object, rank, fingerprint in
            let count = others[fingerprint] ?? 0
            if count > 0 { others[fingerprint] = count - 1 } else { try body(object, rank) }
        }
    }

    private static func forEachRow(
        of ranks: Range<Int>, _ order: SectionedOrder, _ body: (RecordKey, _ rank: Int, Fingerprint) throws -> Void
    ) throws {
        if ranks.isEmpty { return }
        var rank = ranks.lowerBound
        try order.rows.walk(from: rank) { row in
            guard let object = RowKey.object(in: row.key, entity: order.entity) else {
                throw SectionedOrder.corrupted("a row key is too short")
            }
            guard let fingerprint = Fingerprint(row.summary) else { throw RowSummary.malformed }
            try body(object, rank, fingerprint)
            rank += 1
            return rank < ranks.upperBound
        }
    }
}
