/// Copies and compares short byte strings in whole words, so padding must follow the bytes. The functions are inlined,
/// to save a call per string.
enum PaddedBytes {
    /// The length of the padding that must follow both the source and the target of a copy, and compared bytes.
    static let padding = 32

    /// Copies `count` bytes, and up to 32 bytes after them.
    @inline(__always)
    static func copy(_ count: Int, from source: UnsafeRawPointer, to target: UnsafeMutableRawPointer) {
        var offset = 0
        repeat {
            (target + offset).storeBytes(
                of: (source + offset).loadUnaligned(as: SIMD4<UInt64>.self), as: SIMD4<UInt64>.self)
            offset &+= 32
        } while offset < count
    }

    /// The length of the common prefix of two byte strings, at most `limit`.
    @inline(__always)
    static func commonPrefixLength(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, upTo limit: Int) -> Int {
        var offset = 0
        while offset < limit {
            let difference =
                (left + offset).loadUnaligned(as: UInt64.self) ^ (right + offset).loadUnaligned(as: UInt64.self)
            if difference != 0 {
                return min(limit, offset &+ UInt64(littleEndian: difference).trailingZeroBitCount / 8)
            }
            offset &+= 8
        }
        return limit
    }
}
