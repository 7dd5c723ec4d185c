internal import FetchIndexPlatform
package import FetchIndexModels
internal import FetchIndexCountedTree

/// Finds the rows in which two orders of the same request differ, which may belong to different stores, by the
/// fingerprints that both keep.
///
/// Both are divided at the same places, where a place is a row key without the object's number, which two stores need not
/// share. Parts with equal fingerprints are left out, others are divided further, and the rows of small parts are
/// compared by their own fingerprints. O(k log^2 n) for k rows that differ, if few rows share a place; the rows of a place
/// are read together.
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
            try FingerprintComparison(orders: (first, second), body: body)
                .compare(0..<first.rowCount, 0..<second.rowCount)
        }
    }

    /// Compares two ranges of ranks with the same places.
    private func compare(_ first: Range<Int>, _ second: Range<Int>) throws {
        if first.isEmpty && second.isEmpty { return }
        if try first.count == second.count
            && Self.fingerprint(of: first, orders.first) == Self.fingerprint(of: second, orders.second)
        {
            return
        }
        guard max(first.count, second.count) > Self.smallPart, !first.isEmpty, !second.isEmpty,
            let division = try division(of: first, second)
        else { return try compareRows(first, second) }
        try compare(first.lowerBound..<division.first, second.lowerBound..<division.second)
        try compare(division.first..<first.upperBound, division.second..<second.upperBound)
    }

    /// The ranks in both orders of the place nearest to the middle of the longer range that divides it; nil if the
    /// longer range has one place for all its rows.
    private func division(of first: Range<Int>, _ second: Range<Int>) throws -> (first: Int, second: Int)? {
        let isByFirst = first.count >= second.count
        let (order, range) = isByFirst ? (orders.first, first) : (orders.second, second)
        var place = try Self.place(atRank: range.lowerBound + range.count / 2, order)
        for _ in 0..<2 {
            let division = try (
                first: Self.rank(of: place, in: first, orders.first),
                second: Self.rank(of: place, in: second, orders.second)
            )
            let divided = isByFirst ? division.first : division.second
            if divided > range.lowerBound && divided < range.upperBound { return division }
            // The place of the middle row begins the range, so the place after it is tried: no row key of this place is
            // greater than these bytes.
            place += [UInt8](repeating: 0xFF, count: 9)
        }
        return nil
    }

    private static func rank(of place: [UInt8], in range: Range<Int>, _ order: SectionedOrder) throws -> Int {
        min(max(try order.rowRank(of: place), range.lowerBound), range.upperBound)
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

    private static func fingerprint(of ranks: Range<Int>, _ order: SectionedOrder) throws -> Fingerprint {
        try order.shape.aggregates.fingerprint(of: order.summary(ofRanks: ranks))
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
