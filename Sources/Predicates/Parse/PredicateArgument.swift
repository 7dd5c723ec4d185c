public import FetchIndexEssentials
public import FetchIndexValues

/// A value for a placeholder in a predicate format. Arguments are data: they aren't parsed as parts of a format,
/// except the one for %K, which is a key path.
public protocol PredicateArgument {
    /// The argument as a value, or as a list of values. A dictionary can only be used with a key path, as in
    /// `%@.names`.
    var predicateValue: PredicateValue { get }

    /// The value at a key path of the argument, as in `name IN %@.tags.name`. It's read when the predicate is made. For
    /// a list, returns the list of its elements' values. Returns nil if a value can't have the key; null, and a
    /// dictionary without the key, give null.
    func predicateValue(atKeyPath names: [String]) -> PredicateValue?
}

extension PredicateArgument {
    public func predicateValue(atKeyPath names: [String]) -> PredicateValue? {
        var value = predicateValue
        for name in names {
            guard let next = value.part(named: name) else { return nil }
            value = next
        }
        return value
    }
}

extension PredicateValue {
    /// The value of a key. Null if this value is null or a dictionary without the key; nil if another value lacks the
    /// key.
    fileprivate func part(named name: String) -> PredicateValue? {
        switch self {
        case .one(.null): .null
        case .one(let value):
            FoundationKey(rawValue: name).flatMap { key in
                value.type.flatMap(key.type) == nil ? nil : .one(key.value(of: value))
            }
        case .dictionary: self.value(of: name)
        case .list(let elements): Self(joining: elements.map { $0.part(named: name) })
        }
    }

    /// Joins the values at a key path's end into one flat list; nil if one of them is nil.
    package init?(joining parts: [PredicateValue?]) {
        var values: [PredicateValue] = []
        for part in parts {
            guard let part else { return nil }
            if case .list(let inner) = part { values += inner } else { values.append(part) }
        }
        self = .list(values)
    }
}

extension PredicateValue {
    /// The value as a literal of the syntax tree; nil for a dictionary or a list with dictionaries, which can't be
    /// literals.
    var expression: ExpressionSyntax? {
        switch self {
        case .one(let value): return .value(value)
        case .list(let elements):
            let expressions = elements.compactMap(\.expression)
            return expressions.count == elements.count ? .list(expressions) : nil
        case .dictionary: return nil
        }
    }
}

extension Value: PredicateArgument { public var predicateValue: PredicateValue { .one(self) } }
extension String: PredicateArgument { public var predicateValue: PredicateValue { .one(.string(self)) } }
extension Int: PredicateArgument { public var predicateValue: PredicateValue { .one(.integer(Int64(self))) } }
extension Int64: PredicateArgument { public var predicateValue: PredicateValue { .one(.integer(self)) } }
extension Int32: PredicateArgument { public var predicateValue: PredicateValue { .one(.integer(Int64(self))) } }
extension Int16: PredicateArgument { public var predicateValue: PredicateValue { .one(.integer(Int64(self))) } }
extension Float: PredicateArgument { public var predicateValue: PredicateValue { .one(.double(Double(self))) } }
extension PredicateValue: PredicateArgument { public var predicateValue: PredicateValue { self } }
extension Double: PredicateArgument { public var predicateValue: PredicateValue { .one(.double(self)) } }
extension Bool: PredicateArgument { public var predicateValue: PredicateValue { .one(.boolean(self)) } }
extension Decimal: PredicateArgument { public var predicateValue: PredicateValue { .one(.decimal(self)) } }
extension Date: PredicateArgument { public var predicateValue: PredicateValue { .one(.date(self)) } }
extension Data: PredicateArgument { public var predicateValue: PredicateValue { .one(.data(self)) } }
extension UUID: PredicateArgument { public var predicateValue: PredicateValue { .one(.uuid(self)) } }
extension URL: PredicateArgument { public var predicateValue: PredicateValue { .one(.url(self)) } }
extension Optional: PredicateArgument where Wrapped: PredicateArgument {
    public var predicateValue: PredicateValue { self?.predicateValue ?? .null }

    public func predicateValue(atKeyPath names: [String]) -> PredicateValue? {
        self?.predicateValue(atKeyPath: names) ?? (self == nil ? .null : nil)
    }
}
extension Array: PredicateArgument where Element: PredicateArgument {
    public var predicateValue: PredicateValue { .list(map(\.predicateValue)) }

    public func predicateValue(atKeyPath names: [String]) -> PredicateValue? {
        PredicateValue(joining: map { $0.predicateValue(atKeyPath: names) })
    }
}
extension Dictionary: PredicateArgument where Key == String, Value: PredicateArgument {
    /// A dictionary, of which a placeholder can use the parts at a key path: `name IN %@.names`.
    public var predicateValue: PredicateValue { .dictionary(mapValues(\.predicateValue)) }
}
extension Set: PredicateArgument where Element: PredicateArgument {
    /// A list of the set's elements. Single values are sorted, so that equal sets usually make equal predicates.
    public var predicateValue: PredicateValue { .list(inOrder.map(\.predicateValue)) }

    public func predicateValue(atKeyPath names: [String]) -> PredicateValue? {
        PredicateValue(joining: inOrder.map { $0.predicateValue(atKeyPath: names) })
    }

    private var inOrder: [Element] {
        map { ($0, $0.predicateValue.sortKey) }.sorted { $0.1.lexicographicallyPrecedes($1.1) }.map(\.0)
    }
}

extension PredicateValue {
    /// Bytes by which the elements of a set are sorted.
    fileprivate var sortKey: [UInt8] {
        var key: [UInt8] = []
        switch self {
        case .one(let value): OrderKey.append(value, to: &key)
        case .list(let elements): for element in elements { key += element.sortKey }
        case .dictionary: break
        }
        return key
    }
}
