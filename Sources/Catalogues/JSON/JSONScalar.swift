package import FetchIndexValues

/// A value of a flat JSON object.
package enum JSONScalar: Equatable, Sendable {
    case null
    case boolean(Bool)
    /// The number as written in the file, so that nothing is lost: 2.0 isn't 2.
    case number(String)
    case string(String)

    init(_ token: JSONToken) {
        switch token {
        case .null: self = .null
        case .boolean(let value): self = .boolean(value)
        case .number(let digits): self = .number(String(decoding: digits, as: UTF8.self))
        case .text(let text): self = .string(text.string)
        }
    }

    /// Whether a JSON number isn't too large for a double.
    static func isFinite(_ number: String) -> Bool { Int64(number) != nil || Double(number)?.isFinite ?? false }

    /// Returns the value of a JSON number as an integer: 2.50e1 is 25. Returns nil if the number isn't an integer of 64
    /// bits, and for -0.0, which only a double can represent.
    package static func wholeNumber(_ number: String) -> Int64? {
        if let whole = Int64(number) { return whole }
        let parts = number.utf8.split(maxSplits: 1) { $0 | 0x20 == UInt8(ascii: "e") }
        let isNegative = number.utf8.first == UInt8(ascii: "-")
        let mantissa = parts[0].dropFirst(isNegative ? 1 : 0).split(separator: UInt8(ascii: "."))
        let digits = Array(mantissa.joined().drop { $0 == UInt8(ascii: "0") })
        guard let last = digits.lastIndex(where: { $0 != UInt8(ascii: "0") }) else { return isNegative ? nil : 0 }
        // A line can't contain enough digits to make a 64-bit integer with a larger exponent.
        guard let exponent = parts.count == 1 ? 0 : Int(Substring(parts[1])), exponent.magnitude < 1 << 32 else {
            return nil
        }
        let zeros = exponent - (mantissa.count == 1 ? 0 : mantissa[1].count) + digits.count - 1 - last
        guard zeros >= 0, last + zeros < 19 else { return nil }
        let significant = String(decoding: digits[...last], as: UTF8.self)
        return Int64((isNegative ? "-" : "") + significant + String(repeating: "0", count: zeros))
    }

    /// The text that a catalogue's field would contain.
    package var text: String {
        switch self {
        case .null: ""
        case .boolean(let value): value ? "true" : "false"
        case .number(let digits): digits
        case .string(let value): value
        }
    }

    /// The value as a type; nil if it doesn't fit the type.
    package func value(as type: ValueType) -> Value? {
        switch self {
        case .null: .null
        case .string(let text): Value(catalogueText: text, as: type)
        case .number(let digits) where type == .integer: Self.wholeNumber(digits).map { .integer($0) }
        case .boolean, .number: type == .string ? nil : Value(catalogueText: text, as: type)
        }
    }

    /// Whether the value is a number or a boolean.
    package var isLiteral: Bool {
        switch self {
        case .boolean, .number: true
        case .null, .string: false
        }
    }
}
