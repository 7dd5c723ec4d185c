internal import FetchIndexPlatform
internal import FetchIndexModels
package import FetchIndexValues

/// The least and the greatest key of the values that some objects have in a slot, and whether one of the values is
/// null. The bounds may be wider than the values, for example because they don't shrink when a value is removed.
package struct ValueBounds: Equatable, Sendable {
    /// The type of the values; nil if the bounds are unknown.
    private(set) var type: ValueType?
    /// The least key. If no value has been included, it's greater than `greatest`.
    private var least = BoundKey.greatest
    private var greatest = BoundKey.least
    private var hasNull = false

    /// The bounds of no objects. If the type is decimal, the bounds are unknown.
    init(of type: ValueType?) { self.type = type == .decimal ? nil : type }

    /// Includes the value of a record. Returns whether that changed the bounds. O(1).
    @discardableResult
    @inline(__always)
    mutating func include(_ slot: Int, of record: borrowing RecordView) throws -> Bool {
        guard let type else { return false }
        guard let range = try record.range(of: slot) else {
            defer { hasNull = true }
            return !hasNull
        }
        // Fast path: most values are within the bounds already. For texts, URLs and integers, the first eight bytes
        // usually show that.
        if BoundKey.isSurely(range, of: record, as: type, between: least, and: greatest) { return false }
        return try include(range, of: record, as: type)
    }

    @inline(never)
    private mutating func include(
        _ range: Range<Int>, of record: borrowing RecordView, as type: ValueType
    ) throws -> Bool {
        guard let key = try BoundKey(range, of: record, as: type) else { return false }
        if least <= key && key <= greatest { return false }
        least = min(least, key)
        greatest = max(greatest, key)
        return true
    }

    /// Includes other bounds.
    mutating func include(_ other: ValueBounds) {
        hasNull = hasNull || other.hasNull
        least = min(least, other.least)
        greatest = max(greatest, other.greatest)
    }

    /// Makes the bounds unknown.
    mutating func forget() { self = ValueBounds(of: nil) }

    private var hasValue: Bool { least <= greatest }

    /// Whether all values within other bounds are within these bounds. Returns true if these bounds are unknown, or if
    /// the types differ, since bounds of another type aren't used.
    func contains(_ other: ValueBounds) -> Bool {
        if type == nil || type != other.type { return true }
        return (hasNull || !other.hasNull) && (!other.hasValue || least <= other.least && other.greatest <= greatest)
    }

    // MARK: Questions. If the answer is false, no object of the zone has such a value.

    /// Whether an object of the zone may have this value, which may be null.
    package func mayHave(_ value: Value) -> Bool {
        if type == nil { return true }
        if value.isNull { return hasNull }
        guard let key = key(of: value) else { return true }
        return least <= key && key <= greatest
    }

    package func mayHave(lessOrEqual value: Value) -> Bool {
        guard let key = key(of: value) else { return true }
        return hasValue && least <= key
    }

    package func mayHave(greaterOrEqual value: Value) -> Bool {
        guard let key = key(of: value) else { return true }
        return hasValue && key <= greatest
    }

    package func mayHave(prefix: String) -> Bool {
        guard let key = key(of: .string(prefix)) else { return true }
        return hasValue && key <= greatest && least <= key.filled(after: prefix.utf8.count)
    }

    /// Whether the first value within these bounds comes before the first value within other bounds of the type. Null
    /// sorts first, or last in descending order.
    package func precede(_ other: ValueBounds, isDescending: Bool) -> Bool {
        if isDescending { return hasValue && (!other.hasValue || greatest > other.greatest) }
        if hasNull || other.hasNull { return hasNull && !other.hasNull }
        return least < other.least
    }

    /// The key of a value; nil if the value has another type than the bounds, or has no key.
    private func key(of value: Value) -> BoundKey? { value.type == type ? BoundKey(value) : nil }

    // MARK: Bytes

    private static let nullBit: UInt8 = 64
    private static let valueBit: UInt8 = 128

    func append(to bytes: inout [UInt8]) {
        guard let type else { return bytes.append(0) }
        bytes.append(type.rawValue | (hasNull ? Self.nullBit : 0) | (hasValue ? Self.valueBit : 0))
        if !hasValue { return }
        for key in [least, greatest] {
            let key = key.bytes
            bytes.append(UInt8(key.count))
            bytes += key
        }
    }

    init(_ reader: inout ByteReader) throws {
        let tag = try reader.uint8()
        type = ValueType(rawValue: tag & ~(Self.nullBit | Self.valueBit))
        hasNull = tag & Self.nullBit != 0
        guard tag & Self.valueBit != 0 else { return }
        least = try Self.key(&reader)
        greatest = try Self.key(&reader)
    }

    private static func key(_ reader: inout ByteReader) throws -> BoundKey {
        let range = try reader.range(Int(try reader.uint8()))
        return BoundKey(reader.bytes.extracting(range))
    }
}
