/// Computes the length that each of a node's keys shares with its base from the lengths that keys share with the key
/// before. Keys ascend, so it's the minimum of these lengths over the keys behind the base.
struct SharedLengths {
    /// For each bit, the length that a key shares with its base: the latest key in whose number it is the lowest set
    /// bit. Read and written in memory: an array costs an allocation, and a lane of a register is slow to reach.
    private var lengths = SIMD32<UInt16>()
    private var count = 0

    init() {}

    /// The state after `count` keys, given the length that each shares with its base.
    init(count: Int, sharedLength: (_ number: Int) throws -> Int) rethrows {
        self.count = count
        var number = count - 1
        while number > 0 {
            let length = UInt16(truncatingIfNeeded: try sharedLength(number))
            withUnsafeMutableBytes(of: &lengths) {
                $0.storeBytes(of: length, toByteOffset: 2 * number.trailingZeroBitCount, as: UInt16.self)
            }
            number &= number - 1
        }
    }

    /// The length that the next key would share with its base. O(1) amortized.
    @inline(__always)
    func next(_ withKeyBefore: Int) -> Int {
        withUnsafeBytes(of: lengths) { Int(Self.next(withKeyBefore, count, $0)) }
    }

    /// Adds a key; returns the length that it shares with its base. O(1) amortized.
    @inline(__always)
    mutating func append(_ withKeyBefore: Int) -> Int {
        let length = withUnsafeMutableBytes(of: &lengths) { lengths in
            let length = Self.next(withKeyBefore, count, UnsafeRawBufferPointer(lengths))
            if count > 0 {
                lengths.storeBytes(of: length, toByteOffset: 2 * count.trailingZeroBitCount, as: UInt16.self)
            }
            return Int(length)
        }
        count &+= 1
        return length
    }

    @inline(__always)
    private static func next(_ withKeyBefore: Int, _ count: Int, _ lengths: UnsafeRawBufferPointer) -> UInt16 {
        if count == 0 { return 0 }
        var length = UInt16(truncatingIfNeeded: withKeyBefore)
        for bit in 0..<count.trailingZeroBitCount {
            length = min(length, lengths.load(fromByteOffset: 2 * bit, as: UInt16.self))
        }
        return length
    }
}
