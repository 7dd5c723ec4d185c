internal import FetchIndexOrderCaches
public import FetchIndexModels
internal import FetchIndexRecords
public import FetchIndexValues

/// The changes that an opening may make in the stored model.
public enum MigrationPolicy: Sendable {
    /// Changes with the verdict `ModelDifference.Verdict.free`, which rewrite no records. If any other change is
    /// needed, the opening throws an error, and the store stays unchanged.
    case freeChanges
    /// All changes that can be made without a closure, including changes that read or write each record of an entity:
    /// another type, required values, unique values, indexes, derived attributes.
    case automatic
}

extension PersistentContainer {
    /// Returns the changes from the store's model to another model, with their costs and reasons, without making them.
    /// Reads no records. Throws `StoreError`, for example `modelMismatch` if the store can't be migrated to the model.
    public func plan(for model: Model) throws -> ModelDifference {
        try withPublicErrors { try store.difference(to: model) }
    }

    /// Migrates the store to a model in one transaction. Contexts of this and other processes continue to read their
    /// states. Their next save or merge throws `StoreError.modelMismatch` if the migration has, for example, removed or
    /// converted an attribute of an entity that they use.
    ///
    /// `convert` is called for each object of each entity that the migration changes. It gets the old values of all
    /// attributes, and returns values for attributes that the migration adds, converts or makes required, by their new
    /// names. Attributes that it omits are migrated like those of a migration without `convert`. `progress` is called
    /// from time to time with the number of records read so far and the number of all records that must be read.
    ///
    /// O(n log n) if records must be read, if unique constraints or indexes change, if indexes or maintained caches
    /// must be rebuilt, or if a relationship moves to a superentity; O(links x log n) if relationships are removed or
    /// become one-to-one. Throws `StoreError`: `cannotMigrate` names the first objects that prevent the migration, and
    /// the store stays unchanged. Rethrows the errors of `convert`.
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
            declare(model, in: try store.snapshot().model)
        }
    }
}

extension PersistentContainer {
    /// Adds to the store's model, within an open transaction, what another model has and the store lacks.
    func add(_ model: Model, in writer: StoreWriter, author: String) throws {
        try migrate(to: writer.model.described.adding(model), .demanded, in: writer, author: author)
    }

    /// Migrates the store to a model within an open transaction, in a commit of its own, and updates the caches of its
    /// indexes. Costs like `migrate`; after an error, the transaction can't be used.
    func migrate(to model: Model, _ migration: Migration, in writer: StoreWriter, author: String) throws {
        guard let old = try writer.migrateAndSeal(to: model, migration, author: author) else { return }
        try cacheEngine.matchIndexes(in: writer, from: old)
        try writer.beginNextCommit(author: author)
    }
}

extension Store {
    /// Migrates the store to a model and updates the caches of its indexes, in one transaction.
    func migrate(to model: Model, _ migration: Migration) throws {
        guard let open = try beginMigration(to: model, migration) else { return }
        try CacheEngine(self).matchIndexes(in: open.writer, from: open.old)
        try open.writer.commit()
    }
}
