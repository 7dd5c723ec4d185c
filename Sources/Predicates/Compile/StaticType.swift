internal import FetchIndexValues

/// The type of an operand, as far as it is known at compile time.
enum StaticType: Hashable {
    case one(ValueType)
    /// A number whose type isn't known.
    case number
    case list
    case null
    case unknown

    init(_ value: PredicateValue) {
        switch value {
        case .one(let value): self = value.type.map(StaticType.one) ?? .null
        case .list: self = .list
        case .dictionary: self = .unknown
        }
    }

    /// Whether values are, or may be, texts or URLs. Text operators read a URL as a text.
    var isText: Bool { self == .one(.string) || self == .one(.url) || isOpen }
    var isNumber: Bool { self == .number || isOpen || isNumberType }
    var isDate: Bool { self == .one(.date) }

    /// Whether the type fits everywhere: it isn't known, or the value is null.
    var isOpen: Bool { self == .unknown || self == .null }

    private var isNumberType: Bool {
        guard case .one(let type) = self else { return false }
        return type.isNumber
    }

    /// Whether values of the two types can be compared.
    func isComparable(to other: StaticType) -> Bool {
        if isOpen || other.isOpen || self == other { return true }
        return isNumber && other.isNumber || isText && other.isText
    }

    /// The type with its article, for messages: "an integer".
    var name: String {
        switch self {
        case .one(let type): type.nameWithArticle
        case .number: "a number"
        case .list: "a list"
        case .null: "null"
        case .unknown: "a value"
        }
    }
}

extension ValueType {
    var isNumber: Bool { self == .integer || self == .double || self == .decimal || self == .boolean }
}
