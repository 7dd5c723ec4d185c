/// How many bytes each of a node's keys shares with its base, given how many it shares with the key before. Keys ascend,
/// so it is the least of these numbers, from the key after the base on.
struct SharedLengths {
    /// For each bit, what the latest key whose number has it as its lowest one shares with its base. They are read and written in
    /// memory: an array costs an allocation, and a lane of a register is slow to reach.
    private var lengths = SIMD32<UInt16>()
    private var count = 0

    init() {}

    /// Of so many keys, given what each shares with its base.
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

    /// What the next key would share with its base. O(1) amortized.
    @inline(__always)
    func next(_ withKeyBefore: Int) -> Int {
        withUnsafeBytes(of: lengths) { Int(Self.next(withKeyBefore, count, $0)) }
    }

    /// The same for a key that is added.
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
