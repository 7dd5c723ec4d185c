public import FetchIndexModels
internal import FetchIndexEssentials
internal import FetchIndexRecords

/// The action of a save for an object that another context or process has changed since this context read it.
public enum MergePolicy: Hashable, Sendable {
    /// The save throws `MergeConflicts` and changes nothing.
    case error
    /// Changes are merged by attribute; if both sides changed one, the store's value is kept.
    case mergeByPropertyStoreTrump
    /// Changes are merged by attribute; if both sides changed one, the context's value is saved.
    case mergeByPropertyObjectTrump
    /// The context's whole object is saved.
    case overwrite
    /// The store's object is kept; the context's changes are dropped.
    case rollback
}

/// The action of an insertion if another object has a unique value of the new one.
public enum UniqueConflictPolicy: Hashable, Sendable {
    /// The insertion throws and changes nothing.
    case error
    /// The object that has the unique value takes the new one's values (an upsert). If several objects have unique
    /// values of the new one, the first unique attribute decides, and the others cause an error.
    case update
}

/// An object that was changed both in a context and elsewhere.
public struct MergeConflict: Sendable {
    public let objectID: ObjectID
    public let entityName: String
    /// The values that the context read, by attribute; for to-one relationships, the ids of related objects as text.
    public let original: [String: Value]
    /// The context's values; nil if it deleted the object.
    public let inContext: [String: Value]?
    /// The store's values; nil if the object was deleted there.
    public let inStore: [String: Value]?
}

/// The error of a save under the policy `.error` if objects were changed elsewhere.
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

/// The error of a save if objects are invalid.
public struct ValidationError: Error, CustomStringConvertible {
    public struct Failure: Sendable, CustomStringConvertible {
        public let objectID: ObjectID
        public let entityName: String
        /// The attribute; nil if the object as a whole is invalid, or its own `validate` failed.
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

/// A request that a context or a controller cannot fulfil.
public enum ContextError: Error, Equatable, Sendable {
    /// A save, merge or rollback during a delivery, or a new request of a controller that is delivering changes.
    case delivering
    /// Another live controller of the context uses the cache name for another request.
    case cacheNameInUse(String)
    /// The request cannot have a cache; the text says why.
    case notCacheable(String)
    /// A controller needs at least one sort key.
    case noSortKeys
    /// The entity's objects have another class in this context.
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
            "entity \"\(entity)\" is represented by class \(name) in this context, which is not a \(asked)"
        case .otherStore(let id):
            "\(id.entityName) \(id) is an object of another store, \(id.storeIdentifier?.uuidString ?? "unknown")"
        }
    }
}

extension ManagedObject {
    /// The conflict to report for an object whose stored record differs from the one that it was based on.
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
