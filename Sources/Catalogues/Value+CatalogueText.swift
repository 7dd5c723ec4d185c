package import Values

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

    /// Whether a text, which was read as this value, is the one way to write it as a key. Others would make one key of two texts. Days
    /// may lack the time; the case of hexadecimal digits has no meaning. A number of JSON has no trailing zero where it is whole.
    package func isSpelled(_ text: String, inJSON: Bool = false) -> Bool {
        switch self {
        case .null, .string, .uuid, .data: true
        case .double: text == catalogueText || inJSON && text == description
        case .date: text == catalogueText || text + "T00:00:00Z" == catalogueText
        default: text == catalogueText
        }
    }
}
