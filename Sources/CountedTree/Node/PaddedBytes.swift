/// Bytes with some room behind them are copied and compared in whole words, since a call for each few bytes would cost more than they do.
enum PaddedBytes {
    /// How many bytes there must be behind those that are copied, at both places, and behind those that are compared.
    static let padding = 32

    /// Copies so many bytes, and up to 32 more.
    @inline(__always)
    static func copy(_ count: Int, from source: UnsafeRawPointer, to target: UnsafeMutableRawPointer) {
        var offset = 0
        repeat {
            (target + offset).storeBytes(
                of: (source + offset).loadUnaligned(as: SIMD4<UInt64>.self), as: SIMD4<UInt64>.self)
            offset &+= 32
        } while offset < count
    }

    /// How many bytes are the same at the start of two byte strings, so many of them at most.
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
