/// A set of the numbers 0 to count - 1.
struct BitSet {
    private(set) var words: [UInt64]

    init(count: Int) { words = [UInt64](repeating: 0, count: (count + 63) >> 6) }

    func contains(_ number: Int) -> Bool { words[number >> 6] & 1 << UInt64(number & 63) != 0 }

    mutating func insert(_ number: Int) { words[number >> 6] |= 1 << UInt64(number & 63) }

    /// Whether the set has a number in a range. O(length of the range / 64).
    func hasAny(in range: Range<Int>) -> Bool {
        if range.isEmpty { return false }
        let (first, last) = (range.lowerBound >> 6, (range.upperBound - 1) >> 6)
        let from = UInt64.max << UInt64(range.lowerBound & 63)
        let through = UInt64.max >> UInt64(63 - (range.upperBound - 1) & 63)
        if first == last { return words[first] & from & through != 0 }
        if words[first] & from != 0 || words[last] & through != 0 { return true }
        return words[first + 1..<last].contains { $0 != 0 }
    }

    /// Calls the body with the numbers in the set, in ascending order.
    func forEach(_ body: (Int) throws -> Void) rethrows {
        for (index, word) in words.enumerated() where word != 0 {
            var rest = word
            while rest != 0 {
                try body(index << 6 + rest.trailingZeroBitCount)
                rest &= rest - 1
            }
        }
    }
}

/// A set whose elements can be counted up to a number in O(1).
struct RankedBitSet {
    private let set: BitSet
    /// For each word, the number of elements in the words before it.
    private let before: [UInt32]

    init(_ set: BitSet) {
        self.set = set
        var count: UInt32 = 0
        before = set.words.map { word in
            defer { count += UInt32(word.nonzeroBitCount) }
            return count
        }
    }

    /// The number of elements less than `number`.
    func rank(of number: Int) -> Int {
        let bits = set.words[number >> 6] & ~(UInt64.max << UInt64(number & 63))
        return Int(before[number >> 6]) + bits.nonzeroBitCount
    }
}
