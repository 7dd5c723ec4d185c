internal import FetchIndexCLibrary
internal import FetchIndexEssentials
internal import FetchIndexPlatform

/// The values of a key as bytes in memcmp order, one value after the other.
///
///     null     02
///     boolean  03 | 0 or 1
///     integer  04 | 8 bytes big-endian, sign bit flipped
///     double   05 | 8 bytes big-endian, sign bit flipped; if negative, all bits flipped
///     decimal  06 | sign 1 | [point 2 | digits + 1 | 00]; if negative, all bits after the tag are flipped
///     date     07 | seconds since 2001 as a double
///     string   08 | UTF-8 or a collation key, 00 written as 00 FF | 00 01
///     data     09 | like string
///     uuid     0A | 16 bytes
///     url      0B | like string
///
/// Descending order flips every bit, so that null comes last. The encoding is prefix-free: a value's bytes aren't the
/// beginning of another value's, so values are compared before the bytes that follow them. The scheme follows
/// FoundationDB's tuple encoding, with descending order added.
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

    /// Appends a double, or a date's seconds since 2001. -0 counts as 0; NaN comes last.
    package static func appendDouble(_ value: Double, as type: ValueType, to key: inout [UInt8]) {
        key.append(tag(type))
        key.appendBigEndian(orderBits(of: value))
    }

    /// Appends the bytes of a string, a collation key, data or a URL.
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
        case .uuid(let value): withUnsafeBytes(of: value.uuid) { appendUUID($0.bytes, to: &key) }
        case .url(let value): appendBytes(Array(value.absoluteString.utf8).span.bytes, as: .url, to: &key)
        }
    }

    /// Inverts all bytes starting at an offset, for descending order.
    package static func reverse(_ key: inout [UInt8], from offset: Int) {
        for index in offset..<key.count { key[index] = ~key[index] }
    }

    /// Appends a UUID, given as its 16 bytes.
    package static func appendUUID(_ bytes: RawSpan, to key: inout [UInt8]) {
        key.append(tag(.uuid))
        bytes.withUnsafeBytes { key.append(contentsOf: $0) }
    }

    // The limits of `Decimal`: digits, positions of the point, bytes of its description.
    private static let mostDigits = 39
    private static let points = -127...166
    private static let longestDecimal = 170

    private static func appendDecimal(_ value: Decimal, to key: inout [UInt8]) {
        var text = value.description
        let isNumber = text.withUTF8 { appendDecimal(UnsafeRawBufferPointer($0).bytes, to: &key) }
        if !isNumber { key += [tag(.decimal), 0x80] }
    }

    /// Appends a decimal given in the form of `Decimal.description`. If the bytes aren't a decimal, or exceed the
    /// digits or range of `Decimal`, returns false and leaves the key as it was.
    package static func appendDecimal(_ text: RawSpan, to key: inout [UInt8]) -> Bool {
        guard text.byteCount <= longestDecimal else { return false }
        let start = key.count
        // The value is 0.digits x 10^point. The two bytes before the digits encode `point` + 32,768; they are filled in
        // at the end.
        key += [tag(.decimal), 0x81, 0, 0]
        let isNegative = text.byteCount > 0 && text.unsafeLoad(as: UInt8.self) == 45
        let found = appendDigits(of: text, from: isNegative ? 1 : 0, to: &key)
        if found != nil && key.count == start + 4 {
            key.removeLast(3)
            key.append(0x80)
            return true
        }
        guard let point = found, key.count - start - 4 <= mostDigits, points.contains(point) else {
            key.removeLast(key.count - start)
            return false
        }
        key[start + 2] = UInt8(truncatingIfNeeded: (point + 32_768) >> 8)
        key[start + 3] = UInt8(truncatingIfNeeded: point + 32_768)
        key.append(0)
        if isNegative { reverse(&key, from: start + 1) }
        return true
    }

    /// Appends the significant digits of a decimal. Returns the point; nil if the text isn't a decimal.
    private static func appendDigits(of text: RawSpan, from first: Int, to key: inout [UInt8]) -> Int? {
        let start = key.count
        var point = 0
        var isNumber = false
        var isBehindPoint = false
        for offset in first..<text.byteCount {
            let byte = text.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            switch byte {
            case 46 where !isBehindPoint: isBehindPoint = true
            case 48 where key.count == start:
                isNumber = true
                if isBehindPoint { point -= 1 }
            case 48...57:
                isNumber = true
                if !isBehindPoint { point += 1 }
                key.append(byte - 47)
            default: return nil
            }
        }
        while key.count > start, key.last == 1 { key.removeLast() }
        return isNumber ? point : nil
    }
}

extension OrderKey {
    // MARK: Reading ascending keys

    /// The length in bytes of the first value of an ascending key; nil if it's malformed.
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

    /// The first value of an ascending key and its length in bytes; nil if it's malformed.
    package static func first(in key: RawSpan) -> (value: Value, length: Int)? {
        if let text = plainText(in: key) { return (.string(text), text.utf8.count + 3) }
        guard let length = lengthOfFirst(in: key) else { return nil }
        let bytes = key.extracting(0..<length).withUnsafeBytes { [UInt8]($0) }
        guard bytes[0] != nullTag, let type = ValueType(rawValue: bytes[0] - 2) else { return (.null, length) }
        return value(of: type, bytes).map { ($0, length) }
    }

    /// Fast path for nearly all texts: decodes the text that a key begins with; nil if `lengthOfFirst` and `value` must
    /// decode the key.
    private static func plainText(in key: RawSpan) -> String? {
        guard key.byteCount > 3, key.unsafeLoad(as: UInt8.self) == tag(.string) else { return nil }
        return key.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, let zero = memchr(start + 1, 0, bytes.count - 2) else { return nil }
            let length = UnsafeRawPointer(zero) - start - 1
            guard length > 0, bytes[length + 2] == 1 else { return nil }
            let text = String(decoding: bytes[1...length], as: UTF8.self)
            return text.utf8.count == length ? text : nil
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
        case .uuid: return UUID(copying: payload.span.bytes).map(Value.uuid)
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
