internal import Bytes
internal import SystemBasics
package import Values

/// What an order keeps of the values of one attribute in some of its rows.
///
/// A column of a summary is one of these; numbers are little-endian.
///
///     no value        00
///     a value         01                                          where no values are kept
///     a number        10 + n | n bytes                            an integer: zigzag; a double or date: the highest bytes
///     a decimal       02 | the value as OrderKey                    of its order, without those that are zero
///     more values     03 | count 8 | [sum] | [least | greatest]   8 bytes each, or decimals as OrderKey
package struct ColumnSummary {
    private enum Tag {
        static let none: UInt8 = 0
        static let present: UInt8 = 1
        static let decimal: UInt8 = 2
        static let many: UInt8 = 3
        static let number: UInt8 = 0x10
    }

    private static let maximumCount: UInt64 = 1 << 40

    private let type: ValueType
    private let keepsSum: Bool
    private let keepsExtremes: Bool
    /// Of values that are not null.
    package private(set) var count = 0
    private var sum: ExactSum
    /// The least and greatest, as `OrderKey.orderBits`; of one value both, also where only the sum is kept.
    private var bits: (least: UInt64, greatest: UInt64) = (.max, .min)
    /// Of decimals, as `OrderKey`; empty without values.
    private var keys: (least: [UInt8], greatest: [UInt8]) = ([], [])

    init(_ column: AggregateColumns.Column) {
        type = column.type
        keepsSum = column.keepsSum
        keepsExtremes = column.keepsExtremes
        sum = ExactSum(column.sumBase)
    }

    mutating func removeAll() {
        count = 0
        if keepsSum { sum.removeAll() }
        bits = (.max, .min)
        if type == .decimal { keys = ([], []) }
    }

    // MARK: Results

    /// Of the column's type; of integers a decimal when it takes more than 64 bits. Zero without values.
    package var total: Value {
        switch type {
        case .integer: sum.integer.map { .integer($0) } ?? .decimal(sum.decimal)
        case .decimal: .decimal(sum.decimal)
        default: .double(sum.double)
        }
    }

    /// A decimal of decimals, else a double; null without values.
    package var average: Value {
        if count == 0 { return .null }
        return type == .decimal ? .decimal(sum.decimal / Decimal(count)) : .double(sum.double / Double(count))
    }

    /// Null without values.
    package var minimum: Value { value(bits.least, keys.least) }
    package var maximum: Value { value(bits.greatest, keys.greatest) }

    private func value(_ bits: UInt64, _ key: [UInt8]) -> Value {
        if count == 0 { return .null }
        switch type {
        case .integer: return .integer(OrderKey.integer(bits))
        case .double: return .double(OrderKey.double(bits))
        case .date: return Value(secondsSinceReference: OrderKey.double(bits))
        default: return OrderKey.first(in: key.span.bytes)?.value ?? .null
        }
    }

    // MARK: Writing

    /// Appends the column of a row, whose value is an ascending `OrderKey`.
    static func append(_ value: RawSpan, _ column: AggregateColumns.Column, to bytes: inout [UInt8]) {
        if OrderKey.isNull(value) {
            bytes.append(Tag.none)
        } else if !column.keepsValues {
            bytes.append(Tag.present)
        } else if let bits = OrderKey.orderBits(in: value) {
            append(number: bits, column.type, to: &bytes)
        } else {
            bytes.append(Tag.decimal)
            bytes.appendBytes(value)
        }
    }

    private static func append(number bits: UInt64, _ type: ValueType, to bytes: inout [UInt8]) {
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

    func append(to bytes: inout [UInt8]) {
        switch count {
        case 0: bytes.append(Tag.none)
        case 1 where !keepsSum && !keepsExtremes: bytes.append(Tag.present)
        case 1 where type == .decimal:
            bytes.append(Tag.decimal)
            bytes.append(contentsOf: keys.least)
        case 1: Self.append(number: bits.least, type, to: &bytes)
        default:
            bytes.append(Tag.many)
            bytes.appendNumber(UInt64(count))
            if keepsSum { sum.append(to: &bytes) }
            if !keepsExtremes { return }
            if type == .decimal {
                bytes.append(contentsOf: keys.least)
                bytes.append(contentsOf: keys.greatest)
            } else {
                bytes.appendNumber(bits.least)
                bytes.appendNumber(bits.greatest)
            }
        }
    }

    // MARK: Adding

    /// Adds the column at an offset of a summary. Returns where it ends; nil when it is malformed.
    mutating func add(_ summary: RawSpan, at offset: Int) -> Int? {
        guard offset < summary.byteCount else { return nil }
        let tag = summary.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
        let isNumber = type != .decimal && (keepsSum || keepsExtremes)
        if tag >= Tag.number, tag <= Tag.number + 8, isNumber {
            let end = offset + 1 + Int(tag - Tag.number)
            guard end <= summary.byteCount else { return nil }
            var rest: UInt64 = 0
            for index in stride(from: end - 1, to: offset, by: -1) {
                rest = rest << 8 | UInt64(summary.unsafeLoad(fromByteOffset: index, as: UInt8.self))
            }
            addNumber(type == .integer ? UInt64(bitPattern: Self.zigzag(rest)) ^ (1 << 63) : rest.byteSwapped)
            return end
        }
        switch tag {
        case Tag.none: return offset + 1
        case Tag.present where !keepsSum && !keepsExtremes:
            count += 1
            return offset + 1
        case Tag.decimal where type == .decimal:
            guard let end = endOfDecimal(in: summary, from: offset + 1) else { return nil }
            let key = summary.extracting(offset + 1..<end)
            count += 1
            widen(to: key, key)
            if !keepsSum { return end }
            guard let number = OrderKey.decimal(in: key),
                sum.add(decimalDigits: number.digits, point: number.point, isNegative: number.isNegative)
            else { return nil }
            return end
        case Tag.many: return addMany(summary, at: offset + 1)
        default: return nil
        }
    }

    private static func zigzag(_ rest: UInt64) -> Int64 { Int64(bitPattern: rest >> 1 ^ (0 &- (rest & 1))) }

    private mutating func addNumber(_ number: UInt64) {
        count += 1
        bits = (min(bits.least, number), max(bits.greatest, number))
        if !keepsSum { return }
        if type == .integer { sum.add(OrderKey.integer(number)) } else { sum.add(OrderKey.double(number)) }
    }

    private mutating func addMany(_ summary: RawSpan, at offset: Int) -> Int? {
        var end = offset + 8
        guard end <= summary.byteCount else { return nil }
        let count = Self.number(in: summary, at: offset)
        guard count > 1, count <= Self.maximumCount else { return nil }
        self.count += Int(count)
        if keepsSum {
            guard let length = sum.add(summary.extracting(end..<summary.byteCount)) else { return nil }
            end += length
        }
        if !keepsExtremes { return end }
        guard type == .decimal else {
            guard end + 16 <= summary.byteCount else { return nil }
            bits.least = min(bits.least, Self.number(in: summary, at: end))
            bits.greatest = max(bits.greatest, Self.number(in: summary, at: end + 8))
            return end + 16
        }
        guard let middle = endOfDecimal(in: summary, from: end), let last = endOfDecimal(in: summary, from: middle)
        else {
            return nil
        }
        widen(to: summary.extracting(end..<middle), summary.extracting(middle..<last))
        return last
    }

    private static func number(in summary: RawSpan, at offset: Int) -> UInt64 {
        UInt64(littleEndian: summary.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    private func endOfDecimal(in summary: RawSpan, from start: Int) -> Int? {
        let rest = summary.extracting(start..<summary.byteCount)
        guard OrderKey.hasType(.decimal, rest), let length = OrderKey.lengthOfFirst(in: rest) else { return nil }
        return start + length
    }

    private mutating func widen(to low: RawSpan, _ high: RawSpan) {
        if keys.least.isEmpty || low.compare(keys.least.span.bytes) < 0 { keys.least = [UInt8](copying: low) }
        if keys.greatest.isEmpty || high.compare(keys.greatest.span.bytes) > 0 {
            keys.greatest = [UInt8](copying: high)
        }
    }
}
