internal import FetchIndexCLibrary
internal import FetchIndexEssentials
internal import FetchIndexValues

/// A number for calculations. Booleans become 0 and 1.
enum Number {
    case integer(Int64)
    case double(Double)
    case decimal(Decimal)

    init?(_ value: PredicateValue) {
        guard case .one(let value) = value else { return nil }
        switch value {
        case .boolean(let value): self = .integer(value ? 1 : 0)
        case .integer(let value): self = .integer(value)
        case .double(let value): self = .double(value)
        case .decimal(let value): self = .decimal(value)
        default: return nil
        }
    }

    var value: PredicateValue {
        switch self {
        case .integer(let number): .one(.integer(number))
        case .double(let number): .one(.double(number))
        case .decimal(let number): .one(.decimal(number))
        }
    }

    /// The double nearest to the number.
    var double: Double {
        switch self {
        case .integer(let number): Double(number)
        case .double(let number): number
        case .decimal(let number): Double(number.description) ?? .nan
        }
    }

    var integer: Int64? {
        guard case .integer(let number) = self else { return nil }
        return number
    }

    /// The number as an integer, if it's an integer or a whole decimal.
    private var wholeNumber: Int64? {
        if case .decimal(let number) = self { return Int64(number.description) }
        return integer
    }

    /// The number as a decimal; nil for a double.
    var decimal: Decimal? {
        switch self {
        case .integer(let number): Decimal(number)
        case .double: nil
        case .decimal(let number): number
        }
    }

    static func + (left: Number, right: Number) -> Number {
        calculate(left, right, { $0.addingReportingOverflow($1) }, +, +)
    }

    static func - (left: Number, right: Number) -> Number {
        calculate(left, right, { $0.subtractingReportingOverflow($1) }, -, -)
    }

    static func * (left: Number, right: Number) -> Number {
        if let left = left.decimal, let right = right.decimal, !left.canMultiply(by: right) {
            return .double(Number.decimal(left).double * Number.decimal(right).double)
        }
        return calculate(left, right, { $0.multipliedReportingOverflow(by: $1) }, *, *)
    }

    /// Divides numbers; the quotient of integers is rounded toward zero. Returns nil if the divisor is zero and neither
    /// number is a double.
    func divided(by other: Number) -> Number? {
        if case .double = other {} else if case .double = self {} else if other.double == 0 { return nil }
        if let left = decimal, let right = other.decimal, !left.canDivide(by: right) {
            return .double(double / other.double)
        }
        return Self.calculate(self, other, { $0.dividedReportingOverflow(by: $1) }, /, /)
    }

    /// The remainder of a division, with the sign of the dividend. Returns nil if the divisor is zero and neither
    /// number is a double.
    func remainder(dividingBy other: Number) -> Number? {
        if let left = integer, let right = other.integer {
            return right == 0 ? nil : .integer(right == -1 ? 0 : left % right)
        }
        if let left = decimal, let right = other.decimal {
            guard right != 0 else { return nil }
            guard left.canDivide(by: right) else {
                return .double(double.truncatingRemainder(dividingBy: other.double))
            }
            return .decimal(left - right * (left / right).rounded(.towardZero))
        }
        return .double(double.truncatingRemainder(dividingBy: other.double))
    }

    /// Calculates with two integers, decimals or doubles. Two integers give an integer, or a double if the result
    /// exceeds 64 bits. If one number is a double, the result is a double. Otherwise the result is a decimal, or a
    /// double if it would be outside of a decimal's range. Callers that multiply or divide must first ask `canMultiply`
    /// or `canDivide`.
    private static func calculate(
        _ left: Number, _ right: Number, _ integers: (Int64, Int64) -> (partialValue: Int64, overflow: Bool),
        _ doubles: (Double, Double) -> Double, _ decimals: (Decimal, Decimal) -> Decimal
    ) -> Number {
        if let first = left.integer, let second = right.integer {
            let (result, overflow) = integers(first, second)
            return overflow ? .double(doubles(left.double, right.double)) : .integer(result)
        }
        if let first = left.decimal, let second = right.decimal {
            let result = decimals(first, second)
            if !result.isNaN { return .decimal(result) }
        }
        return .double(doubles(left.double, right.double))
    }

    /// Raises to a power. An integer to a nonnegative integer power is an integer if it fits in 64 bits. A decimal to
    /// an integer power from 0 to 1000 is a decimal, unless a multiplication on the way could leave a decimal's range
    /// (`canMultiply`). All other results are doubles.
    func power(_ exponent: Number) -> Number {
        if case .decimal = self, let times = exponent.wholeNumber, (0...1000).contains(times) {
            return (0..<times).reduce(.decimal(1)) { power, _ in power * self }
        }
        guard let base = integer, let times = exponent.integer, times >= 0 else {
            return .double(double.raised(to: exponent.double))
        }
        var result: Int64 = 1
        var factor = base
        var left = times
        while left > 0 {
            if left & 1 == 1 {
                let (product, overflow) = result.multipliedReportingOverflow(by: factor)
                if overflow { return .double(double.raised(to: exponent.double)) }
                result = product
            }
            left >>= 1
            if left == 0 { break }
            let (square, overflow) = factor.multipliedReportingOverflow(by: factor)
            if overflow { return .double(double.raised(to: exponent.double)) }
            factor = square
        }
        return .integer(result)
    }

    func rounded(_ rule: FloatingPointRoundingRule) -> Number {
        switch self {
        case .integer: self
        case .double(let number): .double(number.rounded(rule))
        case .decimal(let number): .decimal(number.rounded(rule))
        }
    }

    var magnitude: Number {
        switch self {
        case .integer(.min): .double(-Double(Int64.min))
        case .integer(let number): .integer(abs(number))
        case .double(let number): .double(number.magnitude)
        case .decimal(let number): .decimal(number.magnitude)
        }
    }
}

extension Decimal {
    // Whether a product or a quotient surely stays in a decimal's range: Foundation traps if its exponent leaves -128
    // to 127. The limits are narrower, because the digits of the result may change the exponent.

    fileprivate func canMultiply(by other: Decimal) -> Bool { (-100...80).contains(exponent + other.exponent) }

    fileprivate func canDivide(by other: Decimal) -> Bool { (-60...80).contains(exponent - other.exponent) }
}

extension Double {
    fileprivate func raised(to exponent: Double) -> Double { pow(self, exponent) }
}
