internal import FetchIndexOrderCaches
public import FetchIndexModels
internal import FetchIndexRecords
public import FetchIndexValues

/// Which changes opening a store may make to its model.
public enum MigrationPolicy: Sendable {
    /// Those that cost O(1). Others are refused with a sentence, and nothing changes.
    case freeChanges
    /// Also those that need a pass over the records: another type, required values, unique values, indexes, derived attributes.
    case automatic
}

extension PersistentContainer {
    /// Every change that leads from the store's model to another one, with its cost and the reason; nothing is changed. O(1).
    /// Throws `StoreError`, `modelMismatch` when something that the model needs was removed by a newer one.
    public func plan(for model: Model) throws -> ModelDifference {
        try withPublicErrors { try store.difference(to: model) }
    }

    /// Makes a model the store's, in one transaction that a crash undoes as a whole. Contexts of this and other processes go on
    /// with what they read; their next save or merge throws `StoreError.modelMismatch` when the migration changed what they read.
    ///
    /// `convert` is called for each object of each entity that changes. It returns values of attributes that the migration adds,
    /// converts or makes required, by their new names, from all old values; what it leaves out is as without it. `progress` is called from time to time
    /// with the number of records read and of all that are read.
    ///
    /// O(n log n) when records must be read, else O(1). Throws `StoreError`: `cannotMigrate` names the first objects that stand
    /// in the way, and nothing is changed then; and what the closure throws.
    public func migrate(
        to model: Model, convert: ((_ entity: String, _ old: [String: Value]) throws -> [String: Value])? = nil,
        progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws {
        try withPublicErrors {
            var migration = Migration.demanded
            migration.allowsPasses = true
            migration.progress = progress
            migration.convert = convert
            try store.migrate(to: model, migration)
            declare(model)
        }
    }
}

extension Store {
    /// Makes a model the store's, with the orders of its indexes, in one transaction.
    func migrate(to model: Model, _ migration: Migration) throws {
        guard let open = try beginMigration(to: model, migration) else { return }
        try CacheEngine(self).matchIndexes(in: open.writer, from: open.old)
        try open.writer.commit()
    }
}
