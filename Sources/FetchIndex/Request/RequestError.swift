/// Why a request does not fit its entity, or cannot be read.
public enum RequestError: Error, Equatable, Sendable {
    /// A text that describes a sort key, section key or section order is not one; the text says why.
    case malformed(String)
    /// An attribute has a type that the request cannot use so.
    case wrongType(String)
}

extension RequestError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let text), .wrongType(let text): text
        }
    }
}
