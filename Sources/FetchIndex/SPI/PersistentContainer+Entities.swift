internal import FetchIndexModels
internal import FetchIndexRecords

// For imports, exports and followers of sources, which show their progress and drop empty entities that they have
// added. Users have ``PersistentContainer/information()`` and ``PersistentContainer/dropEntity(named:)``.
extension PersistentContainer {
    /// The number of objects of an entity, without its subentities' objects. Throws `StoreError.unknownEntity`.
    package func count(ofEntity name: String) throws -> Int {
        try withPublicErrors {
            let snapshot = try store.snapshot()
            return Int(clamping: try snapshot.entityState(snapshot.model.number(of: name)).count)
        }
    }

    /// The number of the entity's next new object. Throws `StoreError.unknownEntity`.
    package func nextNumber(ofEntity name: String) throws -> UInt64 {
        try withPublicErrors {
            let snapshot = try store.snapshot()
            return try snapshot.entityState(snapshot.model.number(of: name)).nextObject
        }
    }

    /// The number of records of all entities. An entity whose counter can't be read counts as 0. Throws `StoreError`.
    package func recordCount() throws -> Int {
        try withPublicErrors {
            let snapshot = try store.snapshot()
            return snapshot.model.entities.indices.reduce(0) {
                $0 + Int(clamping: (try? snapshot.entityState($1).count) ?? 0)
            }
        }
    }

    /// Removes an entity like `dropEntity`, but only if it has no objects. Returns false if it has objects. Throws
    /// `StoreError`.
    package func dropEmptyEntity(named name: String) throws -> Bool {
        try withPublicErrors { try dropEntity(named: name, onlyEmpty: true) != nil }
    }
}
