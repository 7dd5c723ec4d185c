package import FetchIndex
package import Models
internal import OrderCaches
internal import Records
package import Values

/// What names an object to people: its first unique value, and all values of one that is gone.
package struct ObjectName {
    /// Nil when the entity has no unique attribute, or the values cannot be read.
    package var key: Value?
    /// Of an object that is gone, by name: as they were before.
    package var oldValues: [String: Value]?
}

extension PersistentContainer {
    /// The commit that a cache reflects; nil without a readable one.
    package func commit(ofCache name: String) -> UInt64? {
        (try? CacheDirectory.header(name, in: store.snapshot()))??.commit
    }

    /// The names of objects, also of those that are gone since a commit, where the log reaches back to it. O(k log n) for k
    /// objects; with the log's entries since the commit when one is gone.
    package func names(of ids: [ObjectID], since commit: UInt64?) throws -> [ObjectID: ObjectName] {
        try withPublicErrors {
            let snapshot = try store.snapshot()
            let entities = snapshot.model.entities
            var names: [ObjectID: ObjectName] = [:]
            var gone: [RecordKey: ObjectID] = [:]
            for id in ids where entities.indices.contains(id.key.entity) {
                let entity = entities[id.key.entity]
                let isFound = try snapshot.record(id.key) { names[id] = ObjectName(key: try entity.key(of: $0)) }
                if !isFound { gone[id.key] = id }
            }
            guard let commit, !gone.isEmpty, snapshot.logReaches(back: commit) else { return names }
            for number in Set(gone.keys.map(\.entity)) {
                let entity = entities[number]
                try snapshot.netChanges(of: number, from: commit) { change in
                    guard let id = gone[change.object], let old = change.old else { return }
                    let values = zip(entity.attributes.map(\.name), try entity.values(of: old.span.bytes))
                    names[id] = ObjectName(
                        key: try entity.key(of: old.span.bytes),
                        oldValues: Dictionary(values) { first, _ in first })
                }
            }
            return names
        }
    }
}

extension Entity {
    /// The value of the first unique attribute; nil without one.
    fileprivate func key(of record: RawSpan) throws -> Value? {
        guard let index = attributes.firstIndex(where: \.isUnique) else { return nil }
        return try RecordView(record, of: self).value(at: attributeSlots[index], as: attributes[index].type)
    }
}
