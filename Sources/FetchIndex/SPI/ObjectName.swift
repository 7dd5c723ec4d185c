package import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords
package import FetchIndexValues

/// The identification of a changed object for people and programs: its first unique value, and its values before and
/// after the change.
package struct ObjectName {
    /// The unique value; nil if the entity has no unique attribute.
    package var key: Value?
    /// The values before the change, by name; nil for a new object, and unless values are wanted or the object was
    /// deleted.
    package var oldValues: [String: Value]?
    /// The values after the change, by name; nil for a deleted object, and unless values are wanted.
    package var newValues: [String: Value]?
}

extension PersistentContainer {
    /// The names of objects in the newest state; see `StoreReader.names`.
    package func names(of ids: [ObjectID], since commit: UInt64?) throws -> [ObjectID: ObjectName] {
        try withPublicErrors { try store.snapshot().names(of: ids, since: commit) }
    }
}

extension StoreReader {
    /// The names of objects: their present key and values, and their values at a commit, if the log reaches back to it.
    /// Without `withValues`, only deleted objects have values. O(k log n) for k objects, and the log's entries since
    /// the commit if old values are wanted.
    func names(
        of ids: some Sequence<ObjectID>, since commit: UInt64?, withValues: Bool = false
    ) throws -> [ObjectID: ObjectName] {
        let entities = model.entities
        var names: [ObjectID: ObjectName] = [:]
        var wanted: [RecordKey: ObjectID] = [:]
        for id in ids where entities.indices.contains(id.key.entity) {
            let entity = entities[id.key.entity]
            let isFound = try record(id.key) { record in
                let values = withValues ? try entity.namedValues(of: record) : nil
                // An object that hasn't changed has equal old values.
                names[id] = ObjectName(key: try entity.key(of: record), oldValues: values, newValues: values)
            }
            if withValues || !isFound { wanted[id.key] = id }
        }
        guard let commit, !wanted.isEmpty, logReaches(back: commit) else { return names }
        for number in Set(wanted.keys.map(\.entity)) {
            let entity = entities[number]
            try netChanges(of: number, from: commit) { change in
                guard let id = wanted[change.object] else { return }
                guard let old = change.old else {
                    names[id]?.oldValues = nil
                    return
                }
                if names[id] == nil { names[id] = ObjectName(key: try entity.key(of: old.span.bytes)) }
                names[id]?.oldValues = try entity.namedValues(of: old.span.bytes)
            }
        }
        return names
    }
}

extension FetchedOrder {
    /// The commit of the cache before it was opened; nil for an order that was built without a cache.
    var changedSince: UInt64? { opened.start }

    /// The names of objects in the order's state, since the cache's previous commit or another one; see
    /// `StoreReader.names`.
    package func names(
        of ids: some Sequence<ObjectID>, since commit: UInt64? = nil, withValues: Bool
    ) throws -> [ObjectID: ObjectName] {
        try withPublicErrors { try snapshot.names(of: ids, since: commit ?? changedSince, withValues: withValues) }
    }

    /// Whether an attribute, or a key path to one, has Boolean values.
    package func isBoolean(_ name: String) -> Bool { (try? column(name).type) == .boolean }
}

extension Entity {
    /// The value of the first unique attribute; nil if the entity has none.
    fileprivate func key(of record: RawSpan) throws -> Value? {
        guard let index = attributes.firstIndex(where: \.isUnique) else { return nil }
        return try RecordView(record, of: self).value(at: attributeSlots[index], as: attributes[index].type)
    }

    fileprivate func namedValues(of record: RawSpan) throws -> [String: Value] {
        Dictionary(zip(attributes.map(\.name), try values(of: record))) { first, _ in first }
    }
}
