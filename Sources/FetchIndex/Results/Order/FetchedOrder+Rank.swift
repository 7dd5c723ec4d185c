internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexPlatform
internal import FetchIndexRecords
public import FetchIndexValues

// Rows by rank: parts, samples, percentiles, and the places of objects and values.
extension FetchedOrder {
    /// The indexes of the rows in one of several parts, from 0, whose sizes differ by at most one row: each row is in
    /// exactly one part. Workers that read parts of one order must open it at the same commit. O(1). Traps unless 0 <=
    /// part < count.
    public func rows(inPart part: Int, of count: Int) -> Range<Int> {
        precondition((0..<count).contains(part), "A part must be less than the number of parts.")
        let (size, rest) = rowCount.quotientAndRemainder(dividingBy: count)
        let first = part * size + min(part, rest)
        return first..<first + size + (part < rest ? 1 : 0)
    }

    /// The indexes of rows that are chosen by chance, without repetition, in ascending order: `most` of them, or all if
    /// the range has fewer. Each choice is equally likely. The same seed gives the same indexes for the same number of
    /// rows. O(k log k) for k indexes, without reading rows (Bentley and Floyd, A sample of brilliance, 1987).
    /// Traps if the range isn't within the rows.
    public func sample(_ most: Int, seed: UInt64, inRows range: Range<Int>? = nil) -> [Int] {
        let range = range ?? 0..<rowCount
        precondition(range.lowerBound >= 0 && range.upperBound <= rowCount, "A range of rows must be within the order.")
        if most >= range.count { return Array(range) }
        var random = SplitMix(seed)
        var chosen: Set<Int> = []
        for last in range.count - max(0, most)..<range.count {
            let index = random.next(upTo: last)
            if !chosen.insert(index).inserted { chosen.insert(last) }
        }
        return chosen.sorted().map { range.lowerBound + $0 }
    }

    /// The index of an object's row, which counts over all sections: the number of rows before it. Nil if the object
    /// isn't in the order. O(log n). Throws `StoreError`.
    public func row(of object: ObjectID) throws -> Int? {
        try noting {
            let key = try container.key(of: object)
            guard let placer = try builder.placer(of: key.entity) else { return nil }
            var record: [UInt8]?
            _ = try shown.state.record(key) { record = [UInt8](copying: $0) }
            guard let record, let path = try opened.order.position(of: key, record, placer, in: shown.state) else {
                return nil
            }
            return try opened.order.section(at: path.section).rowsBefore + path.row
        }
    }

    /// The rows of a section whose first sort key is a value, by their indexes in the section; an empty range at the
    /// value's place if no row has it. So `lowerBound` rows come before the value. An order with several
    /// sections is sorted only within each, so it needs a section's index. O(log n). Throws `StoreError`, and
    /// `RequestError` if a section is needed, if the order has no sort key, or if the value has another type than it.
    public func rank(of value: Value, inSection section: Int? = nil) throws -> Range<Int> {
        try noting { try rank(of: value, firstKey(), keySection(section)) }
    }

    /// The value of the first sort key that at least a share of a section's rows, in per cent, don't exceed: the least
    /// one of that kind, without interpolation (nearest rank). Nulls don't count; null if all values are null. A
    /// percentile of texts is that of their order. O(log n). Throws like ``rank(of:inSection:)``, and `RequestError` if
    /// the sort key aggregates related objects. Traps unless 0 <= percent <= 100.
    public func percentile(_ percent: Double, inSection section: Int? = nil) throws -> Value {
        precondition((0...100).contains(percent), "A percentile must be from 0 to 100.")
        return try noting {
            let first = try firstKey()
            if first.column.expression != nil {
                throw RequestError.malformed("a percentile needs a sort key of one value, not \(first.key)")
            }
            let section = try keySection(section)
            let nulls = try rank(of: .null, first, section)
            let count = section.count - nulls.count
            if count == 0 { return .null }
            let place = max(1, Self.share(percent, of: count)) - 1
            // Nulls come first, or last in descending order.
            let row = first.column.isDescending ? count - 1 - place : nulls.count + place
            let column = try column(first.key.attribute)
            var value = Value.null
            try withRow(at: section.rowsBefore + row) { value = try $0.value(of: column) }
            return value
        }
    }

    /// The least whole number that is at least so much per cent of a count. The per cents count as the decimal number that
    /// they print as: 99.9 is 999 of 1000.
    private static func share(_ percent: Double, of count: Int) -> Int {
        let parts = "\(percent)".split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].count <= 16, let digits = UInt64(parts[0] + parts[1]) else {
            // A number with an exponent, which is next to nothing.
            return Int((percent * Double(count) / 100).rounded(.up))
        }
        var divisor: UInt64 = 100
        for _ in parts[1] { divisor *= 10 }
        let (quotient, rest) = divisor.dividingFullWidth(digits.multipliedFullWidth(by: UInt64(count)))
        return Int(quotient) + (rest == 0 ? 0 : 1)
    }

    private func firstKey() throws -> (key: SortKey<ManagedObject>, column: SortColumn) {
        guard let placer = try builder.placer(of: entityNumber) as? RecordPlacer, let first = placer.first else {
            throw RequestError.malformed("ranks of values need a sort key")
        }
        return first
    }

    /// The section at an index; without an index, the only one.
    private func keySection(_ index: Int?) throws -> OrderSection {
        guard let index = index ?? (sectionCount == 1 ? 0 : nil) else {
            throw RequestError.malformed("the order has \(sectionCount) sections, and is sorted only within each")
        }
        return try opened.order.section(at: index)
    }

    private func rank(
        of value: Value, _ first: (key: SortKey<ManagedObject>, column: SortColumn), _ section: OrderSection
    ) throws -> Range<Int> {
        let column = first.column
        if let type = value.type, type != column.type {
            throw RequestError.wrongType(
                "the sort key \(first.key) is \(column.type.nameWithArticle), but the value is \(type.nameWithArticle)")
        }
        var bytes: [UInt8] = []
        column.append(value, to: &bytes)
        if column.isDescending { bytes = bytes.map { ~$0 } }
        let keys = KeyInterval(beginningWith: section.value + bytes)
        let start = try opened.order.rowRank(of: section.value)
        return try opened.order.rowRank(of: keys.lower) - start..<opened.order.rowRank(of: keys.upper) - start
    }
}

/// A generator of random numbers whose sequence is the same on all systems (Steele, Lea and Flood, Fast splittable
/// pseudorandom number generators, 2014).
private struct SplitMix {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    /// A number from 0 to the given one, each equally likely.
    mutating func next(upTo last: Int) -> Int {
        let count = UInt64(last) + 1
        // Numbers from the incomplete last round of the divisor would make small results more likely.
        let end = UInt64.max - UInt64.max % count
        var number = next()
        while number >= end { number = next() }
        return Int(number % count)
    }

    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

extension FetchedResultsController {
    /// The order behind the controller's rows, with the context's unsaved edits, for reading many values without
    /// objects, and for parts, samples, percentiles and ranks. It has all rows of the request, whatever its offset and
    /// limit; nil before the first fetch. Use it before the context changes again. O(entities). Throws `StoreError`.
    public func fetchedOrder() throws -> FetchedOrder? {
        guard let live else { return nil }
        let context = managedObjectContext
        return try withPublicErrors {
            let snapshot = try context.snapshot()
            let state = ChangedState(context.core.edits.reported, over: snapshot)
            return try FetchedOrder(
                live.saved, of: live.request.builder, snapshot, in: context.container,
                at: PastOrder(order: live.window.order, state: state, commit: snapshot.commit))
        }
    }
}
