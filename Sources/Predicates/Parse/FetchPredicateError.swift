/// Why a predicate format, or its use with an entity, is refused.
public enum FetchPredicateError: Error, Equatable, Sendable {
    /// At a character (Unicode scalar) of the format, counted from 1, something else was expected.
    case unexpected(position: Int, found: String, expected: String)
    /// The format has more arguments than placeholders.
    case unusedArguments(Int)
    case unknownAttribute(String, entity: String)
    /// A comparison of types that have no order in common.
    case typeMismatch(String)
}

extension FetchPredicateError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unexpected(let position, let found, let expected):
            "the predicate has \(found) at position \(position), where \(expected) was expected"
        case .unusedArguments(let count): "the predicate has \(count) more arguments than placeholders"
        case .unknownAttribute(let name, let entity): "the predicate names \"\(name)\", which \(entity) has not"
        case .typeMismatch(let text): text
        }
    }
}
