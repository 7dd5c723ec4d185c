/// The reason why a request doesn't fit its entity, or can't be parsed.
public enum RequestError: Error, Equatable, Sendable {
    /// A text isn't a valid sort key, section key or section order; the text says why.
    case malformed(String)
    /// An attribute's type doesn't fit its use in the request.
    case wrongType(String)
    /// An object is requested by the value of an attribute that isn't unique.
    case notUnique(entity: String, attribute: String)
}

extension RequestError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let text), .wrongType(let text): text
        case .notUnique(let entity, let attribute):
            "\(entity).\(attribute) is not unique: declare it with isUnique: true, or ask for the first(where:) of several"
        }
    }
}
