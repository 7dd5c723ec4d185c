/// Why a request does not fit its entity, or cannot be read.
public enum RequestError: Error, Equatable, Sendable {
    /// A text is no sort key, section key or section order; the text says why.
    case malformed(String)
    /// An attribute's type does not fit its use in the request.
    case wrongType(String)
}

extension RequestError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let text), .wrongType(let text): text
        }
    }
}
