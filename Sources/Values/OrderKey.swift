internal import Bytes
internal import SystemBasics

/// Bytes whose memcmp order is the order of values, one value after the other.
///
///     null     02
///     boolean  03 | 0 or 1
///     integer  04 | 8 bytes big-endian, sign bit flipped
///     double   05 | 8 bytes big-endian, sign bit flipped; all bits when negative
///     decimal  06 | sign 1 | [point 2 | digits + 1 | 00]; from the sign on all bits flipped when negative
///     date     07 | seconds since 2001 as a double
///     string   08 | UTF-8 or a collation key, 00 written as 00 FF | 00 01
///     data     09 | as string
///     uuid     0A | 16 bytes
///     url      0B | as string
///
/// Descending flips every bit, so that null comes last. No value's bytes begin another's, so that what follows never
/// decides between two values. The scheme is FoundationDB's tuple encoding with directions.
package enum OrderKey {
    private static let nullTag: UInt8 = 0x02

    private static func tag(_ type: ValueType) -> UInt8 { type.rawValue + 2 }

    // MARK: Writing

    package static func appendNull(to key: inout [UInt8]) { key.append(nullTag) }

    package static func appendInteger(_ value: Int64, to key: inout [UInt8]) {
        key.append(tag(.integer))
        key.appendBigEndian(UInt64(bitPattern: value) ^ (1 << 63))
    }

    package static func appendBoolean(_ value: Bool, to key: inout [UInt8]) {
        key.append(tag(.boolean))
        key.append(value ? 1 : 0)
    }

    /// A double, or a date's seconds. -0 is 0; NaN comes last.
    package static func appendDouble(_ value: Double, as type: ValueType, to key: inout [UInt8]) {
        key.append(tag(type))
        key.appendBigEndian(orderBits(of: value))
    }

    /// The bytes of a string, a collation key, data or a URL.
    package static func appendBytes(_ bytes: RawSpan, as type: ValueType, to key: inout [UInt8]) {
        key.append(tag(type))
        bytes.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress, memchr(start, 0, bytes.count) != nil {
                for byte in bytes {
                    key.append(byte)
                    if byte == 0 { key.append(0xFF) }
                }
            } else {
                key.append(contentsOf: bytes)
            }
        }
        key.append(0)
        key.append(1)
    }

    package static func append(_ value: Value, to key: inout [UInt8]) {
        switch value {
        case .null: appendNull(to: &key)
        case .boolean(let value): appendBoolean(value, to: &key)
        case .integer(let value): appendInteger(value, to: &key)
        case .double(let value): appendDouble(value, as: .double, to: &key)
        case .decimal(let value): appendDecimal(value, to: &key)
        case .date(let value): appendDouble(value.timeIntervalSinceReferenceDate, as: .date, to: &key)
        case .string(let value): appendBytes(Array(value.utf8).span.bytes, as: .string, to: &key)
        case .data(let value): appendBytes(Array(value).span.bytes, as: .data, to: &key)
        case .uuid(let value):
            key.append(tag(.uuid))
            withUnsafeBytes(of: value.uuid) { key.append(contentsOf: $0) }
        case .url(let value): appendBytes(Array(value.absoluteString.utf8).span.bytes, as: .url, to: &key)
        }
    }

    /// Inverts the bytes from an offset on, for descending order.
    package static func reverse(_ key: inout [UInt8], from offset: Int) {
        for index in offset..<key.count { key[index] = ~key[index] }
    }

    /// point: the position of the decimal point after the first significant digit, plus 32,768.
    private static func appendDecimal(_ value: Decimal, to key: inout [UInt8]) {
        key.append(tag(.decimal))
        let start = key.count
        let (digits, point) = value.digitsAndPoint
        if digits.isEmpty {
            key.append(0x80)
            return
        }
        key.append(0x81)
        key.append(UInt8(truncatingIfNeeded: (point + 32_768) >> 8))
        key.append(UInt8(truncatingIfNeeded: point + 32_768))
        key.append(contentsOf: digits.map { $0 + 1 })
        key.append(0)
        if value < 0 { reverse(&key, from: start) }
    }
}

extension OrderKey {
    // MARK: Reading ascending keys

    /// How many bytes the first value of an ascending key takes; nil when they are malformed.
    package static func lengthOfFirst(in key: RawSpan) -> Int? {
        guard key.byteCount > 0 else { return nil }
        let tag = key.unsafeLoad(as: UInt8.self)
        if tag == nullTag { return 1 }
        guard tag > 2, let type = ValueType(rawValue: tag - 2) else { return nil }
        let length: Int?
        switch type {
        case .boolean: length = 2
        case .integer, .double, .date: length = 9
        case .uuid: length = 17
        case .string, .data, .url: length = endOfBytes(in: key)
        case .decimal: length = endOfDecimal(in: key)
        }
        guard let length, length <= key.byteCount else { return nil }
        return length
    }

