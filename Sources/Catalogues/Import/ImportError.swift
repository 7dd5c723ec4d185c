internal import FetchIndexPlatform
package import FetchIndexValues

/// The reason why an import can't begin, or can't end as it should.
package enum ImportError: Error {
    /// A column's fields should name objects of this entity, but the store lacks the entity.
    case unknownRelated(entity: String, near: NearName)
    /// The attribute that should name objects would belong to the new entity, but it isn't the key.
    case notKey(entity: String, attribute: String)
    case unknownRelationship(entity: String, name: String, near: NearName)
    /// An attribute of an entity that isn't created anew has another type than the given one.
    case otherType(entity: String, attribute: String, stored: ValueType, given: ValueType)
    /// Objects that the file lacks should be deleted, but neither the request nor the table has a key.
    case noKey
    /// Rows were skipped, so it's unknown which objects the file lacks.
    case skipped(count: Int, first: BadInput?)
    /// The file lacks more objects than may be deleted.
    case lacksTooMany(missing: Int, objects: Int, mostDeleted: Int)
}

extension ImportError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownRelated(let entity, let near): "\(entity) is no entity of the store\(near.hint)"
        case .notKey(let entity, let attribute): "\(entity).\(attribute) is not unique, so it cannot name objects"
        case .unknownRelationship(let entity, let name, let near): "\(entity) has no relationship \(name)\(near.hint)"
        case .otherType(let entity, let attribute, let stored, let given):
            "\(entity).\(attribute) is stored as \(stored.name), not as \(given.name)"
        case .noKey: "the table has no primary key of one column"
        case .skipped(let count, let first): "\(counted(count, "bad row")) skipped\(first.map { " (\($0))" } ?? "")"
        case .lacksTooMany(let missing, let objects, let most):
            "the file lacks \(missing) of \(counted(objects, "object")), more than \(most) per cent"
        }
    }
}

/// The error that ended an import, and what was saved.
package struct ImportStopped: Error {
    package enum Saved {
        /// All rows were in one transaction, which is dropped.
        case nothing
        /// This number of rows was saved, all from before the error. In all, `unlinked` of their links couldn't be
        /// made, because the linked rows hadn't been read.
        case rows(Int, unlinked: Int)
        /// All rows, but without the links to rows that didn't arrive.
        case withoutLinks
    }

    package let cause: any Error
    package let saved: Saved
    /// Whether the entity had no objects before the import, and got none from it.
    package let isEntityEmpty: Bool
}
