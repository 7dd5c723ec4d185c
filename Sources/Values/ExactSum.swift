internal import FetchIndexPlatform

/// The exact sum of numbers, independent of their order and grouping.
///
/// The sum is a fixed-point number in limbs: the unit of each limb is `base` times the unit of the limb before it. A
/// limb has 64 bits for 32 bits or nine digits, so that carries can be deferred (Neal, Fast exact summation using small
/// and large superaccumulators, 2015). Integers and doubles are summed in base 2^32, decimals in base 10^9.
package struct ExactSum {
    package enum Base: Sendable {
        case binary
        case decimal

        var value: Int64 { self == .binary ? 1 << 32 : 1_000_000_000 }
        /// A number of limbs that suffices for a sum of up to 2^40 numbers: from the lowest bit of the smallest double
        /// (or the lowest digit of a decimal) to the highest bit of the sum.
        var limbCount: Int { self == .binary ? 70 : 36 }
        /// The exponent of the lowest limb's unit, as a power of 2 or 10.
        var scale: Int { self == .binary ? -34 * 32 : -15 * 9 }
    }

    private static let powersOfTen: [Int64] = [
        1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000,
    ]
    /// The number of pending additions that the limbs may hold before a normalization. Each adds less than 2^33 to a
    /// limb, so 2^28 additions don't overflow it.
    private static let mostPending = 1 << 28

    let base: Base
    private var limbs: [Int64]
    /// The indices of the limbs that may differ from zero.
    private var used: Range<Int>
    private var pending = 0
    private var special: Special = []
    /// The sum of the added integers, kept separately. 128 bits suffice for 2^40 integers.
    private var whole: Int128 = 0

    /// The infinities and NaN, which a fixed-point number can't express.
    struct Special: OptionSet {
        let rawValue: UInt8
        static let nan = Special(rawValue: 1)
        static let infinity = Special(rawValue: 2)
        static let negativeInfinity = Special(rawValue: 4)
        static let all: Special = [.nan, .infinity, .negativeInfinity]
    }

    package init(_ base: Base) {
        self.base = base
        limbs = Array(repeating: 0, count: base.limbCount)
        used = 0..<0
    }

    package mutating func removeAll() {
        for index in used { limbs[index] = 0 }
        used = 0..<0
        pending = 0
        special = []
        whole = 0
    }

    // MARK: Adding

    package mutating func add(_ value: Int64, isSubtracted: Bool = false) {
        whole += isSubtracted ? -Int128(value) : Int128(value)
    }

    /// Adds or subtracts a double. Returns false if an infinity or NaN is to be subtracted: it can't be removed from
    /// the sum.
    package mutating func add(_ value: Double, isSubtracted: Bool = false) -> Bool {
        guard value.isFinite else {
            special.insert(value.isNaN ? .nan : value < 0 ? .negativeInfinity : .infinity)
            return !isSubtracted
        }
        if value == 0 { return true }
        let exponent = value.exponentBitPattern == 0 ? 1 : Int(value.exponentBitPattern)
        let hidden: UInt64 = value.exponentBitPattern == 0 ? 0 : 1 << 52
        let isNegative = (value < 0) != isSubtracted
        add(value.significandBitPattern | hidden, isNegative: isNegative, bit: exponent - 1075 - base.scale)
        return true
    }

    /// Adds `magnitude` x 2^`bit`, where bit 0 is the lowest bit of the lowest limb.
    private mutating func add(_ magnitude: UInt64, isNegative: Bool, bit: Int) {
        let index = bit >> 5
        let shift = UInt64(bit & 31)
        let low = (magnitude & 0xFFFF_FFFF) << shift
        let high = (magnitude >> 32) << shift
        let parts = (low & 0xFFFF_FFFF, low >> 32 + high & 0xFFFF_FFFF, high >> 32)
        let sign: Int64 = isNegative ? -1 : 1
        limbs[index] += sign * Int64(truncatingIfNeeded: parts.0)
        limbs[index + 1] += sign * Int64(truncatingIfNeeded: parts.1)
        limbs[index + 2] += sign * Int64(truncatingIfNeeded: parts.2)
        use(index..<index + 3)
    }

    /// Adds 0.digits x 10^point. Returns false if a digit's place is too high or too low for the limbs.
    package mutating func add(decimalDigits digits: some Collection<UInt8>, point: Int, isNegative: Bool) -> Bool {
        var place = point - 1 - base.scale
        guard place < 9 * (base.limbCount - 2), place - digits.count >= -1 else { return false }
        for digit in digits {
            let term = Int64(digit) * Self.powersOfTen[place % 9]
            limbs[place / 9] += isNegative ? -term : term
            place -= 1
        }
        use((place + 1) / 9..<(point - 1 - base.scale) / 9 + 1)
        return true
    }

    private mutating func use(_ indices: Range<Int>) {
        used =
            used.isEmpty
            ? indices : min(used.lowerBound, indices.lowerBound)..<max(used.upperBound, indices.upperBound)
        pending += 1
        if pending > Self.mostPending { normalize() }
    }

    /// Propagates the carries. Afterwards all limbs but the highest are from 0 to less than the base, and the highest
    /// has the sign.
    private mutating func normalize() {
        pending = 0
        guard var index = used.first else { return }
        var carry: Int64 = 0
        while index < limbs.count - 1, index < used.upperBound || carry != 0 && carry != -1 {
            let sum = limbs[index] + carry
            if base == .binary {
                carry = sum >> 32
            } else {
                carry = sum / base.value
                if sum % base.value < 0 { carry -= 1 }
            }
            limbs[index] = sum - carry * base.value
            index += 1
        }
        if carry != 0 { limbs[index] += carry; index += 1 }
        used = used.lowerBound..<max(index, used.upperBound)
    }

    private mutating func spillWhole() {
        if whole == 0 { return }
        let magnitude = whole.magnitude
        let isNegative = whole < 0
        add(UInt64(truncatingIfNeeded: magnitude), isNegative: isNegative, bit: -base.scale)
        add(UInt64(truncatingIfNeeded: magnitude >> 64), isNegative: isNegative, bit: 64 - base.scale)
        whole = 0
    }

    // MARK: Bytes

    /// The maximum length of an encoded sum in bytes. A sum of integers needs only four limbs, because the magnitude of
    /// a sum of 2^40 integers is at most 2^103.
    package static func maximumLength(_ base: Base, ofIntegers: Bool) -> Int {
        3 + 4 * (ofIntegers ? 4 : base.limbCount)
    }

    /// Appends the encoded sum, and resets the sum to zero. Equal sums have equal encodings.
    ///
    ///     flags 1 (1 NaN, 2 infinity, 4 -infinity, 8 negative) | first limb 1 | limbs 1 | 4 bytes each, little-endian
    package mutating func take(to bytes: inout [UInt8]) {
        spillWhole()
        normalize()
        let isNegative = used.last.map { limbs[$0] < 0 } ?? false
        if isNegative {
            for index in used { limbs[index].negate() }
            normalize()
        }
        let first = used.first { limbs[$0] != 0 } ?? 0
        let end = used.last { limbs[$0] != 0 }.map { $0 + 1 } ?? 0
        bytes.append(special.rawValue | (isNegative ? 8 : 0))
        bytes.append(UInt8(first))
        bytes.append(UInt8(end - first))
        for index in first..<end { bytes.appendNumber(UInt32(truncatingIfNeeded: limbs[index])) }
        removeAll()
    }

    /// Adds or subtracts an encoded sum. Returns false if the bytes are malformed, or if an infinity or NaN is to be
    /// subtracted.
    package mutating func add(_ bytes: RawSpan, isSubtracted: Bool = false) -> Bool {
        guard Self.length(ofFirst: bytes, base) == bytes.byteCount else { return false }
        let flags = bytes.unsafeLoad(as: UInt8.self)
        let first = Int(bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self))
        let count = Int(bytes.unsafeLoad(fromByteOffset: 2, as: UInt8.self))
        let other = Special(rawValue: flags).intersection(.all)
        if isSubtracted && !other.isEmpty { return false }
        special.formUnion(other)
        if count == 0 { return true }
        let isNegative = (flags & 8 != 0) != isSubtracted
        for index in 0..<count {
            let raw = bytes.unsafeLoadUnaligned(fromByteOffset: 3 + 4 * index, as: UInt32.self)
            let limb = Int64(UInt32(littleEndian: raw))
            limbs[first + index] += isNegative ? -limb : limb
        }
        use(first..<first + count)
        return true
    }

    /// The length of the encoded sum that these bytes begin with; nil if they are malformed.
    package static func length(ofFirst bytes: RawSpan, _ base: Base) -> Int? {
        guard bytes.byteCount >= 3, bytes.unsafeLoad(as: UInt8.self) < 16 else { return nil }
        let first = Int(bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self))
        let count = Int(bytes.unsafeLoad(fromByteOffset: 2, as: UInt8.self))
        let length = 3 + 4 * count
        // The highest limb stays free for carries.
        guard length <= bytes.byteCount, first + count < base.limbCount else { return nil }
        if count == 0 { return length }
        func limb(_ index: Int) -> Int64 {
            let raw = bytes.unsafeLoadUnaligned(fromByteOffset: 3 + 4 * index, as: UInt32.self)
            return Int64(UInt32(littleEndian: raw))
        }
        if base == .decimal { for index in 0..<count where limb(index) >= base.value { return nil } }
        return limb(0) != 0 && limb(count - 1) != 0 ? length : nil
    }

    /// The index of the limb that counts units, in base 2^32.
    private static var unitLimb: Int { -Base.binary.scale / 32 }

    /// Fast path for most sums: decodes the sum that these bytes begin with, if it is a positive or negative integer of
    /// at most 63 bits and not a multiple of 2^32. Nil for other sums, and for malformed bytes.
    package static func smallInteger(ofFirst bytes: RawSpan) -> Int64? {
        guard bytes.byteCount >= 7 else { return nil }
        let flags = bytes.unsafeLoad(as: UInt8.self)
        // Compares the flags, the first limb's index and the count in one step, ignoring the sign flag (8).
        let head = UInt32(littleEndian: bytes.unsafeLoadUnaligned(as: UInt32.self)) & 0xFF_FFF7
        let first = UInt32(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 3, as: UInt32.self))
        var magnitude = Int64(first)
        if head == UInt32(unitLimb) << 8 | 2 << 16 {
            guard bytes.byteCount >= 11 else { return nil }
            let second = UInt32(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 7, as: UInt32.self))
            if second == 0 || second > UInt32.max >> 1 { return nil }
            magnitude |= Int64(second) << 32
        } else if head != UInt32(unitLimb) << 8 | 1 << 16 {
            return nil
        }
        if first == 0 { return nil }
        return flags & 8 != 0 ? -magnitude : magnitude
    }
}