    private static func endOfBytes(in key: RawSpan) -> Int? {
        key.withUnsafeBytes { key in
            var index = 1
            while index + 1 < key.count {
                if key[index] != 0 {
                    index += 1
                } else if key[index + 1] == 0xFF {
                    index += 2
                } else {
                    return key[index + 1] == 1 ? index + 2 : nil
                }
            }
            return nil
        }
    }

    private static func endOfDecimal(in key: RawSpan) -> Int? {
        key.withUnsafeBytes { key in
            guard key.count >= 2 else { return nil }
            if key[1] == 0x80 { return 2 }
            let end: UInt8 = key[1] < 0x80 ? 0xFF : 0
            guard key.count > 4 else { return nil }
            return key[4...].firstIndex(of: end).map { $0 + 1 }
        }
    }

    /// The first value of an ascending key and the bytes it takes; nil when they are malformed.
    package static func first(in key: RawSpan) -> (value: Value, length: Int)? {
        guard let length = lengthOfFirst(in: key) else { return nil }
        if let text = plainText(in: key, length: length) { return (.string(text), length) }
        let bytes = key.extracting(0..<length).withUnsafeBytes { [UInt8]($0) }
        guard bytes[0] != nullTag, let type = ValueType(rawValue: bytes[0] - 2) else { return (.null, length) }
        return value(of: type, bytes).map { ($0, length) }
    }

    /// The text of a key that is one without escaped bytes, as nearly all are; nil when it is not.
    private static func plainText(in key: RawSpan, length: Int) -> String? {
        guard length > 2, key.unsafeLoad(as: UInt8.self) == tag(.string) else { return nil }
        return key.extracting(1..<length - 2).withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { bytes in
                if bytes.contains(0) { return nil }
                let text = String(decoding: bytes, as: UTF8.self)
                return text.utf8.count == bytes.count ? text : nil
            }
        }
    }

    private static func value(of type: ValueType, _ bytes: [UInt8]) -> Value? {
        let payload = bytes[1...]
        switch type {
        case .boolean: return .boolean(payload[1] != 0)
        case .integer: return orderBits(in: bytes.span.bytes).map { .integer(integer($0)) }
        case .double: return orderBits(in: bytes.span.bytes).map { .double(double($0)) }
        case .date: return orderBits(in: bytes.span.bytes).map { Value(secondsSinceReference: double($0)) }
        case .string: return String(validating: unescape(payload), as: UTF8.self).map(Value.string)
        case .data: return .data(Data(unescape(payload)))
        case .url:
            guard let text = String(validating: unescape(payload), as: UTF8.self) else { return nil }
            return URL(string: text).map(Value.url)
        case .uuid:
            var uuid = UUID().uuid
            withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: payload) }
            return .uuid(UUID(uuid: uuid))
        case .decimal: return decimal(in: bytes.span.bytes)?.value.map(Value.decimal)
        }
    }

    /// Whether an ascending key begins with null.
    package static func isNull(_ key: RawSpan) -> Bool {
        key.byteCount > 0 && key.unsafeLoad(as: UInt8.self) == nullTag
    }

    /// Whether an ascending key begins with a value of a type.
    package static func hasType(_ type: ValueType, _ key: RawSpan) -> Bool {
        key.byteCount > 0 && key.unsafeLoad(as: UInt8.self) == tag(type)
    }

    /// The bytes of the text that an ascending key begins with; nil for other keys.
    package static func textBytes(in key: RawSpan) -> [UInt8]? {
        guard hasType(.string, key), let length = lengthOfFirst(in: key) else { return nil }
        return unescape([UInt8](copying: key.extracting(1..<length))[...])
    }

    private static func unescape(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var isAfterZero = false
        for byte in bytes.dropLast(2) {
            if !(isAfterZero && byte == 0xFF) { plain.append(byte) }
            isAfterZero = byte == 0 && !isAfterZero
        }
        return plain
    }
}

extension Decimal {
    /// The digits from the first to the last that is not zero, and the power of ten that 0.digits is multiplied with.
    fileprivate var digitsAndPoint: (digits: [UInt8], point: Int) {
        let text = description.utf8.drop { $0 == 45 }
        let whole = text.prefix { $0 != 46 }
        var digits = text.filter { (48...57).contains($0) }.map { $0 - 48 }
        var point = whole.count
        let leading = digits.prefix { $0 == 0 }.count
        digits.removeFirst(leading)
        point -= leading
        while digits.last == 0 { digits.removeLast() }
        return (digits, point)
    }
}
