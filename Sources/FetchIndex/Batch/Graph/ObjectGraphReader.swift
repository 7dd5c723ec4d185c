internal import FetchIndexEssentials
internal import FetchIndexModels
internal import FetchIndexRecords

/// Reads a state of a store whose objects are a copy of another program's object graph, to find out what a later copy may
/// change. See ``ObjectGraphWriter``.
package struct ObjectGraphReader {
    private let snapshot: Snapshot

    /// Opens the newest state. Throws `StoreError`.
    package init(_ container: PersistentContainer) throws {
        snapshot = try withPublicErrors { try container.store.snapshot() }
    }

    package var commit: UInt64 { snapshot.commit }
    /// A number that changes with the model.
    package var modelVersion: UInt32 { snapshot.modelVersion }

    /// The description of the graph; nil if the store's objects aren't a copy. Throws `StoreError`.
    package func source<Source: Decodable>(as type: Source.Type) throws -> Source? {
        try withPublicErrors {
            try snapshot.attachment(.graph).flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
        }
    }

    /// The numbers of an entity's objects, in ascending order; none if the store lacks the entity. Throws `StoreError`.
    /// O(n).
    package func numbers(ofEntity name: String) throws -> [UInt64] {
        try withPublicErrors {
            guard let entity = try? snapshot.model.number(of: name) else { return [] }
            var numbers: [UInt64] = []
            try snapshot.scan(entity) { object, _ in
                numbers.append(object.number)
                return true
            }
            return numbers
        }
    }

    /// The objects of an entity that existed at a commit and have other records now, or none. Nil if the log doesn't reach
    /// back to the commit or lacks what a migration rewrote, or if the store lacks the entity. Throws `StoreError`.
    /// O(k log n) for k log entries.
    package func changed(ofEntity name: String, since commit: UInt64) throws -> [UInt64]? {
        try withPublicErrors {
            guard let entity = try? snapshot.model.number(of: name), snapshot.logReaches(back: commit),
                try commit >= snapshot.lastRewrite()
            else { return nil }
            var numbers: [UInt64] = []
            try snapshot.forEachChanged(of: entity, from: commit) { numbers.append($0.number) }
            return numbers
        }
    }

    /// The objects whose records refer to an object, by the names of their entities. Throws `StoreError`.
    /// O(k log n) for k objects.
    package func holders(ofEntity name: String, _ number: UInt64) throws -> [(entity: String, number: UInt64)] {
        try withPublicErrors {
            let model = snapshot.model
            guard let entity = try? model.number(of: name) else { return [] }
            let object = RecordKey(entity: entity, number: number)
            let incoming = model.entities[entity].links?.incoming.filter { !$0.isJoin } ?? []
            return try incoming.flatMap { incoming in
                try snapshot.holders(of: incoming.name, to: object).map { (model.entities[$0.entity].name, $0.number) }
            }
        }
    }
}
