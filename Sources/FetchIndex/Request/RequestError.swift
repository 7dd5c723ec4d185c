/// The reason why a request is malformed or doesn't fit its entity.
public enum RequestError: Error, Equatable, Sendable {
    /// A part of the request, such as a sort key or an aggregate, is invalid or missing; the associated text gives the
    /// reason.
    case malformed(String)
    /// An attribute, a relationship or a section function has a type that the request can't use in this place; the
    /// associated text gives the reason.
    case wrongType(String)
    /// An object can't be found by the value of this attribute, because the attribute isn't unique.
    case notUnique(entity: String, attribute: String)
}

extension RequestError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let text), .wrongType(let text): text
        case .notUnique(let entity, let attribute):
            "\(entity).\(attribute) is not unique: declare it with isUnique: true, or use first(where:), which finds the first of several objects"
        }
    }
}
