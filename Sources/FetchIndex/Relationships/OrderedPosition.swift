/// Positions of objects in an ordered relationship. A position is a byte string. Up to a maximum length, another one
/// fits between two different positions, so an insertion seldom changes the positions of other objects.
///
/// A position consists of a number of six bytes, big-endian, and a fraction of up to 58 bytes, the last of which isn't
/// 0. An appended object gets the next number. An object between two neighbours gets a number between theirs or, if
/// their numbers leave no room, the lower neighbour's number with a fraction that sorts between them. The scheme is
/// David Greenspan's "Implementing Fractional Indexing" (2020) with numbers of fixed length.
enum OrderedPosition {
    private static let numberLength = 6
    /// The maximum length of a position in bytes. If an object needs a longer position, all objects of the relationship
    /// get new positions instead.
    static let greatestLength = 64

    private static func bytes(_ number: UInt64) -> [UInt8] {
        (0..<numberLength).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * (numberLength - 1 - $0))) }
    }

    private static func number(_ position: [UInt8]) -> UInt64 {
        position.prefix(numberLength).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The position of the object at an index, if all objects get new positions.
    static func position(at index: Int) -> [UInt8] { bytes(1 << 40 + UInt64(index)) }

    /// The position that a number of another program stands for. Greater numbers than 2^47 are one position, and so are
    /// less than -2^39.
    static func position(of order: Int64) -> [UInt8] {
        bytes(UInt64(1 << 40 + max(-1 << 39, min(order, 1 << 47))))
    }

    /// A position between two given positions; nil if none is found, for example because it would exceed the maximum
    /// length. A nil bound is open.
    static func between(_ low: [UInt8]?, _ high: [UInt8]?) -> [UInt8]? {
        let isNumber: ([UInt8]) -> Bool = { $0.count >= numberLength }
        guard low.map(isNumber) ?? true, high.map(isNumber) ?? true else { return nil }
        switch (low, high) {
        case (nil, nil): return position(at: 0)
        case (let low?, nil):
            let next = number(low) + 1
            return next < 1 << (8 * numberLength) ? bytes(next) : nil
        case (nil, let high?):
            let number = number(high)
            if high.count > numberLength { return bytes(number) }
            return number > 0 ? bytes(number - 1) : nil
        case (let low?, let high?):
            guard low.lexicographicallyPrecedes(high) else { return nil }
            let (first, last) = (number(low), number(high))
            if last - first > 1 { return bytes(first + (last - first) / 2) }
            let upper = last == first ? Array(high.dropFirst(numberLength)) : nil
            guard let fraction = fraction(Array(low.dropFirst(numberLength)), upper) else { return nil }
            let position = bytes(first) + fraction
            return position.count <= greatestLength ? position : nil
        }
    }

    /// A fraction between two given fractions; an upper bound of nil stands for 1.
    private static func fraction(_ low: [UInt8], _ high: [UInt8]?) -> [UInt8]? {
        var result: [UInt8] = []
        var isBounded = high != nil
        for index in 0...max(low.count, high?.count ?? 0) {
            let lower = index < low.count ? Int(low[index]) : 0
            var upper = 256
            if isBounded, let high { upper = index < high.count ? Int(high[index]) : 0 }
            if isBounded && lower == upper {
                result.append(UInt8(lower))
                continue
            }
            let middle = (lower + upper) / 2
            if middle > lower { return result + [UInt8(middle)] }
            // The result is now less than `high`, whatever bytes follow.
            result.append(UInt8(lower))
            isBounded = false
        }
        // The bounds' difference is too small for a fraction of this length, so another byte is appended.
        return result + [0x80]
    }
}
