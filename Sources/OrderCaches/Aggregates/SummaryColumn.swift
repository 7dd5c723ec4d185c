internal import FetchIndexPlatform
package import FetchIndexValues

/// The type of a summary's column, and the values that it keeps.
package struct SummaryForm: Equatable, Sendable {
    package let type: ValueType
    package let keepsSum: Bool
    /// Whether the column keeps the least and the greatest value.
    package let keepsExtremes: Bool

    package init(_ type: ValueType, keepsSum: Bool, keepsExtremes: Bool) {
        self.type = type
        self.keepsSum = keepsSum
        self.keepsExtremes = keepsExtremes
    }

    /// Whether the column keeps values. If not, it only counts those that aren't null.
    var keepsValues: Bool { keepsSum || keepsExtremes }
    var sumBase: ExactSum.Base { type == .decimal ? .decimal : .binary }

    /// The maximum length of the column in a summary, in bytes.
    var maximumLength: Int {
        let value = type == .decimal ? Self.longestDecimal : 8
        return 9 + (keepsSum ? ExactSum.maximumLength(sumBase, ofIntegers: type == .integer) : 0)
            + (keepsExtremes ? 2 * value : 0)
    }

    /// The length of a decimal of 39 digits as an `OrderKey`.
    private static let longestDecimal = 44
}

/// Reads one column of a summary in place.
///
/// A column has one of these forms. Numbers are little-endian.
///
///     no value        00
///     a value         01                                          if the column keeps no values
///     a number        10 + n | n bytes                            as follows
///     a decimal       02 | the value as OrderKey
///     more values     03 | count 8 | [sum] | [least | greatest]   8 bytes each, or decimals as OrderKey
///
/// The n bytes of a number are an integer in zigzag encoding, or the order bits of a double or date with the highest
/// byte first. Zero bytes at their end are left out.
struct SummaryColumn: ~Escapable {
    enum Tag {
        static let none: UInt8 = 0
        static let present: UInt8 = 1
        static let decimal: UInt8 = 2
        static let many: UInt8 = 3
        static let number: UInt8 = 0x10
    }

    static let maximumCount: UInt64 = 1 << 40

    let form: SummaryForm
    let summary: RawSpan
    /// The number of values in the column that aren't null.
    private(set) var count = 0
    /// If the column has exactly one number, its order bits.
    private var number: UInt64 = 0
    /// If the column has more than one value, the offset of their sum.
    private var sumStart = 0
    /// The offset of the least value, which follows the sum.
    private var extremesStart = 0
    /// The offset of the end of the least decimal. A single decimal is both the least and the greatest.
    private var leastEnd = 0
    /// The offset of the column's end, where the next column begins.
    private(set) var end: Int

    /// Reads the column at an offset. Returns nil if it turns out to be malformed. Inlined, so that values that the
    /// caller doesn't use needn't be computed.
    @inline(__always)
    @_lifetime(copy summary)
    init?(_ summary: RawSpan, at offset: Int, _ form: SummaryForm) {
        self.form = form
        self.summary = summary
        end = offset + 1
        guard offset < summary.byteCount else { return nil }
        if let number = Self.number(in: summary, at: offset, form) {
            count = 1
            self.number = number.bits
            end = number.end
            return
        }
        let tag = summary.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
        switch tag {
        case Tag.none: break
        case Tag.present where !form.keepsValues: count = 1
        case Tag.decimal where form.keepsValues && form.type == .decimal:
            guard let key = Self.decimal(in: summary, from: end) else { return nil }
            count = 1
            (extremesStart, leastEnd, end) = (key.lowerBound, key.upperBound, key.upperBound)
        case Tag.many: guard readMany() else { return nil }
        default: return nil
        }
    }

    /// The offset of the end of the column at an offset; nil if the column turns out to be malformed.
    static func end(in summary: RawSpan, at offset: Int, _ form: SummaryForm) -> Int? {
        if form.type != .decimal, offset + 9 <= summary.byteCount,
            summary.unsafeLoad(fromByteOffset: offset, as: UInt8.self) == Tag.many
        {
            // Fast path for columns with more than one value. Only the length of the sum is read; the count and the
            // extremes have fixed lengths.
            var end = offset + 9
            if form.keepsSum {
                let rest = summary.extracting(end..<summary.byteCount)
                guard let length = ExactSum.length(ofFirst: rest, form.sumBase) else { return nil }
                end += length
            }
            if form.keepsExtremes { end += 16 }
            return end <= summary.byteCount ? end : nil
        }
        return SummaryColumn(summary, at: offset, form)?.end
    }

