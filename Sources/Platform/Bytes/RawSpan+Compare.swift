public import FetchIndexCLibrary

// Measured: without `@inlinable`, text comparisons in a scan take longer, and so do saves.
extension RawSpan {
    /// Compares two byte strings by memcmp; a prefix is less than a longer string. Returns a negative number, zero or a
    /// positive number.
    @inlinable
    package func compare(_ other: RawSpan) -> Int {
        let difference = withUnsafeBytes { left in
            other.withUnsafeBytes { right in
                guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return 0 }
                return Int(memcmp(leftBase, rightBase, Swift.min(left.count, right.count)))
            }
        }
        return difference != 0 ? difference : byteCount - other.byteCount
    }

    @inlinable
    package func isEqual(to other: RawSpan) -> Bool { byteCount == other.byteCount && compare(other) == 0 }

    /// The length of the common prefix of two byte strings.
    @inlinable
    package func commonPrefixLength(_ other: RawSpan) -> Int {
        let shorter = Swift.min(byteCount, other.byteCount)
        var words = 0
        while words + 8 <= shorter {
            let difference =
                unsafeLoadUnaligned(fromByteOffset: words, as: UInt64.self)
                ^ other.unsafeLoadUnaligned(fromByteOffset: words, as: UInt64.self)
            if difference != 0 { return words + UInt64(littleEndian: difference).trailingZeroBitCount / 8 }
            words += 8
        }
        if shorter >= 8 {
            // The last word overlaps bytes that were already found equal.
            let difference =
                unsafeLoadUnaligned(fromByteOffset: shorter - 8, as: UInt64.self)
                ^ other.unsafeLoadUnaligned(fromByteOffset: shorter - 8, as: UInt64.self)
            if difference == 0 { return shorter }
            return shorter - 8 + UInt64(littleEndian: difference).trailingZeroBitCount / 8
        }
        for offset in words..<shorter
        where unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            != other.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
        {
            return offset
        }
        return shorter
    }
}
