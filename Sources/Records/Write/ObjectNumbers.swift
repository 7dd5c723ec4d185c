/// A set of object numbers with one bit per number: about 4 MB for ten million successive numbers.
package struct ObjectNumbers: Sendable {
    /// Words of 64 bits, by number / 64. A dictionary, since numbers may have large gaps.
    private var words: [UInt64: UInt64] = [:]

    package init() {}

    package mutating func insert(_ number: UInt64) { words[number >> 6, default: 0] |= 1 << (number & 63) }

    package func contains(_ number: UInt64) -> Bool { (words[number >> 6] ?? 0) >> (number & 63) & 1 == 1 }
}
