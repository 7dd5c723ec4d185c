package import FetchIndexEssentials

/// Intervals of equal width, which begin at the multiples of the width.
package struct NumberBuckets: Sendable {
    private let width: Double
    private let decimalWidth: Decimal

    /// Takes a width from 1e-9 to 1e15.
    package init(width: Double) {
        self.width = width
        decimalWidth = Decimal(string: width.description) ?? 1
    }

    /// Returns the start of the interval that contains an integer: an integer, or a decimal if the width isn't whole.
    package func start(of number: Int64) -> Value {
        guard let whole = Int64(exactly: width) else { return .decimal(start(of: Decimal(number))) }
        let remainder = number % whole
        let start = number.subtractingReportingOverflow(remainder < 0 ? remainder + whole : remainder)
        // If the start is below the range of integers, the interval begins with the least integer.
        return .integer(start.overflow ? .min : start.partialValue)
    }

    /// Returns the start of the interval that contains a double. If the width isn't whole, the result is computed from
    /// the double's printed digits (for magnitudes below 1e22): for a width of 0.1, the interval of 0.3 begins with
    /// 0.3, although 0.3 as a double is less than three times 0.1.
    package func start(of number: Double) -> Value {
        let isSmall = number.magnitude < 1e22
        if isSmall, width != width.rounded(), let decimal = Decimal(string: number.description) {
            return .double(Double(start(of: decimal).description) ?? number)
        }
        return .double((number / width).rounded(.down) * width)
    }

    package func start(of number: Decimal) -> Decimal {
        // A magnitude outside of these bounds isn't divided. A number of a greater magnitude counts as the start of its
        // own interval; one of a smaller magnitude is in the interval just below or just above 0.
        if number.magnitude > Self.greatest { return number }
        if number.magnitude < Self.least { return number < 0 ? -decimalWidth : 0 }
        return (number / decimalWidth).rounded(.down) * decimalWidth
    }

    private static let greatest = Decimal(sign: .plus, exponent: 60, significand: 1)
    private static let least = Decimal(sign: .plus, exponent: -60, significand: 1)
}
