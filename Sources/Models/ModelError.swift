internal import FetchIndexPlatform
package import FetchIndexValues

/// What is wrong with a model, or with a name that is asked of one.
package enum ModelError: DamageReporting, Equatable {
    /// `near` is the name that may be meant.
    case unknownEntity(String, near: NearName = NearName())
    case unknownAttribute(entity: String, attribute: String, near: NearName = NearName())
    /// The stored entity cannot become the given one; the text says why.
    case mismatch(entity: String, String)
    case invalid(String)
    /// Bytes of a stored model are damaged; the text says what.
    case corrupted(String)

    package var isDamage: Bool { if case .corrupted = self { true } else { false } }
}

extension ModelError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownEntity(let name, let near): "the store has no entity \"\(name)\"\(near.hint)"
        case .unknownAttribute(let entity, let attribute, let near):
            "\(entity) has no attribute \"\(attribute)\"\(near.hint)"
        case .mismatch(let entity, let reason): "the stored entity \(entity) differs from the model's: \(reason)"
        case .invalid(let reason): "the model is invalid: \(reason)"
        case .corrupted(let what): "the store is damaged: \(what)"
        }
    }
}
