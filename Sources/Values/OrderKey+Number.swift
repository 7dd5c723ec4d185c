internal import FetchIndexEssentials

/// A decimal read from an `OrderKey`: 0.digits x 10^point.
package struct KeyDecimal {
    package let isNegative: Bool
    package let digits: [UInt8]
    package let point: Int

    /// The decimal; nil if `Decimal` can't hold it.
    var value: Decimal? {
        if digits.isEmpty { return 0 }
        let text = digits.map { String($0) }.joined()
        return Decimal(string: "\(isNegative ? "-" : "")\(text)e\(point - digits.count)")
    }
}

extension OrderKey {
    /// A number that sorts like the key, if the key is exactly one ascending integer, double or date; nil for other
    /// keys.
    package static func orderBits(in key: RawSpan) -> UInt64? {
        guard key.byteCount == 9, hasType(.integer, key) || hasType(.double, key) || hasType(.date, key) else {
            return nil
        }
        return UInt64(bigEndian: key.unsafeLoadUnaligned(fromByteOffset: 1, as: UInt64.self))
    }

    /// The order bits of a double, or of a date in seconds since 2001.
    package static func orderBits(of value: Double) -> UInt64 {
        let bits = value.isNaN ? Double.nan.bitPattern : (value == 0 ? 0 : value.bitPattern)
        return bits >> 63 == 1 ? ~bits : bits | 1 << 63
    }

    /// Decodes the order bits of an integer.
    package static func integer(_ bits: UInt64) -> Int64 { Int64(bitPattern: bits ^ (1 << 63)) }

    /// Decodes the order bits of a double, or of a date in seconds since 2001.
    package static func double(_ bits: UInt64) -> Double {
        Double(bitPattern: bits >> 63 == 1 ? bits & ~(1 << 63) : ~bits)
    }

    /// Decodes a key of exactly one ascending value. Returns nil if the value isn't a decimal, or if its digits are
    /// malformed.
    package static func decimal(in key: RawSpan) -> KeyDecimal? {
        guard hasType(.decimal, key), key.byteCount >= 2 else { return nil }
        let sign = key.unsafeLoad(fromByteOffset: 1, as: UInt8.self)
        if sign == 0x80 { return KeyDecimal(isNegative: false, digits: [], point: 0) }
        guard key.byteCount > 5 else { return nil }
        let flip: UInt8 = sign < 0x80 ? 0xFF : 0
        func byte(_ offset: Int) -> UInt8 { key.unsafeLoad(fromByteOffset: offset, as: UInt8.self) ^ flip }
        var digits: [UInt8] = []
        digits.reserveCapacity(key.byteCount - 5)
        for offset in 4..<key.byteCount - 1 {
            guard (1...10).contains(byte(offset)) else { return nil }
            digits.append(byte(offset) - 1)
        }
        let point = Int(byte(2)) << 8 + Int(byte(3)) - 32_768
        return KeyDecimal(isNegative: sign < 0x80, digits: digits, point: point)
    }
}
