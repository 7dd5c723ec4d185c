internal import SystemBasics
package import Values

/// The texts of values in fields of catalogues; each is read back exactly. They equal `Value.description` except for
/// booleans, negative zero, infinities, NaN, and dates with fractions of a millisecond.
extension Value {
    private static let suffix = " seconds after 2001"
    private static let nonFiniteDoubles: [String: Double] = ["inf": .infinity, "-inf": -.infinity, "nan": .nan]
    /// Years of four digits, in seconds after 2001.
    private static let namedDates = -63_145_526_400.0..<252_423_993_600.0

    /// Reads a field.
    package init?(catalogueText text: String, as type: ValueType) {
        if type == .double, let number = Self.nonFiniteDoubles[text] {
            self = .double(number)
        } else if type == .date, text.hasSuffix(Self.suffix), let seconds = Double(text.dropLast(Self.suffix.count)) {
            self = .date(Date(timeIntervalSinceReferenceDate: seconds))
        } else {
            self.init(text, as: type)
        }
    }

    /// Null has none.
    package var catalogueText: String {
        switch self {
        case .boolean(let value): value ? "true" : "false"
        case .double(let number): number.isNaN ? "nan" : "\(number)"
        case .date(let date): Self.text(of: date)
        default: description
        }
    }

    /// ISO 8601 with as many digits as the date has: 2016-05-16T01:30:00.0421875Z. Dates outside
    /// of the years 1 to 9999 are written in seconds since 2001.
    private static func text(of date: Date) -> String {
        let seconds = date.timeIntervalSinceReferenceDate
        let plain = "\(seconds)" + suffix
        guard namedDates.contains(seconds), seconds != 0 || seconds.sign == .plus else { return plain }
        let whole = seconds.rounded(.down)
        let name = Date(timeIntervalSinceReferenceDate: whole).iso8601
        if whole == seconds { return name }
        guard let digits = fraction(of: seconds, after: whole) else { return plain }
        return "\(name.dropLast())\(digits)Z"
    }

    /// The shortest of some decimal fractions that gives the number when it is added: ".25". Nil when none does.
    private static func fraction(of number: Double, after whole: Double) -> String? {
        let fraction = number - whole
        for (places, scale) in [(3, 1e3), (6, 1e6), (9, 1e9)] {
            let digits = String(Int((fraction * scale).rounded()))
            let text = "." + String(repeating: "0", count: max(0, places - digits.utf8.count)) + digits
            if digits.utf8.count <= places, let read = Double("0" + text), whole + read == number { return text }
        }
        let text = "\(fraction)".dropFirst()
        guard !text.contains("e"), let read = Double("0" + text), whole + read == number else { return nil }
        return String(text)
    }
}
