package import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords
package import FetchIndexValues

/// The description of a changed object for people and programs: its first unique value, and its values before and after
/// the change.
package struct ObjectName {
    /// The value of the entity's first unique attribute; nil if the entity has no unique attribute.
    package var key: Value?
    /// The values before the change, by attribute; nil for a new object, or if the log is too short. If values weren't
    /// asked for, only deleted objects have them.
    package var oldValues: [String: Value]?
    /// The values after the change, by attribute; nil for a deleted object, or if values weren't asked for.
    package var newValues: [String: Value]?
}

extension PersistentContainer {
    /// The descriptions of objects in the newest state, without the values of existing objects; see
    /// `StoreReader.names`.
    package func names(of ids: [ObjectID], since commit: UInt64?) throws -> [ObjectID: ObjectName] {
        try withPublicErrors { try store.snapshot().names(of: ids, since: commit) }
    }
}

extension StoreReader {
    /// The descriptions of objects: their current key and values, and their values at a commit. If `withValues` is
    /// false, only deleted objects have values. If the log doesn't reach back to the commit, deleted objects are left
    /// out, and other objects have no old values. If `commit` is nil, deleted objects are left out, and old values
    /// equal the new ones.
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
                // The log replaces the old values of changed objects below.
                names[id] = ObjectName(key: try entity.key(of: record), oldValues: values, newValues: values)
            }
            if withValues || !isFound { wanted[id.key] = id }
        }
        guard let commit, !wanted.isEmpty else { return names }
        guard logReaches(back: commit) else {
            for id in wanted.values { names[id]?.oldValues = nil }
            return names
        }
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
    /// The commit after which the changes in the outcome were made. It has no meaning if the order was built.
    var changedSince: UInt64? { opened.start }

    /// The descriptions of objects in the order's state. Old values are of `commit`; if it's nil, of `changedSince`.
    /// See `StoreReader.names`.
    package func names(
        of ids: some Sequence<ObjectID>, since commit: UInt64? = nil, withValues: Bool
    ) throws -> [ObjectID: ObjectName] {
        try withPublicErrors { try snapshot.names(of: ids, since: commit ?? changedSince, withValues: withValues) }
    }

    /// Whether a name is that of a Boolean attribute, or a key path to a Boolean attribute.
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
