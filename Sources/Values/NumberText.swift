internal import FetchIndexCLibrary

/// A number parsed from text: a sign, digits with a point, and an exponent. All digits are kept, so that a caller can
/// check whether a value of a type would have the same digits.
///
///     -  0 0 1 2 . 5 0  e  - 3
///            ^   ^         significant digits 1 2 5; the unit of the last one is 10^(-1 - 3)
package struct NumberText {
    package let isNegative: Bool
    /// Whether the number has the form of numbers in most files: no leading plus, no needless leading zeros, digits on
    /// both sides of a point. An exponent needs a point before it or a sign after its e, because 12E4 may be a code.
    package let isPlain: Bool
    /// The number of significant digits, without leading and trailing zeros; 0 for zero.
    package let significantCount: Int
    /// The power of ten of the last significant digit; 0 for zero.
    package let lastPower: Int
    private let text: UnsafeRawBufferPointer
    /// The offset of the first significant digit; -1 for zero.
    private let start: Int

    /// The maximum number of significant digits that `Decimal` can always represent.
    package static let mostDecimalDigits = 38
    /// The number of digits that a double always distinguishes, for exponents within `safePowers`.
    private static let doubleDigits = 15
    private static let safePowers = -300...290

    /// Parses a whole text; nil if it isn't a number. The bytes must outlive the result.
    package init?(_ text: UnsafeRawBufferPointer) {
        var offset = 0
        let sign = text.first
        if sign == 0x2D || sign == 0x2B { offset = 1 }
        let mantissa = offset
        var (point, first, last) = (-1, -1, -1)
        scan: while offset < text.count {
            switch text[offset] {
            case 0x30: break
            case 0x31...0x39:
                if first < 0 { first = offset }
                last = offset
            case 0x2E where point < 0: point = offset
            default: break scan
            }
            offset += 1
        }
        let end = offset
        let digits = end - mantissa - (point < 0 ? 0 : 1)
        if digits == 0 { return nil }
        guard let exponent = Exponent(text, from: end) else { return nil }
        self.text = text
        isNegative = sign == 0x2D
        let whole = (point < 0 ? end : point) - mantissa
        isPlain =
            sign != 0x2B && whole > 0 && (whole == 1 || text[mantissa] != 0x30) && point != end - 1
            && (end == text.count || point >= 0 || exponent.hasSign)
        start = first
        if first < 0 {
            (significantCount, lastPower) = (0, 0)
        } else {
            significantCount = last - first + (first < point && point < last ? 0 : 1)
            let power = point < 0 ? end - 1 - last : last < point ? point - 1 - last : point - last
            lastPower = exponent.value + power
        }
    }

    /// The part of a number behind its digits: 0 if it's missing.
    private struct Exponent {
        var value = 0
        var hasSign = false

        /// Parses the rest of a text; nil if it isn't an exponent.
        init?(_ text: UnsafeRawBufferPointer, from start: Int) {
            if start == text.count { return }
            guard text[start] | 0x20 == 0x65 else { return nil }
            var offset = start + 1
            let isBelow = offset < text.count && text[offset] == 0x2D
            hasSign = isBelow || offset < text.count && text[offset] == 0x2B
            if hasSign { offset += 1 }
            if offset == text.count { return nil }
            while offset < text.count {
                guard (0x30...0x39).contains(text[offset]) else { return nil }
                // Limits the exponent, so that it can't overflow.
                value = min(value * 10 + Int(text[offset] - 0x30), 1 << 40)
                offset += 1
            }
            if isBelow { value = -value }
        }
    }

    package var isZero: Bool { significantCount == 0 }

    /// Whether the number is -0, which only doubles can represent.
    package var isNegativeZero: Bool { isZero && isNegative }

    /// The number as an integer; nil if it isn't whole or exceeds 64 bits.
    package var integer: Int64? {
        guard !isZero else { return 0 }
        guard lastPower >= 0, significantCount + lastPower <= 19 else { return nil }
        var number: Int64 = 0
        func append(_ digit: Int64) -> Bool {
            let (shifted, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, sumOverflows) = shifted.subtractingReportingOverflow(digit)
            number = sum
            return !overflows && !sumOverflows
        }
        // Accumulates the negated number, because the least integer has no positive counterpart.
        var fits = true
        forEachDigit { fits = append(Int64($0 - 0x30)) && fits }
        for _ in 0..<lastPower { fits = append(0) && fits }
        if !fits || !isNegative && number == .min { return nil }
        return isNegative ? number : -number
    }

    /// Whether `Decimal` represents the number exactly. False also for some numbers that `Decimal` can represent: those
    /// of 39 digits, and those whose last significant digit is above 10^127 or below 10^-127.
    package var isDecimal: Bool { significantCount <= Self.mostDecimalDigits && (-127...127).contains(lastPower) }

    /// Whether the nearest double prints these digits again, at this length or in its shortest form.
    package var isDouble: Bool {
        if isZero || significantCount <= Self.doubleDigits && Self.safePowers.contains(lastPower) { return true }
        return prints(Double(string))
    }

    private func prints(_ number: Double?) -> Bool {
        // The longest exact double has fewer than 770 digits.
        guard let number, number.isFinite, number != 0, significantCount <= 770 else { return false }
        var shortest = number.description
        if shortest.withUTF8({ NumberText(UnsafeRawBufferPointer($0))?.hasEqualDigits(self) ?? false }) { return true }
        var printed = [CChar](repeating: 0, count: significantCount + 16)
        _ = withVaList([number]) { vsnprintf(&printed, printed.count, "%.\(significantCount - 1)e", $0) }
        return printed.withUnsafeBytes { bytes in
            let text = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.firstIndex(of: 0) ?? bytes.count)])
            return NumberText(text)?.hasEqualDigits(self) ?? false
        }
    }

    /// Whether another text has the same digits and power of ten. Ignores the sign.
    private func hasEqualDigits(_ other: NumberText) -> Bool {
        guard significantCount == other.significantCount, lastPower == other.lastPower else { return false }
        return digits == other.digits
    }

    private var digits: [UInt8] {
        var digits: [UInt8] = []
        forEachDigit { digits.append($0) }
        return digits
    }

    private var string: String { String(decoding: text, as: UTF8.self) }

    private func forEachDigit(_ body: (UInt8) -> Void) {
        var (left, offset) = (significantCount, start)
        while left > 0 {
            if text[offset] != 0x2E {
                body(text[offset])
                left -= 1
            }
            offset += 1
        }
    }

    /// Appends the number as a decimal prints it: in plain notation without needless zeros, 1.5 for 1.50.
    package func appendPlain(to bytes: inout [UInt8]) {
        if isZero { return bytes.append(0x30) }
        if isNegative { bytes.append(0x2D) }
        let zeros = -lastPower - significantCount
        if zeros >= 0 {
            bytes += [0x30, 0x2E]
            bytes.append(contentsOf: repeatElement(0x30, count: zeros))
        }
        let point = zeros < 0 && lastPower < 0 ? significantCount + lastPower : -1
        var index = 0
        forEachDigit { digit in
            if index == point { bytes.append(0x2E) }
            bytes.append(digit)
            index += 1
        }
        if lastPower > 0 { bytes.append(contentsOf: repeatElement(0x30, count: lastPower)) }
    }

    /// Whether the text is the one that an integer or a decimal of this value prints. False if `isDecimal` is false.
    package var isCanonical: Bool {
        guard isDecimal else { return false }
        var plain: [UInt8] = []
        plain.reserveCapacity(text.count)
        appendPlain(to: &plain)
        return !isNegativeZero && plain.elementsEqual(text)
    }
}
