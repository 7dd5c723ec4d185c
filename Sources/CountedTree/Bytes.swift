#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension RawSpan {
    /// The order of two byte strings by memcmp, a prefix first: negative, zero or positive.
    package func compare(_ other: RawSpan) -> Int {
        let difference = withUnsafeBytes { left in
            other.withUnsafeBytes { right in
                guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return 0 }
                return Int(memcmp(leftBase, rightBase, Swift.min(left.count, right.count)))
            }
        }
        return difference != 0 ? difference : byteCount - other.byteCount
    }

    /// How many bytes two byte strings have in common at their start.
    func commonPrefixLength(_ other: RawSpan) -> Int {
        let shorter = Swift.min(byteCount, other.byteCount)
        for offset in 0..<shorter
        where unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            != other.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
        {
            return offset
        }
        return shorter
    }
}

extension [UInt8] {
    package init(_ bytes: RawSpan) { self = bytes.withUnsafeBytes { [UInt8]($0) } }

    mutating func append(contentsOf bytes: RawSpan) { bytes.withUnsafeBytes { append(contentsOf: $0) } }

    mutating func appendLittleEndian<Number: FixedWidthInteger>(_ number: Number) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    /// Overwrites eight bytes.
    mutating func replaceLittleEndian(_ number: UInt64, at offset: Int) {
        withUnsafeMutableBytes { $0.storeBytes(of: number.littleEndian, toByteOffset: offset, as: UInt64.self) }
    }
}
