internal import FetchIndexPlatform
internal import FetchIndexValues

/// The running total of one column.
struct ColumnSum {
    private let form: SummaryForm
    private var count = 0
    private var sum: ExactSum
    private var bits: (least: UInt64, greatest: UInt64) = (.max, .min)
    /// The least and the greatest decimal, as `OrderKey`; empty without values.
    private var keys: (least: [UInt8], greatest: [UInt8]) = ([], [])

    init(_ form: SummaryForm) {
        self.form = form
        sum = ExactSum(form.sumBase)
    }

    private mutating func removeAll() {
        count = 0
        if form.keepsSum { sum.removeAll() }
        bits = (.max, .min)
        if form.type == .decimal { keys = ([], []) }
    }

    /// Appends the column's bytes, and resets the total.
    mutating func take(to bytes: inout [UInt8]) {
        defer { removeAll() }
        switch count {
        case 0: bytes.append(SummaryColumn.Tag.none)
        case 1 where !form.keepsValues: bytes.append(SummaryColumn.Tag.present)
        case 1 where form.type == .decimal:
            bytes.append(SummaryColumn.Tag.decimal)
            bytes.append(contentsOf: keys.least)
        case 1: SummaryColumn.append(number: bits.least, form.type, to: &bytes)
        default:
            bytes.append(SummaryColumn.Tag.many)
            bytes.appendNumber(UInt64(count))
            if form.keepsSum { sum.take(to: &bytes) }
            if !form.keepsExtremes { return }
            if form.type == .decimal {
                bytes.append(contentsOf: keys.least)
                bytes.append(contentsOf: keys.greatest)
            } else {
                bytes.appendNumber(bits.least)
                bytes.appendNumber(bits.greatest)
            }
        }
    }

    // MARK: Adding

    /// Adds the column at an offset of a summary. Returns the offset of its end; nil if it turns out to be malformed.
    mutating func add(_ summary: RawSpan, at offset: Int) -> Int? {
        if let number = SummaryColumn.number(in: summary, at: offset, form) {
            count += 1
            bits = (min(bits.least, number.bits), max(bits.greatest, number.bits))
            if !form.keepsSum { return number.end }
            if form.type == .integer {
                sum.add(OrderKey.integer(number.bits))
            } else {
                _ = sum.add(OrderKey.double(number.bits))
            }
            return number.end
        }
        guard let other = SummaryColumn(summary, at: offset, form) else { return nil }
        if other.count == 0 { return other.end }
        count += other.count
        if form.keepsSum, !add(sumOf: other, isSubtracted: false) { return nil }
        if form.type == .decimal {
            widen(to: other.leastKey, other.greatestKey)
        } else {
            bits = (min(bits.least, other.bits.least), max(bits.greatest, other.bits.greatest))
        }
        return other.end
    }

    /// Subtracts the column at an offset of a summary. Returns the offset of its end. Returns nil if it turns out to be
    /// malformed, or if the rest is unknown, for example because the least or greatest value may have been removed.
    mutating func remove(_ summary: RawSpan, at offset: Int) -> Int? {
        guard let other = SummaryColumn(summary, at: offset, form) else { return nil }
        if other.count == 0 { return other.end }
        count -= other.count
        if count <= 0 {
            if count < 0 { return nil }
            removeAll()
            return other.end
        }
        if form.keepsValues && count == 1 { return nil }
        if form.keepsSum, !add(sumOf: other, isSubtracted: true) { return nil }
        if !form.keepsExtremes { return other.end }
        if form.type == .decimal {
            let isInside =
                other.leastKey.compare(keys.least.span.bytes) > 0
                && other.greatestKey.compare(keys.greatest.span.bytes) < 0
            return isInside ? other.end : nil
        }
        return other.bits.least > bits.least && other.bits.greatest < bits.greatest ? other.end : nil
    }

    private mutating func add(sumOf other: borrowing SummaryColumn, isSubtracted: Bool) -> Bool {
        if other.count > 1 { return sum.add(other.sum, isSubtracted: isSubtracted) }
        switch form.type {
        case .integer:
            sum.add(OrderKey.integer(other.bits.least), isSubtracted: isSubtracted)
            return true
        case .decimal:
            guard let number = OrderKey.decimal(in: other.leastKey) else { return false }
            let isNegative = number.isNegative != isSubtracted
            return sum.add(decimalDigits: number.digits, point: number.point, isNegative: isNegative)
        default: return sum.add(OrderKey.double(other.bits.least), isSubtracted: isSubtracted)
        }
    }

    private mutating func widen(to low: RawSpan, _ high: RawSpan) {
        if keys.least.isEmpty || low.compare(keys.least.span.bytes) < 0 { keys.least = [UInt8](copying: low) }
        if keys.greatest.isEmpty || high.compare(keys.greatest.span.bytes) > 0 {
            keys.greatest = [UInt8](copying: high)
        }
    }
}
