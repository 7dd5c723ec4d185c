public import CFetchIndexXXHash

extension RawSpan {
    /// The checksum of stored bytes: the low half of XXH3-64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
    @inlinable
    package var checksum: UInt32 {
        withUnsafeBytes { UInt32(truncatingIfNeeded: fi_xxh3($0.baseAddress, $0.count)) }
    }

    /// The XXH3-64 hash of the bytes.
    @inlinable
    package var hash: UInt64 { withUnsafeBytes { fi_xxh3($0.baseAddress, $0.count) } }

    /// Whether the last four bytes are the checksum of the bytes before them, XORed with `other`.
    @inlinable @inline(__always)
    package func endsWithChecksum(mixedWith other: UInt32 = 0) -> Bool {
        let end = byteCount - 4
        guard end >= 0 else { return false }
        let stored = unsafeLoadUnaligned(fromByteOffset: end, as: UInt32.self)
        return UInt32(littleEndian: stored) == extracting(first: end).checksum ^ other
    }
}

extension [UInt8] {
    /// Appends the checksum of the bytes, XORed with `other`: for example the checksum of the key under which the bytes
    /// are stored.
    @inlinable
    package mutating func appendChecksum(with other: UInt32 = 0) {
        let checksum = withUnsafeBytes { $0.bytes.checksum }
        appendNumber(checksum ^ other)
    }
}
