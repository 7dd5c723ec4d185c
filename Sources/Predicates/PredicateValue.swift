public import FetchIndexValues

/// What a predicate is evaluated on: a value, a list, or values by name.
public indirect enum PredicateValue: Hashable, Sendable {
    case one(Value)
    case list([PredicateValue])
    case dictionary([String: PredicateValue])

    static let null = PredicateValue.one(.null)

    var isNull: Bool { self == .null }

    /// The value; nil for a list or a dictionary.
    var value: Value? {
        guard case .one(let value) = self else { return nil }
        return value
    }
}

extension PredicateValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .one(.string(value)) }
    public init(integerLiteral value: Int64) { self = .one(.integer(value)) }
    public init(floatLiteral value: Double) { self = .one(.double(value)) }
    public init(booleanLiteral value: Bool) { self = .one(.boolean(value)) }
    public init(nilLiteral: ()) { self = .null }
    public init(arrayLiteral elements: PredicateValue...) { self = .list(elements) }

    /// The last value of a duplicate key counts.
    public init(dictionaryLiteral elements: (String, PredicateValue)...) {
        self = .dictionary(Dictionary(elements) { _, last in last })
    }
}
