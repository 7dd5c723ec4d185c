internal import FetchIndexEssentials
internal import FetchIndexPlatform

/// The order of two values.
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
    /// Compares two values that aren't null. Booleans, integers and doubles compare exactly by value, as do decimals
    /// with integers and with whole doubles of a magnitude below 2^126. Decimals compare with the printed digits of
    /// most other doubles, and texts compare by code point. Returns nil if the types have no common order, or if one of
    /// the values is NaN.
    package func compare(to other: Value) -> ValueOrdering? {
        switch (self, other) {
        case (.string(let left), .string(let right)): ValueOrdering(sign: left.compareCodePoints(to: right))
        case (.integer(let left), .integer(let right)): ValueOrdering(left, right)
        case (.date(let left), .date(let right)):
            Value.compareNumbers(
                .double(left.timeIntervalSinceReferenceDate), .double(right.timeIntervalSinceReferenceDate))
        case (.data(let left), .data(let right)):
            ValueOrdering(sign: left.lexicographicallyPrecedes(right) ? -1 : left == right ? 0 : 1)
        case (.uuid(let left), .uuid(let right)): ValueOrdering(left.uuidString, right.uuidString)
        case (.url(let left), .url(let right)):
            ValueOrdering(sign: left.absoluteString.compareCodePoints(to: right.absoluteString))
        default: isUnstorable || other.isUnstorable ? nil : Value.compareNumbers(self, other)
        }
    }

    /// Compares numbers of all types; booleans count as 0 and 1.
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

    /// Compares exactly, without converting the integer to a double.
    private static func compare(_ left: Int64, _ right: Double) -> ValueOrdering? {
        if right.isNaN { return nil }
        if right >= 0x1p63 { return .ascending }
        if right < -0x1p63 { return .descending }
        let whole = Int64(right.rounded(.down))
        if left != whole { return ValueOrdering(left, whole) }
        return right > right.rounded(.down) ? .ascending : .same
    }

    /// Compares a whole double of a magnitude below 2^126 exactly, and most others by their printed digits: 0.1 equals
    /// the decimal 0.1. A double with a magnitude of 1e127 or more counts as beyond all decimals. One that is too small
    /// for `Decimal` counts as between 0 and all other decimals of its sign.
    private static func compare(_ left: Decimal, _ right: Double) -> ValueOrdering? {
        if right.isNaN { return nil }
        if right.magnitude >= 1e127 { return right > 0 ? .ascending : .descending }
        if let exact = Decimal(comparedWith: right) { return ValueOrdering(left, exact) }
        // `Decimal` can't represent the double, which is very small: it counts as nearer to 0 than any nonzero decimal.
        if left == 0 { return right > 0 ? .ascending : .descending }
        return left > 0 ? .descending : .ascending
    }
}

extension Decimal {
    /// The decimal that replaces a double in comparisons; nil if the double is NaN, too small for `Decimal`, or has a
    /// magnitude of 1e127 or more.
    package init?(comparedWith number: Double) {
        guard number.magnitude < 1e127, let decimal = Decimal(exactly: number) ?? Decimal(string: number.description)
        else { return nil }
        self = decimal
    }

    /// Converts a whole number with a magnitude below 2^126 exactly; nil for other numbers.
    fileprivate init?(exactly number: Double) {
        guard number == number.rounded(), number.magnitude < 0x1p126 else { return nil }
        if let small = Int64(exactly: number) {
            self = Decimal(small)
            return
        }
        // A whole double of this size is an integer of 53 bits, followed by zero bits.
        let zeros = Int(number.exponent) - 52
        self = Decimal(Int64(number.significand * 0x1p52)) * (number < 0 ? -1 : 1)
        for _ in 0..<zeros { self *= 2 }
    }
}

extension String {
    /// Compares by code point, which is the order of the UTF-8 bytes. Returns -1, 0 or 1. Swift's own comparison treats
    /// canonically equivalent strings as equal.
    package func compareCodePoints(to other: String) -> Int {
        if hasSameBytes(as: other) { return 0 }
        return self.utf8.lexicographicallyPrecedes(other.utf8) ? -1 : 1
    }
}

extension String {
    /// Whether the UTF-8 bytes of two texts are equal. Swift's own comparison treats canonically equivalent texts as equal.
    fileprivate func hasSameBytes(as other: String) -> Bool {
        let isSame = utf8.withContiguousStorageIfAvailable { bytes in
            other.utf8.withContiguousStorageIfAvailable {
                UnsafeRawBufferPointer(bytes).bytes.isEqual(to: UnsafeRawBufferPointer($0).bytes)
            }
        }
        return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}

extension Value: Hashable {
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.boolean(let left), .boolean(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
        case (.decimal(let left), .decimal(let right)): left == right || left.isNaN && right.isNaN
        case (.date(let left), .date(let right)):
            left.timeIntervalSinceReferenceDate.bitPattern == right.timeIntervalSinceReferenceDate.bitPattern
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.data(let left), .data(let right)): left == right
        case (.uuid(let left), .uuid(let right)): left == right
        case (.url(let left), .url(let right)): left.absoluteString.hasSameBytes(as: right.absoluteString)
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        switch self {
        case .null: break
        case .boolean(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value.bitPattern)
        case .decimal(let value): hasher.combine(value.isNaN ? 0 : value)
        case .date(let value): hasher.combine(value.timeIntervalSinceReferenceDate.bitPattern)
        case .string(let value): hasher.combine(bytesOf: value)
        case .data(let value): hasher.combine(value)
        case .uuid(let value): hasher.combine(value)
        case .url(let value): hasher.combine(bytesOf: value.absoluteString)
        }
    }
}

extension Hasher {
    fileprivate mutating func combine(bytesOf text: String) {
        var text = text
        text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
