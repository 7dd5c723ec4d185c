package import FetchIndexValues

/// The texts of values in fields of catalogues. They are read back exactly, except the texts of NaNs with a sign or a
/// payload, and of decimals for which `NumberText.isDecimal` is false. The texts equal `Value.description`, except for
/// booleans, doubles (2.0 instead of 2), and some dates, such as those with fractions of a millisecond.
extension Value {
    /// Reads a field. Returns nil if the text isn't a value of the type, or if the type would change a number or a URL:
    /// for example, a double that wouldn't print the same digits again, or a decimal of more than 38 digits.
    package init?(catalogueText text: String, as type: ValueType) { self.init(exactly: text, as: type) }

    /// The text of the value, for values other than null.
    package var catalogueText: String {
        switch self {
        case .boolean(let value): value ? "true" : "false"
        case .double(let number): number.isNaN ? "nan" : "\(number)"
        case .date(let date): date.exactText
        default: description
        }
    }
}
