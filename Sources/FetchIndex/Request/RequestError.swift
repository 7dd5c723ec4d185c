/// Why a request does not fit its entity, or cannot be read.
public enum RequestError: Error, Equatable, Sendable {
    /// A text is no sort key, section key or section order; the text says why.
    case malformed(String)
    /// An attribute's type does not fit its use in the request.
    case wrongType(String)
    /// An object is asked for by the value of an attribute that several may share.
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
