public import FetchIndexValues

/// The reason why a predicate format is invalid, doesn't fit the entity, or can't be evaluated.
public enum FetchPredicateError: Error, Equatable, Sendable {
    /// The parser found an unexpected token. The position is that of a Unicode scalar, counted from 1.
    case unexpected(position: Int, found: String, expected: String)
    /// There are more arguments than placeholders in the format.
    case unusedArguments(Int)
    case unknownAttribute(String, entity: String, near: NearName = NearName())
    /// A variable has no value.
    case unknownVariable(String)
    /// Two types can't be compared, an operator doesn't support a type, or an expression can't be used where it is.
    case typeMismatch(String)
    /// A regular expression doesn't compile.
    case invalidPattern(String)
    /// A pattern of MATCHES, LIKE or CONTAINS took too much time or memory on a text.
    case patternTimeout(String)
    /// A part of a `#Predicate` can't be expressed in the format language.
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
