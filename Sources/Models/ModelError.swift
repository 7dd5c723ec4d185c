internal import FetchIndexPlatform
package import FetchIndexValues

/// A defect of a model, a name that a model doesn't have, or a difference from the stored model.
package enum ModelError: DamageReporting, Equatable {
    /// `near` is a known name that resembles the unknown one, if any.
    case unknownEntity(String, near: NearName = NearName())
    case unknownAttribute(entity: String, attribute: String, near: NearName = NearName())
    /// The stored entity can't be migrated to the given one, or doesn't fit what a program declares; the text gives the
    /// reason.
    case mismatch(entity: String, String)
    case invalid(String)
    /// The bytes of a stored model are damaged; the text describes the damage.
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
