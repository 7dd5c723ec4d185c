internal import FetchIndexValues

/// What is known about an operand's type before any row is read.
enum StaticType: Hashable {
    case one(ValueType)
    /// A number of some type.
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

    /// Whether it is, or may be, a text or a URL, which text operators read as a text.
    var isText: Bool { self == .one(.string) || self == .one(.url) || isOpen }
    var isNumber: Bool { self == .number || isOpen || isNumberType }
    var isDate: Bool { self == .one(.date) }

    /// Whether the type may turn out to be any: null fits everywhere.
    var isOpen: Bool { self == .unknown || self == .null }

    private var isNumberType: Bool {
        guard case .one(let type) = self else { return false }
        return type.isNumber
    }

    /// Whether values of the two types can have a common order.
    func isComparable(to other: StaticType) -> Bool {
        if isOpen || other.isOpen || self == other { return true }
        return isNumber && other.isNumber || isText && other.isText
    }

    /// The type in messages: "an integer".
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
