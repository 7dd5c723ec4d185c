package import FetchIndexEssentials

/// An encoded sum that is read in place. `ExactSum.take` writes the encoding.
package struct EncodedSum: ~Escapable {
    private let base: ExactSum.Base
    private let limbs: RawSpan
    private let first: Int
    private let isNegative: Bool
    private let special: ExactSum.Special

    /// Reads the encoding of exactly one sum, whose length `ExactSum.length(ofFirst:)` has checked.
    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan, _ base: ExactSum.Base) {
        self.base = base
        let flags = bytes.unsafeLoad(as: UInt8.self)
        isNegative = flags & 8 != 0
        special = ExactSum.Special(rawValue: flags).intersection(.all)
        first = Int(bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self))
        limbs = bytes.extracting(3..<bytes.byteCount)
    }

    private var count: Int { limbs.byteCount / 4 }

    /// The limb at an index that counts from the lowest stored limb; 0 for a negative index.
    private func limb(_ index: Int) -> UInt64 {
        index < 0
            ? 0 : UInt64(UInt32(littleEndian: limbs.unsafeLoadUnaligned(fromByteOffset: 4 * index, as: UInt32.self)))
    }

    /// The sum as a double, rounded once to the nearest. For binary sums.
    package var double: Double {
        if let specialDouble { return specialDouble }
        let highest = highestBits
        return nearestDouble(highest.bits, exponent: highest.exponent, isInexact: highest.isInexact)
    }

    private var specialDouble: Double? {
        if special.isEmpty { return nil }
        return special == .infinity ? .infinity : special == .negativeInfinity ? -.infinity : .nan
    }

    /// The 128 highest bits, beginning with the highest set bit; the exponent of the lowest of them, as a power of two;
    /// and whether any bit below them is set. For binary sums.
    private var highestBits: (bits: UInt128, exponent: Int, isInexact: Bool) {
        if count == 0 { return (0, 0, false) }
        var bits: UInt128 = 0
        for index in 1...4 { bits = bits << 32 | UInt128(limb(count - index)) }
        let shift = bits.leadingZeroBitCount
        let next = limb(count - 5) << UInt64(shift)
        bits = bits << shift | UInt128(next >> 32)
        var isInexact = UInt32(truncatingIfNeeded: next) != 0
        for index in 0..<max(0, count - 5) where limb(index) != 0 { isInexact = true }
        return (bits, base.scale + 32 * (first + count - 4) - shift, isInexact)
    }

    /// The double nearest to `bits` x 2^`exponent`; `isInexact` means that lower bits were cut off.
    private func nearestDouble(_ bits: UInt128, exponent: Int, isInexact: Bool) -> Double {
        if bits == 0 { return 0 }
        let shift = bits.leadingZeroBitCount
        let bits = bits << shift
        // Keeps the 64 highest bits, and sets the lowest of them if any lower bit was set. Rounding them to 53 bits
        // gives the same result as rounding all bits.
        var highest = UInt64(truncatingIfNeeded: bits >> 64)
        if isInexact || UInt64(truncatingIfNeeded: bits) != 0 { highest |= 1 }
        let scale = exponent - shift + 64
        // The smallest doubles are multiples of 2^-1074 and have fewer than 53 bits.
        let dropped = -1074 - scale
        let magnitude =
            dropped > 11
            ? Double(bitPattern: Self.shiftedRight(highest, by: dropped))
            : Double(sign: .plus, exponent: scale, significand: Double(highest))
        return isNegative ? -magnitude : magnitude
    }

    /// Shifts right and rounds to the nearest whole number, a half to the even one.
    private static func shiftedRight(_ bits: UInt64, by count: Int) -> UInt64 {
        if count > 64 { return 0 }
        let quotient = count == 64 ? 0 : bits >> UInt64(count)
        let half: UInt64 = 1 << UInt64(count - 1)
        let rest = bits & (half << 1 &- 1)
        return quotient + (rest > half || rest == half && quotient % 2 == 1 ? 1 : 0)
    }

    /// The sum divided by a divisor of at most 2^40, rounded once. For binary sums.
    package func double(dividedBy divisor: Int) -> Double {
        if let specialDouble { return specialDouble }
        let highest = highestBits
        // The quotient has at least 87 significant bits; the remainder shows whether it's inexact.
        let divisor = UInt64(divisor)
        let high = UInt64(truncatingIfNeeded: highest.bits >> 64).quotientAndRemainder(dividingBy: divisor)
        let low = divisor.dividingFullWidth((high.remainder, UInt64(truncatingIfNeeded: highest.bits)))
        return nearestDouble(
            UInt128(high.quotient) << 64 | UInt128(low.quotient), exponent: highest.exponent,
            isInexact: highest.isInexact || low.remainder != 0)
    }

    /// Divides the limbs. Returns the quotient's limbs, lowest first, without leading zeros, and with `moreLimbs` limbs
    /// of fraction. For decimal sums.
    private func quotient(_ divisor: Int, moreLimbs: Int) -> [UInt32] {
        var limbs = [UInt32](repeating: 0, count: count + moreLimbs)
        let divisor = UInt64(divisor)
        var remainder: UInt64 = 0
        for index in limbs.indices.reversed() {
            // The remainder is less than the divisor, so the quotient is less than the base.
            let product = remainder.multipliedFullWidth(by: UInt64(base.value))
            let (low, hasCarry) = product.low.addingReportingOverflow(limb(index - moreLimbs))
            let part = divisor.dividingFullWidth((high: product.high + (hasCarry ? 1 : 0), low: low))
            limbs[index] = UInt32(truncatingIfNeeded: part.quotient)
            remainder = part.remainder
        }
        while limbs.last == 0 { limbs.removeLast() }
        return limbs
    }

    /// The sum as an integer; nil if it needs more than 64 bits. For sums of integers.
    package var integer: Int64? {
        let zero = -base.scale / 32
        guard count + first <= zero + 2, count == 0 || first >= zero else { return nil }
        var magnitude: UInt64 = 0
        for index in 0..<count { magnitude |= limb(index) << UInt64(32 * (first - zero + index)) }
        return isNegative
            ? (magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil) : Int64(exactly: magnitude)
    }

    /// The sum as a decimal, rounded to the precision of `Decimal`. For sums of integers or decimals.
    package var decimal: Decimal {
        if count == 0 { return 0 }
        let magnitude =
            base == .decimal
            ? Self.decimal((0..<count).map { UInt32(truncatingIfNeeded: limb($0)) }, base.scale + 9 * first)
            : integerMagnitude
        return isNegative ? -magnitude : magnitude
    }

    /// The sum divided by a divisor of at most 2^40, rounded once. For decimal sums.
    package func decimal(dividedBy divisor: Int) -> Decimal {
        // The division removes at most two limbs, and 38 digits need five more: seven in all.
        let magnitude = Self.decimal(quotient(divisor, moreLimbs: 7), base.scale + 9 * (first - 7))
        return isNegative ? -magnitude : magnitude
    }

    /// The magnitude of a sum of integers. It's exact: for 2^40 integers it's at most 2^103, so it has at most 32
    /// digits.
    private var integerMagnitude: Decimal {
        var sum: Decimal = 0
        for index in 0..<count { sum = sum * Decimal(base.value) + Decimal(limb(count - 1 - index)) }
        for _ in 0..<max(0, first + base.scale / 32) { sum *= Decimal(base.value) }
        return sum
    }

    /// The greatest mantissa of a decimal: 2^128 - 1.
    private static let greatestMantissa = "340282366920938463463374607431768211455"
    /// The smallest exponent of a decimal.
    private static let smallestExponent = -128

    /// Converts decimal limbs, lowest first, to a decimal. The unit of the lowest digit is 10^lowest. Rounds half up.
    private static func decimal(_ limbs: [UInt32], _ lowest: Int) -> Decimal {
        var digits = limbs.reversed().map { limb in
            let text = String(limb)
            return String(repeating: "0", count: max(0, 9 - text.count)) + text
        }.joined()
        digits = String(digits.drop { $0 == "0" })
        var exponent = lowest
        while digits.last == "0" {
            digits.removeLast()
            exponent += 1
        }
        let most = digits.count == 39 && digits <= greatestMantissa ? 39 : 38
        let dropped = max(digits.count - most, smallestExponent - exponent)
        guard dropped > 0 else { return Decimal(string: "\(digits)e\(exponent)") ?? (digits.isEmpty ? 0 : .nan) }
        if dropped > digits.count { return 0 }
        let kept = digits.dropLast(dropped)
        let isRoundedUp = digits[kept.endIndex] >= "5"
        let magnitude = Decimal(string: "\(kept.isEmpty ? "0" : kept)e\(exponent + dropped)") ?? .nan
        return isRoundedUp ? magnitude + (Decimal(string: "1e\(exponent + dropped)") ?? .nan) : magnitude
    }
}
