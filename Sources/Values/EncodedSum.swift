internal import Bytes
package import SystemBasics

/// A sum as `ExactSum.take` wrote it, read in place.
package struct EncodedSum: ~Escapable {
    private let base: ExactSum.Base
    private let limbs: RawSpan
    private let first: Int
    private let isNegative: Bool
    private let special: ExactSum.Special

    /// Of bytes that are a whole sum: see `ExactSum.length(ofFirst:)`.
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

    /// From the lowest on; 0 below it.
    private func limb(_ index: Int) -> UInt64 {
        index < 0
            ? 0 : UInt64(UInt32(littleEndian: limbs.unsafeLoadUnaligned(fromByteOffset: 4 * index, as: UInt32.self)))
    }

    /// Rounded once, to the nearest double. Of a binary sum.
    package var double: Double {
        if !special.isEmpty {
            return special == .infinity ? .infinity : special == .negativeInfinity ? -.infinity : .nan
        }
        if count == 0 { return 0 }
        // The 64 highest bits, the lowest of them set when any below it is: rounding them to 53 is rounding the sum.
        let last = count - 1
        let shift = UInt64(UInt32(truncatingIfNeeded: limb(last)).leadingZeroBitCount)
        var bits = (limb(last) << 32 | limb(last - 1)) << shift
        bits |= (limb(last - 2) << shift) >> 32
        var isInexact = limb(last - 2) << (32 + shift) != 0
        for index in 0..<max(0, last - 2) where limb(index) != 0 { isInexact = true }
        if isInexact { bits |= 1 }
        let exponent = base.scale + 32 * (first + count) - Int(shift) - 64
        return Double(sign: isNegative ? .minus : .plus, exponent: exponent, significand: Double(bits))
    }

    /// Of integers; nil when it is none of 64 bits.
    package var integer: Int64? {
        let zero = -base.scale / 32
        guard count + first <= zero + 2, count == 0 || first >= zero else { return nil }
        var magnitude: UInt64 = 0
        for index in 0..<count { magnitude |= limb(index) << UInt64(32 * (first - zero + index)) }
        return isNegative
            ? (magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil) : Int64(exactly: magnitude)
    }

    /// Of integers or decimals, rounded to the 38 digits of a decimal.
    package var decimal: Decimal {
        if count == 0 { return 0 }
        let magnitude = base == .decimal ? decimalMagnitude : integerMagnitude
        return isNegative ? -magnitude : magnitude
    }

    /// Sums of 2^40 integers take 103 bits: all 31 digits are exact.
    private var integerMagnitude: Decimal {
        var sum: Decimal = 0
        for index in 0..<count { sum = sum * Decimal(base.value) + Decimal(limb(count - 1 - index)) }
        for _ in 0..<max(0, first + base.scale / 32) { sum *= Decimal(base.value) }
        return sum
    }

    private var decimalMagnitude: Decimal {
        var digits = ""
        for index in 0..<count {
            let text = String(limb(count - 1 - index))
            digits += String(repeating: "0", count: 9 - text.count) + text
        }
        var exponent = base.scale + 9 * first
        digits = String(digits.drop { $0 == "0" })
        while digits.last == "0" {
            digits.removeLast()
            exponent += 1
        }
        var isRoundedUp = false
        if digits.count > 38 {
            isRoundedUp = digits[digits.index(digits.startIndex, offsetBy: 38)] >= "5"
            exponent += digits.count - 38
            digits = String(digits.prefix(38))
        }
        let rounded = Decimal(string: "\(digits)e\(exponent)") ?? .nan
        return isRoundedUp ? rounded + (Decimal(string: "1e\(exponent)") ?? .nan) : rounded
    }
}
