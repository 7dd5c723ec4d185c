public import FetchIndexValues

/// A value on which a predicate is evaluated: a single value, a list, or a dictionary.
public indirect enum PredicateValue: Hashable, Sendable {
    case one(Value)
    case list([PredicateValue])
    case dictionary([String: PredicateValue])

    static let null = PredicateValue.one(.null)

    var isNull: Bool { self == .null }

    /// The single value; nil for a list or a dictionary.
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

    /// Makes a dictionary. If a key is repeated, its last value counts.
    public init(dictionaryLiteral elements: (String, PredicateValue)...) {
        self = .dictionary(Dictionary(elements) { _, last in last })
    }
}
