package import FetchIndexModels

/// What a record that is written does with the object that has its unique value.
package enum WriteRule {
    /// Every record is a new object: a unique value that is taken is an error.
    case insert
    /// The record updates the object; the first of several constraints decides. `merge` makes the object's new record; without it,
    /// references stay where the written record has none.
    case update(by: [UniqueConstraint], merge: RecordMerge? = nil)

    var isUpdate: Bool { if case .update = self { true } else { false } }

    /// The constraints whose values lead to stored objects.
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

/// Makes an object's new record from its stored one and the written one, which leaves some slots to it.
package typealias RecordMerge = (_ old: RawSpan, _ new: RawSpan, _ kept: KeptSlots?) throws -> [UInt8]

/// What became of a record that was written.
package enum WriteOutcome: Equatable, Sendable {
    case inserted(RecordKey)
    case updated(RecordKey)
    /// The stored record had these bytes already.
    case unchanged(RecordKey)

    package var object: RecordKey {
        switch self {
        case .inserted(let object), .updated(let object), .unchanged(let object): object
        }
    }

    package var isUnchanged: Bool { if case .unchanged = self { true } else { false } }
}

/// What the next batch of an import will probably be like.
package struct BatchTraits {
    /// Whether the store has most records already, in the order of their objects: then sorting keys beforehand is in vain.
    package var areMostUnchanged = false
    /// Whether new keys go to many pages, few to each.
    package var areKeysScattered = false
}
