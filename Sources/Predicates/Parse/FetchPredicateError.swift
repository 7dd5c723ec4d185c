public import FetchIndexValues

/// Why a predicate format, or its use with an entity, is refused.
public enum FetchPredicateError: Error, Equatable, Sendable {
    /// The format has something unexpected at a character (Unicode scalar), counted from 1.
    case unexpected(position: Int, found: String, expected: String)
    /// The format has more arguments than placeholders.
    case unusedArguments(Int)
    case unknownAttribute(String, entity: String, near: NearName = NearName())
    /// A variable without a value.
    case unknownVariable(String)
    /// A comparison of types without a common order, or an operation on values that it doesn't take.
    case typeMismatch(String)
    /// A regular expression that does not compile.
    case invalidPattern(String)
    /// A regular expression, or a pattern of LIKE, that took too long on a text.
    case patternTimeout(String)
    /// A part of a `#Predicate` that the format language can't express.
    case notExpressible(String)
}

extension FetchPredicateError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unexpected(let position, let found, let expected):
            "the predicate has \(found) at position \(position), where \(expected) was expected"
        case .unusedArguments(let count):
            "the predicate has \(count) more argument\(count == 1 ? "" : "s") than placeholders"
        case .unknownAttribute(let name, let entity, let near):
            "the predicate uses \"\(name)\", which is not an attribute of \(entity)\(near.hint)"
        case .unknownVariable(let name): "the predicate's variable $\(name) has no value"
        case .typeMismatch(let text): text
        case .invalidPattern(let text): text
        case .patternTimeout(let text): text
        case .notExpressible(let text): text
        }
    }
}
