#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// How two values stand to each other.
package enum ValueOrdering: Sendable {
    case ascending
    case same
    case descending

    init<Number: Comparable>(_ left: Number, _ right: Number) {
        self = left < right ? .ascending : left == right ? .same : .descending
    }

    init(sign: Int) { self = sign < 0 ? .ascending : sign == 0 ? .same : .descending }

    var reversed: ValueOrdering {
        switch self {
        case .ascending: .descending
        case .same: .same
        case .descending: .ascending
        }
    }
}

extension Value {
    /// Compares two values that are not null. Numbers of any types compare by value, exactly; texts by code point;
    /// nil when the types have no common order (or a double is not a number).
    package func compare(to other: Value) -> ValueOrdering? {
        switch (self, other) {
        case (.string(let left), .string(let right)): ValueOrdering(sign: left.compareCodePoints(to: right))
        case (.integer(let left), .integer(let right)): ValueOrdering(left, right)
        case (.date(let left), .date(let right)): ValueOrdering(left, right)
        case (.data(let left), .data(let right)):
            ValueOrdering(sign: left.lexicographicallyPrecedes(right) ? -1 : left == right ? 0 : 1)
        case (.uuid(let left), .uuid(let right)): ValueOrdering(left.uuidString, right.uuidString)
        case (.url(let left), .url(let right)):
            ValueOrdering(sign: left.absoluteString.compareCodePoints(to: right.absoluteString))
        default: Value.compareNumbers(self, other)
        }
    }

    /// Booleans count as 0 and 1.
    private static func compareNumbers(_ left: Value, _ right: Value) -> ValueOrdering? {
        switch (left, right) {
        case (.boolean(let value), _): compareNumbers(.integer(value ? 1 : 0), right)
        case (_, .boolean(let value)): compareNumbers(left, .integer(value ? 1 : 0))
        case (.integer(let left), .integer(let right)): ValueOrdering(left, right)
        case (.double(let left), .double(let right)):
            left.isNaN || right.isNaN ? nil : ValueOrdering(left, right)
        case (.integer(let left), .double(let right)): compare(left, right)
        case (.double(let left), .integer(let right)): compare(right, left)?.reversed
        case (.decimal(let left), .decimal(let right)): ValueOrdering(left, right)
        case (.decimal(let left), .integer(let right)): ValueOrdering(left, Decimal(right))
        case (.integer(let left), .decimal(let right)): ValueOrdering(Decimal(left), right)
        case (.decimal(let left), .double(let right)): compare(left, right)
        case (.double(let left), .decimal(let right)): compare(right, left)?.reversed
        default: nil
        }
    }

    /// Exact, without passing the integer through a double.
    private static func compare(_ left: Int64, _ right: Double) -> ValueOrdering? {
        if right.isNaN { return nil }
        if right >= 0x1p63 { return .ascending }
        if right < -0x1p63 { return .descending }
        let whole = Int64(right.rounded(.down))
        if left != whole { return ValueOrdering(left, whole) }
        return right > right.rounded(.down) ? .ascending : .same
    }

    /// A whole double compares exactly, another by the digits that it prints: 0.1 is the decimal 0.1. One beyond a
    /// decimal's range compares by its size.
    private static func compare(_ left: Decimal, _ right: Double) -> ValueOrdering? {
        if right.isNaN { return nil }
        if right.magnitude >= 1e127 { return right > 0 ? .ascending : .descending }
        guard let exact = Decimal(exactly: right) ?? Decimal(string: right.description) else { return nil }
        return ValueOrdering(left, exact)
    }
}

extension Decimal {
    /// A whole number below 2^126, whose bits a decimal has room for; nil for others.
    fileprivate init?(exactly number: Double) {
        guard number == number.rounded(), number.magnitude < 0x1p126 else { return nil }
        if let small = Int64(exactly: number) {
            self = Decimal(small)
            return
        }
        // A double so large is 53 bits and zeros behind them.
        let zeros = Int(number.exponent) - 52
        self = Decimal(Int64(number.significand * 0x1p52)) * (number < 0 ? -1 : 1)
        for _ in 0..<zeros { self *= 2 }
    }
}

extension String {
    /// By code point, which is the order of the UTF-8 bytes; never by Swift's canonical equivalence.
    package func compareCodePoints(to other: String) -> Int {
        if self.utf8.elementsEqual(other.utf8) { return 0 }
        return self.utf8.lexicographicallyPrecedes(other.utf8) ? -1 : 1
    }
}

extension Value {
    /// Whether two values are stored as the same bytes. `==` takes texts for equal that merely look alike, and NaN for
    /// different from itself.
    package func isIdentical(to other: Value) -> Bool {
        switch (self, other) {
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.url(let left), .url(let right)):
            left.absoluteString.utf8.elementsEqual(right.absoluteString.utf8)
        case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
        default: self == other
        }
    }
}
