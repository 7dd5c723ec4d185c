/// A set of object numbers with one bit per number: about 4 MB for ten million successive numbers.
package struct ObjectNumbers: Sendable {
    /// Words of 64 bits, by number / 64. A dictionary, since numbers may have large gaps.
    private var words: [UInt64: UInt64] = [:]

    package init() {}

    package mutating func insert(_ number: UInt64) { words[number >> 6, default: 0] |= 1 << (number & 63) }

    /// Calls the body with the numbers, in any order.
    package func forEach(_ body: (UInt64) throws -> Void) rethrows {
        for (index, word) in words {
            var rest = word
            while rest != 0 {
                try body(index << 6 | UInt64(rest.trailingZeroBitCount))
                rest &= rest - 1
            }
        }
    }

    package func contains(_ number: UInt64) -> Bool { (words[number >> 6] ?? 0) >> (number & 63) & 1 == 1 }
}
