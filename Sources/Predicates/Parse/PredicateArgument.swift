#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Values

/// What can stand for a placeholder of a predicate format. Arguments are data: none can change a predicate's shape.
public protocol PredicateArgument {
    /// The argument as one value, or as a list of them.
    var predicateValues: PredicateValues { get }
}

public enum PredicateValues: Sendable {
    case one(Value)
    case list([Value])

    package var expression: ExpressionSyntax {
        switch self {
        case .one(let value): .value(value)
        case .list(let values): .list(values.map(ExpressionSyntax.value))
        }
    }
}

extension Value: PredicateArgument {
    public var predicateValues: PredicateValues { .one(self) }
}
extension String: PredicateArgument {
    public var predicateValues: PredicateValues { .one(.string(self)) }
}
extension Int: PredicateArgument {
    public var predicateValues: PredicateValues { .one(.integer(Int64(self))) }
}
extension Int64: PredicateArgument {
    public var predicateValues: PredicateValues { .one(.integer(self)) }
}
extension Double: PredicateArgument {
    public var predicateValues: PredicateValues { .one(.double(self)) }
}
extension Bool: PredicateArgument {
    public var predicateValues: PredicateValues { .one(.boolean(self)) }
}
extension Decimal: PredicateArgument {
    public var predicateValues: PredicateValues { .one(.decimal(self)) }
}
extension Date: PredicateArgument {
    public var predicateValues: PredicateValues { .one(.date(self)) }
}
extension Data: PredicateArgument {
    public var predicateValues: PredicateValues { .one(.data(self)) }
}
extension UUID: PredicateArgument {
    public var predicateValues: PredicateValues { .one(.uuid(self)) }
}
extension URL: PredicateArgument {
    public var predicateValues: PredicateValues { .one(.url(self)) }
}
extension Optional: PredicateArgument where Wrapped: PredicateArgument {
    public var predicateValues: PredicateValues { self?.predicateValues ?? .one(.null) }
}
extension Array: PredicateArgument where Element: PredicateArgument {
    public var predicateValues: PredicateValues {
        .list(
            flatMap { element -> [Value] in
                switch element.predicateValues {
                case .one(let value): [value]
                case .list(let values): values
                }
            })
    }
}
