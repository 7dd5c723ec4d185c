package import Values

/// A value of a flat JSON object.
package enum JSONScalar: Equatable, Sendable {
    case null
    case boolean(Bool)
    /// Its digits as they stand in the file, so that none are lost; those of a whole number without a fraction.
    case number(String)
    case string(String)

    /// Nil when the number, which JSON's grammar allows, is too large for a double.
    init?(number digits: String) {
        if Int64(digits) != nil {
            self = .number(digits)
            return
        }
        guard let double = Double(digits), double.isFinite else { return nil }
        let isWhole = double == double.rounded() && double.magnitude < 0x1p53
        let isNegativeZero = double == 0 && double.sign == .minus
        self = .number(isWhole && !isNegativeZero ? String(Int64(double)) : digits)
    }

    /// Nil for null. A whole number of more than 64 bits is a text: as a double it would lose digits.
    var type: ValueType? {
        switch self {
        case .null: nil
        case .boolean: .boolean
        case .number(let digits): ValueType(ofNumber: digits)
        case .string: .string
        }
    }

    /// As a catalogue's field would have it.
    package var text: String {
        switch self {
        case .null: ""
        case .boolean(let value): value ? "true" : "false"
        case .number(let digits): digits
        case .string(let value): value
        }
    }

    /// As an attribute's value; nil when it does not fit the type.
    package func value(as type: ValueType) -> Value? {
        switch self {
        case .null: .null
        case .string(let text): Value(text, as: type)
        case .boolean, .number: type == .string ? nil : Value(text, as: type)
        }
    }
}

extension ValueType {
    /// The type that keeps all digits of a number: integers beyond 64 bits are text.
    init(ofNumber digits: String) {
        if Int64(digits) != nil {
            self = .integer
        } else {
            self =
                digits.utf8.contains { [UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E")].contains($0) }
                ? .double : .string
        }
    }
}
