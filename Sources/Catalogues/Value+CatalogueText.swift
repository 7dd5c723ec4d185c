internal import SystemBasics
package import Values

/// Values as the fields of catalogues write them, so that each is read back as it was. They are the texts that
/// `Value.description` has, but for booleans, doubles that are zero below or no number, and dates between milliseconds.
extension Value {
    private static let suffix = " seconds after 2001"
    private static let noNumbers: [String: Double] = ["inf": .infinity, "-inf": -.infinity, "nan": .nan]
    /// Years of four digits, in seconds after 2001.
    private static let namedDates = -63_145_526_400.0..<252_423_993_600.0

    /// Reads a field.
    package init?(catalogueText text: String, as type: ValueType) {
        if type == .double, let number = Self.noNumbers[text] {
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

    /// ISO 8601 with as many digits as the date has: 2016-05-16T01:30:00.0421875Z. Dates without such a name are counted
    /// from 2001.
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
