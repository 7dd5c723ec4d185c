public import FetchIndex
public import FetchIndexEssentials

/// What an import of a store of Core Data did.
public struct CoreDataImport: Sendable {
    /// The numbers of objects that were inserted, updated, unchanged and deleted. An object counts as updated if its
    /// values or its to-one relationships changed.
    public let counts: BatchWriter.Counts
    /// The numbers of links of many-to-many relationships that were added, given other positions, unchanged and removed.
    public let links: BatchWriter.Counts
    /// The number of objects whose values were read. If the copy has a persistent history that reaches back to the last
    /// import, these are the objects that it names, objects that were changed here, and objects that an ordered
    /// relationship sorts; otherwise all.
    public let readCount: Int
    /// What couldn't be taken over.
    public let differences: [CoreDataDifference]
    /// The number of the store's newest commit, which is a new one only if something changed.
    public let commit: UInt64
}

extension PersistentContainer {
    /// Imports a store of Core Data: its model, its objects and their relationships. An object's number is its primary
    /// key (`Z_PK`). If the store was imported before, a later copy is compared: only what differs is written, and
    /// objects that the copy lacks are deleted, without delete rules, in one transaction. A first import of many objects
    /// is saved in parts; if it's interrupted, another one completes it.
    ///
    /// Throws `CoreDataFileError` if the store can't be read, if a later copy lacks more objects than the options allow,
    /// or if the options are strict and something can't be taken over; `StoreError`, for example if the stored model
    /// can't be migrated. A later copy writes nothing then. O(n log n).
    @discardableResult
    public func importCoreDataStore(
        at url: URL, options: CoreDataImportOptions = CoreDataImportOptions()
    ) throws -> CoreDataImport {
        if let later = try LaterImport(into: self, options),
            let changes = try CoreDataStore.changes(at: url, options, since: later)
        {
            do {
                let begun = try StoreImport(changes, into: self)
                // Others may have changed objects since the changes were read.
                if begun.firstCommit == later.commit { return try begun.run() }
            } catch is StoreError {
                // Only all objects tell what else breaks a rule, and how the model must change.
            }
        }
        return try importCoreDataStore(CoreDataStore(contentsOf: url, options: options))
    }

    /// Throws what an import of a store would throw because of the objects that are here, and writes nothing. O(n).
    package func requireImport(of source: CoreDataStore) throws {
        try StoreImport(source, into: self).missing()
    }

    /// Imports a store that was read already; see ``importCoreDataStore(at:options:)``.
    @discardableResult
    public func importCoreDataStore(_ source: CoreDataStore) throws -> CoreDataImport {
        if let commit = try source.unchangedCommit(in: self) {
            try source.requireWhole()
            return CoreDataImport(
                counts: BatchWriter.Counts(unchanged: source.reader.counts.reduce(0, +)),
                links: BatchWriter.Counts(unchanged: source.reader.linkCount), readCount: source.reader.readCount,
                differences: source.differences, commit: commit)
        }
        do {
            return try StoreImport(source, into: self).run()
        } catch let error as StoreError {
            // Values that differ in the store may be equal after they were converted.
            let broken: (entity: String, attributes: String)
            switch error {
            case .notUnique(let entity, let attributes, _): broken = (entity, attributes)
            case .uniqueValueTooLong(let entity, let attributes): broken = (entity, attributes)
            // Uniqueness that an earlier copy broke is added again at the end.
            case .cannotMigrate(let entity, let attributes, _, _): broken = (entity, attributes)
            default: throw error
            }
            guard let other = try source.withoutUniqueness(of: broken.entity, broken.attributes) else { throw error }
            return try importCoreDataStore(other)
        }
    }
}
