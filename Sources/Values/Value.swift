public import FetchIndexEssentials

/// The value of an attribute: one of nine types, or null.
///
/// Two values are equal if they are stored as the same bytes: composed and decomposed forms of a text differ, 0.0 and
/// -0.0 differ, and a NaN equals itself. Decimals are compared by value.
public enum Value: Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case decimal(Decimal)
    case date(Date)
    case string(String)
    case data(Data)
    case uuid(UUID)
    case url(URL)

    /// The value's type; nil for null.
    public var type: ValueType? {
        switch self {
        case .null: nil
        case .boolean: .boolean
        case .integer: .integer
        case .double: .double
        case .decimal: .decimal
        case .date: .date
        case .string: .string
        case .data: .data
        case .uuid: .uuid
        case .url: .url
        }
    }

    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// Whether the value is a decimal NaN, such as an overflow gives, which records can't store.
    package var isUnstorable: Bool {
        if case .decimal(let number) = self { number.isNaN } else { false }
    }

    /// Creates a date from seconds since 2001.
    package init(secondsSinceReference seconds: Double) { self = .date(Date(timeIntervalSinceReferenceDate: seconds)) }
}

/// The type of an attribute. Raw values are part of the file format.
public enum ValueType: UInt8, Hashable, Sendable, CaseIterable {
    case boolean = 1
    case integer = 2
    case double = 3
    case decimal = 4
    case date = 5
    case string = 6
    case data = 7
    case uuid = 8
    case url = 9

    public init?(name: String) {
        guard let type = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = type
    }

    /// The type's name in models, messages and the tool.
    public var name: String { "\(self)" }

    /// The name with its article: "a string", "an integer", "data".
    package var nameWithArticle: String { (self == .integer ? "an " : self == .data ? "" : "a ") + name }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    public init(nilLiteral: ()) { self = .null }
}

extension Value {
    // These properties don't convert types.

    /// The value as a boolean; nil if it has another type.
    public var booleanValue: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The value as an integer; nil if it has another type.
    public var integerValue: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The value as a double; nil if it has another type.
    public var doubleValue: Double? { if case .double(let value) = self { value } else { nil } }
    /// The value as a decimal; nil if it has another type.
    public var decimalValue: Decimal? { if case .decimal(let value) = self { value } else { nil } }
    /// The value as a date; nil if it has another type.
    public var dateValue: Date? { if case .date(let value) = self { value } else { nil } }
    /// The value as a string; nil if it has another type.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The value as data; nil if it has another type.
    public var dataValue: Data? { if case .data(let value) = self { value } else { nil } }
    /// The value as a UUID; nil if it has another type.
    public var uuidValue: UUID? { if case .uuid(let value) = self { value } else { nil } }
    /// The value as a URL; nil if it has another type.
    public var urlValue: URL? { if case .url(let value) = self { value } else { nil } }
}
