internal import FetchIndexEssentials
internal import FetchIndexValues

/// A hashable key for values: two values that aren't null have the same key exactly if `==` of the format language,
/// without modifiers, holds for them. So an integer, a double, a decimal and a boolean of equal value have the same
/// key.
enum EqualityKey: Hashable, Sendable {
    /// An integer, a double that isn't compared as a decimal (`Decimal(comparedWith:)`), or a value that isn't a
    /// number. A URL is represented by its text.
    case value(Value)
    /// The decimal digits of another number.
    case digits(String)

    /// Makes the key of a value; nil for null, and for NaN, which doesn't equal any value.
    init?(_ value: Value) {
        switch value {
        case .null: return nil
        case .boolean(let isTrue): self = .value(.integer(isTrue ? 1 : 0))
        case .integer, .string, .data, .uuid: self = .value(value)
        case .url(let url): self = .value(.string(url.absoluteString))
        case .date(let date):
            let seconds = date.timeIntervalSinceReferenceDate
            if seconds.isNaN { return nil }
            self = .value(Value(secondsSinceReference: seconds == 0 ? 0 : seconds))
        case .double(let number):
            if number.isNaN { return nil }
            if let whole = Int64(exactly: number) {
                self = .value(.integer(whole))
            } else if let decimal = Decimal(comparedWith: number), decimal != 0 {
                self = .digits(Self.digits(of: decimal))
            } else {
                self = .value(value)
            }
        case .decimal(let number):
            if number.isNaN { return nil }
            self = Int64(number.description).map { .value(.integer($0)) } ?? Self(decimal: number)
        }
    }

    private init(decimal number: Decimal) {
        let digits = Self.digits(of: number)
        self = Int64(digits).map { .value(.integer($0)) } ?? .digits(digits)
    }

    /// The number's digits, without trailing zeros of the fraction.
    private static func digits(of number: Decimal) -> String {
        let text = number.description
        guard text.contains(".") else { return text }
        var digits = Substring(text)
        while digits.last == "0" { digits.removeLast() }
        if digits.last == "." { digits.removeLast() }
        return String(digits)
    }
}
