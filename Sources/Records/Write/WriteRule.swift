package import FetchIndexModels

/// The rule for a record whose unique value a stored object may have.
package enum WriteRule {
    /// Each record is a new object. If its unique value is taken, that is an error.
    case insert
    /// The record updates the object that has its unique value, or inserts a new object. If several constraints lead to
    /// objects of the entity, the first of these constraints decides. `merge` makes the new record; without it, the
    /// object keeps references that the written record lacks.
    case update(by: [UniqueConstraint], merge: RecordMerge? = nil)

    var isUpdate: Bool { if case .update = self { true } else { false } }

    /// The constraints whose values lead to the objects to update.
    var constraints: [UniqueConstraint] {
        switch self {
        case .insert: []
        case .update(let constraints, _): constraints
        }
    }

    var merge: RecordMerge? {
        switch self {
        case .insert: nil
        case .update(_, let merge): merge
        }
    }
}

/// Makes an object's new record from its stored record and the written one. The written record leaves out the kept
/// slots.
package typealias RecordMerge = (_ old: RawSpan, _ new: RawSpan, _ kept: KeptSlots?) throws -> [UInt8]

/// The outcome of writing a record.
package enum WriteOutcome: Equatable, Sendable {
    case inserted(RecordKey)
    case updated(RecordKey)
    /// The new record has the same bytes as the stored one.
    case unchanged(RecordKey)

    package var object: RecordKey {
        switch self {
        case .inserted(let object), .updated(let object), .unchanged(let object): object
        }
    }

    package var isUnchanged: Bool { if case .unchanged = self { true } else { false } }
}
