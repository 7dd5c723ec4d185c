package import FetchIndexValues

/// The texts of values in fields of catalogues; each is read back exactly. They equal `Value.description` except for
/// booleans, negative zero, infinities, NaN, and dates with fractions of a millisecond.
extension Value {
    /// Reads a field. Nil for a text that the type does not hold exactly: a number with more digits than it has.
    package init?(catalogueText text: String, as type: ValueType) { self.init(exactly: text, as: type) }

    /// Null has none.
    package var catalogueText: String {
        switch self {
        case .boolean(let value): value ? "true" : "false"
        case .double(let number): number.isNaN ? "nan" : "\(number)"
        case .date(let date): date.exactText
        default: description
        }
    }
}
