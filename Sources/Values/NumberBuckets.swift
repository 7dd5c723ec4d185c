package import FetchIndexEssentials

/// Intervals of equal width; each begins with a multiple of the width.
package struct NumberBuckets: Sendable {
    private let width: Double
    private let decimalWidth: Decimal

    /// Takes a width from 1e-9 to 1e15.
    package init(width: Double) {
        self.width = width
        decimalWidth = Decimal(string: width.description) ?? 1
    }

    /// The start of an integer's interval: an integer, or a decimal if the width isn't whole.
    package func start(of number: Int64) -> Value {
        guard let whole = Int64(exactly: width) else { return .decimal(start(of: Decimal(number))) }
        let remainder = number % whole
        let start = number.subtractingReportingOverflow(remainder < 0 ? remainder + whole : remainder)
        // The multiple may be less than the least integer: then the interval begins with that.
        return .integer(start.overflow ? .min : start.partialValue)
    }

    /// The start of a double's interval, computed from the digits that the double prints: with a width of 0.1 the
    /// interval of 0.3 begins with 0.3, though the nearest double to 0.3 is less than three times the nearest to 0.1.
    package func start(of number: Double) -> Value {
        let isSmall = number.magnitude < 1e22
        if isSmall, width != width.rounded(), let decimal = Decimal(string: number.description) {
            return .double(Double(start(of: decimal).description) ?? number)
        }
        return .double((number / width).rounded(.down) * width)
    }

    package func start(of number: Decimal) -> Decimal {
        // Outside of these bounds a decimal has no digits for the quotient: a greater number is its own interval, and a
        // smaller one is in an interval next to 0.
        if number.magnitude > Self.greatest { return number }
        if number.magnitude < Self.least { return number < 0 ? -decimalWidth : 0 }
        return (number / decimalWidth).rounded(.down) * decimalWidth
    }

    private static let greatest = Decimal(sign: .plus, exponent: 60, significand: 1)
    private static let least = Decimal(sign: .plus, exponent: -60, significand: 1)
}
