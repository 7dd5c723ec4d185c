/// How many bytes each of a node's keys shares with its base, given how many it shares with the key before. Keys ascend,
/// so it is the least of these numbers, from the key after the base on.
struct SharedLengths {
    /// `lengths[bit]`: what the latest key whose number has this bit as its lowest one shares with its base.
    private var lengths = [UInt16](repeating: 0, count: 32)
    private var count = 0

    init() {}

    /// Of so many keys, given what each shares with its base.
    init(count: Int, sharedLength: (_ number: Int) throws -> Int) rethrows {
        self.count = count
        var number = count - 1
        while number > 0 {
            lengths[number.trailingZeroBitCount] = UInt16(truncatingIfNeeded: try sharedLength(number))
            number &= number - 1
        }
    }

    /// What the next key would share with its base. O(1) amortized.
    @inline(__always)
    func next(_ withKeyBefore: Int) -> Int {
        if count == 0 { return 0 }
        var length = UInt16(truncatingIfNeeded: withKeyBefore)
        for bit in 0..<count.trailingZeroBitCount { length = min(length, lengths[bit]) }
        return Int(length)
    }

    /// The same for a key that is added.
    @inline(__always)
    mutating func append(_ withKeyBefore: Int) -> Int {
        let length = next(withKeyBefore)
        if count > 0 { lengths[count.trailingZeroBitCount] = UInt16(truncatingIfNeeded: length) }
        count += 1
        return length
    }
}
