/// Computes the length of the prefix that each key of a node shares with the key's base, an earlier key of the node
/// (`NodeLayout`). The input is the length that each key shares with the key before it. Because keys ascend, the result
/// for a key is the minimum of these lengths over all keys after the base, up to and including the key itself.
struct SharedLengths {
    /// For each bit that later keys need: the length that a key shares with its base, for the latest key whose number
    /// has this bit as its lowest set bit. The vector is accessed as memory: an array would cost an allocation, and a
    /// single lane of a register is slow to access.
    private var lengths = SIMD32<UInt16>()
    private var count = 0

    init() {}

    /// Creates the state after `count` keys. `sharedLength` returns the length that a key shares with its base.
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

    /// The length that the next key would share with its base, if it shares `withKeyBefore` bytes with the key before
    /// it.
    @inline(__always)
    func next(_ withKeyBefore: Int) -> Int {
        withUnsafeBytes(of: lengths) { Int(Self.next(withKeyBefore, count, $0)) }
    }

    /// Adds a key that shares `withKeyBefore` bytes with the key before it. Returns the length that the key shares with
    /// its base. O(1) amortized.
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
