public import FetchIndexModels
internal import FetchIndexEssentials
internal import FetchIndexRecords

/// The rule by which a save handles an edited object that was meanwhile changed or deleted in the store, for example by
/// another context or process. An object that was deleted both in the context and in the store isn't a conflict.
public enum MergePolicy: Hashable, Sendable {
    /// The save throws `MergeConflicts`, and the store stays unchanged.
    case error
    /// Changes are merged by attribute. If an attribute changed both in the context and in the store, the store's value
    /// is kept. If the object was deleted in the context or in the store, the store's object stays as it is, or stays
    /// deleted.
    case mergeByPropertyStoreTrump
    /// Changes are merged by attribute. If an attribute changed both in the context and in the store, the context's
    /// value is saved. If the context deleted the object, it's deleted; if it was deleted from the store, it's inserted
    /// again.
    case mergeByPropertyObjectTrump
    /// The object is saved with all its values in the context, or deleted if the context deleted it. If it was deleted
    /// from the store, it's inserted again.
    case overwrite
    /// The store's object stays as it is; the context's changes are discarded.
    case rollback
}

/// The rule for inserting an object that has the same unique value as a stored object.
public enum UniqueConflictPolicy: Hashable, Sendable {
    /// The save or batch insertion throws, and the store stays unchanged.
    case error
    /// The stored object with the unique value takes the values that were set on the new object, or the values of an
    /// inserted row (an upsert). If the new object shares unique values with several stored objects, the first unique
    /// attribute with a shared value decides which one is updated, and the other shared values are errors. If that
    /// stored object is of another entity (of the same hierarchy), the insertion throws.
    case update
}

/// An edited object that was meanwhile changed or deleted in the store, for example by another context or process.
public struct MergeConflict: Sendable {
    public let objectID: ObjectID
    public let entityName: String
    /// The values that the context read, by attribute. The value of a to-one relationship is the related object's id as
    /// text.
    public let original: [String: Value]
    /// The context's values; nil if the context deleted the object.
    public let inContext: [String: Value]?
    /// The store's values; nil if the object was deleted from the store.
    public let inStore: [String: Value]?
}

/// The error of a save under the policy `.error` if objects with unsaved edits were changed or deleted in the store.
public struct MergeConflicts: Error, CustomStringConvertible {
    public let conflicts: [MergeConflict]

    public var description: String {
        let objects = conflicts.prefix(3).map { conflict in
            let change = conflict.inStore == nil ? "deleted" : "changed"
            return "\(conflict.entityName) \(conflict.objectID.number) was \(change) in the store meanwhile"
        }
        let more = conflicts.count > 3 ? ", and \(conflicts.count - 3) more" : ""
        return "the save conflicts with the store: " + objects.joined(separator: ", ") + more
    }
}

/// The error of a save if objects can't be saved or deleted, for example because of invalid values.
public struct ValidationError: Error, CustomStringConvertible {
    public struct Failure: Sendable, CustomStringConvertible {
        public let objectID: ObjectID
        public let entityName: String
        /// The attribute or relationship with the invalid value; nil for another failure, for example if the object's
        /// own `validate` failed.
        public let attribute: String?
        public let reason: String

        public var description: String {
            let kind = objectID.isTemporary ? "new " : ""
            let number = objectID.isTemporary ? objectID.number - RecordKey.firstTemporaryNumber : objectID.number
            return "\(kind)\(entityName) \(number): " + (attribute.map { "\($0) " } ?? "") + reason
        }
    }

    public let failures: [Failure]

    public var description: String {
        let more = failures.count > 3 ? ", and \(failures.count - 3) more" : ""
        return "objects cannot be saved: " + failures.prefix(3).map(\.description).joined(separator: "; ") + more
    }
}

/// A request or operation that isn't possible in a context or controller.
public enum ContextError: Error, Equatable, Sendable {
    /// A save, merge, rollback or batch request was called during a delivery, or a controller fetched a new request
    /// while it was delivering changes.
    case delivering
    /// Another live controller of the context uses the cache name, with another request.
    case cacheNameInUse(String)
    /// The order of the request can't be cached; the text gives the reason.
    case notCacheable(String)
    /// The request of a controller has no sort key.
    case noSortKeys
    /// The context uses another class for the entity's objects.
    case wrongClass(entity: String, String, asked: String)
    /// The id belongs to an object of another store.
    case otherStore(ObjectID)
}

extension ContextError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .delivering:
            "a context cannot be saved, merged or rolled back while it delivers changes, and a controller that delivers them cannot change its request"
        case .cacheNameInUse(let name):
            "another controller of the context uses the cache \"\(name)\" for another request"
        case .notCacheable(let what): "\(what), so the order cannot be cached"
        case .noSortKeys: "a fetched results controller needs a sort key"
        case .wrongClass(let entity, let name, let asked):
            "in this context, entity \"\(entity)\" is represented by class \(name), which is not a \(asked)"
        case .otherStore(let id):
            "\(id.entityName) \(id) is an object of another store, \(id.storeIdentifier?.uuidString ?? "unknown")"
        }
    }
}

extension ManagedObject {
    /// The conflict between this object's edits, which are based on the record `base`, and the record in the store.
    func conflict(base: [UInt8]?, stored: [UInt8]?) -> MergeConflict {
        func named(_ record: [UInt8]?) -> [String: Value]? {
            guard let record, let values = try? entity.valuesBySlot(of: record.span.bytes) else { return nil }
            return self.named(Dictionary(uniqueKeysWithValues: values.enumerated().map { ($0, $1) }))
        }
        return MergeConflict(
            objectID: objectID, entityName: entity.name, original: named(base) ?? [:],
            inContext: status.isDeleted ? nil : named(assembled(over: base)), inStore: named(stored))
    }
}