    @inline(__always)
    @_lifetime(self: copy self)
    private mutating func readMany() -> Bool {
        guard end + 8 <= summary.byteCount else { return false }
        let count = Self.number(in: summary, at: end)
        guard count > 1, count <= Self.maximumCount else { return false }
        self.count = Int(count)
        end += 8
        sumStart = end
        if form.keepsSum {
            guard let length = ExactSum.length(ofFirst: summary.extracting(end..<summary.byteCount), form.sumBase)
            else { return false }
            end += length
        }
        (extremesStart, leastEnd) = (end, end)
        if !form.keepsExtremes { return true }
        if form.type == .decimal {
            guard let least = Self.decimal(in: summary, from: end),
                let greatest = Self.decimal(in: summary, from: least.upperBound)
            else { return false }
            leastEnd = least.upperBound
            end = greatest.upperBound
            return true
        }
        end += 16
        return end <= summary.byteCount
    }

    /// The number in a column with exactly one number. Nil for other columns.
    static func number(in summary: RawSpan, at offset: Int, _ form: SummaryForm) -> (bits: UInt64, end: Int)? {
        guard offset < summary.byteCount else { return nil }
        let tag = summary.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
        guard tag >= Tag.number, tag <= Tag.number + 8, form.keepsValues, form.type != .decimal else { return nil }
        let end = offset + 1 + Int(tag - Tag.number)
        guard end <= summary.byteCount else { return nil }
        var rest: UInt64 = 0
        for index in stride(from: end - 1, to: offset, by: -1) {
            rest = rest << 8 | UInt64(summary.unsafeLoad(fromByteOffset: index, as: UInt8.self))
        }
        return (form.type == .integer ? orderBits(ofZigzag: rest) : rest.byteSwapped, end)
    }

    private static func orderBits(ofZigzag rest: UInt64) -> UInt64 { (rest >> 1 ^ (0 &- (rest & 1))) ^ (1 << 63) }

    static func number(in summary: RawSpan, at offset: Int) -> UInt64 {
        UInt64(littleEndian: summary.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    private static func decimal(in summary: RawSpan, from start: Int) -> Range<Int>? {
        let rest = summary.extracting(start..<summary.byteCount)
        guard OrderKey.hasType(.decimal, rest), let length = OrderKey.lengthOfFirst(in: rest) else { return nil }
        return start..<start + length
    }

    /// The least and the greatest number, as `OrderKey.orderBits`. They are also known for a column of one value that
    /// keeps only the sum.
    var bits: (least: UInt64, greatest: UInt64) { (least, greatest) }

    private var hasNumbers: Bool { count > 1 && form.keepsExtremes && form.type != .decimal }

    var least: UInt64 {
        if count == 1 { return number }
        return hasNumbers ? Self.number(in: summary, at: extremesStart) : .max
    }

    var greatest: UInt64 {
        if count == 1 { return number }
        return hasNumbers ? Self.number(in: summary, at: extremesStart + 8) : .min
    }

    /// The least decimal, as `OrderKey`. A single decimal is both the least and the greatest.
    var leastKey: RawSpan {
        @_lifetime(copy self)
        get { summary.extracting(extremesStart..<leastEnd) }
    }

    var greatestKey: RawSpan {
        @_lifetime(copy self)
        get { count > 1 ? summary.extracting(leastEnd..<end) : leastKey }
    }

    /// The encoded sum, in a column of more than one value.
    var sum: RawSpan {
        @_lifetime(copy self)
        get { summary.extracting(sumStart..<extremesStart) }
    }

    // MARK: Writing

    /// Appends the column of a row. `value` is the row's value as an ascending `OrderKey`.
    static func append(_ value: RawSpan, _ form: SummaryForm, to bytes: inout [UInt8]) {
        if OrderKey.isNull(value) {
            bytes.append(Tag.none)
        } else if !form.keepsValues {
            bytes.append(Tag.present)
        } else if let bits = OrderKey.orderBits(in: value) {
            append(number: bits, form.type, to: &bytes)
        } else {
            bytes.append(Tag.decimal)
            bytes.appendBytes(value)
        }
    }

    static func append(number bits: UInt64, _ type: ValueType, to bytes: inout [UInt8]) {
        var rest: UInt64
        if type == .integer {
            let number = OrderKey.integer(bits)
            rest = UInt64(bitPattern: number << 1 ^ number >> 63)
        } else {
            rest = bits.byteSwapped
        }
        let length = (64 - rest.leadingZeroBitCount + 7) / 8
        bytes.append(Tag.number + UInt8(length))
        for _ in 0..<length {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }
}
