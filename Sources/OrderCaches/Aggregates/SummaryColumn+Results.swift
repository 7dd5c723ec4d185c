internal import FetchIndexEssentials
internal import FetchIndexValues

/// Computes results from a column of a summary.
extension SummaryColumn {
    /// The sum, in the column's type. A decimal if a sum of integers exceeds 64 bits; zero without values.
    var total: Value {
        switch (form.type, count) {
        case (_, 1): return minimum
        case (.integer, 0): return .integer(0)
        case (.decimal, 0): return .decimal(0)
        case (_, 0): return .double(0)
        default: break
        }
        let sum = EncodedSum(self.sum, form.sumBase)
        switch form.type {
        case .integer:
            if let integer = sum.integer { return .integer(integer) }
            return .decimal(sum.decimal)
        case .decimal: return .decimal(sum.decimal)
        default: return .double(sum.double)
        }
    }

    /// The average: a decimal for decimals, otherwise a double. Null without values.
    var average: Value {
        switch (form.type, count) {
        case (_, 0): return .null
        case (.integer, 1): return .double(Double(OrderKey.integer(least)))
        case (_, 1): return minimum
        case (.decimal, _): return .decimal(EncodedSum(sum, .decimal).decimal(dividedBy: count))
        default: return .double(EncodedSum(sum, .binary).double(dividedBy: count))
        }
    }

    /// The least value; null without values.
    var minimum: Value { form.type == .decimal ? decimal(leastKey) : number(least) }
    var maximum: Value { form.type == .decimal ? decimal(greatestKey) : number(greatest) }

    private func number(_ bits: UInt64) -> Value {
        if count == 0 { return .null }
        switch form.type {
        case .integer: return .integer(OrderKey.integer(bits))
        case .double: return .double(OrderKey.double(bits))
        case .date: return Value(secondsSinceReference: OrderKey.double(bits))
        default: return .null
        }
    }

    private func decimal(_ key: RawSpan) -> Value { count == 0 ? .null : OrderKey.first(in: key)?.value ?? .null }

    /// Fast path for a result of a column with more than one integer. Reads and checks only the parts that the result
    /// needs. Returns nil for other columns, for malformed parts, and for sums that are too large or multiples of 2^32.
    @inline(__always)
    static func value(
        _ result: AggregateColumns.Result, ofIntegers summary: RawSpan, at offset: Int, _ form: SummaryForm
    ) -> Value? {
        let start = offset + 9
        guard form.type == .integer, start <= summary.byteCount,
            summary.unsafeLoad(fromByteOffset: offset, as: UInt8.self) == Tag.many
        else { return nil }
        let count = number(in: summary, at: offset + 1)
        guard count > 1, count <= maximumCount else { return nil }
        let rest = summary.extracting(start..<summary.byteCount)
        switch result {
        case .count: return .integer(Int64(count))
        case .total:
            guard form.keepsSum, let sum = ExactSum.smallInteger(ofFirst: rest) else { return nil }
            return .integer(sum)
        case .average:
            // If the sum and the count are exact as doubles, their quotient is rounded only once.
            guard form.keepsSum, let sum = ExactSum.smallInteger(ofFirst: rest), abs(sum) <= 1 << 53 else { return nil }
            return .double(Double(sum) / Double(count))
        case .minimum, .maximum:
            guard form.keepsExtremes, let sumLength = form.keepsSum ? ExactSum.length(ofFirst: rest, .binary) : 0,
                sumLength + 16 <= rest.byteCount
            else { return nil }
            return .integer(OrderKey.integer(number(in: rest, at: result == .minimum ? sumLength : sumLength + 8)))
        }
    }
}
