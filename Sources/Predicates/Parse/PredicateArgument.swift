#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Values

/// What can stand for a placeholder of a predicate format. Arguments are data: none can change a predicate's shape.
public protocol PredicateArgument {
    /// The argument as a value, or as a list of them. A dictionary is refused.
    var predicateValue: PredicateValue { get }
}

extension PredicateValue {
    /// As a literal of the syntax tree; nil for dictionaries, which have none.
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
}
extension Array: PredicateArgument where Element: PredicateArgument {
    public var predicateValue: PredicateValue { .list(map(\.predicateValue)) }
}
extension Set: PredicateArgument where Element: PredicateArgument & Comparable {
    /// Sorted, so that equal sets make equal predicates.
    public var predicateValue: PredicateValue { .list(sorted().map(\.predicateValue)) }
}
