internal import FetchIndexPlatform
package import FetchIndexModels
package import FetchIndexValues

/// The options of a migration.
package struct Migration {
    /// Returns new values of an object. The keys of `old` are attribute names of the old model, the keys of the result
    /// attribute names of the new model. Attributes that the result lacks are migrated as without the closure.
    package typealias Convert = (_ entity: String, _ old: [String: Value]) throws -> [String: Value]

    /// Whether the given model becomes the store's even if the store had this model before and has a newer one now. If
    /// it's false, an older program that opens the store doesn't undo a newer program's migration.
    package var isDemanded = false
    /// Whether the migration may read and rewrite all records of an entity. With a `convert` closure, it always may.
    package var allowsPasses = false
    /// Returns values that the two models don't determine.
    package var convert: Convert?
    /// Called every few thousand records, and at the end: `done` of `total` records are finished.
    package var progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }

    package init() {}

    /// The options of a migration that a user requests explicitly, unlike the migration that a program starts when it
    /// opens its store.
    package static var demanded: Migration {
        var migration = Migration()
        migration.isDemanded = true
        return migration
    }
}

/// A migration that is written and sealed, but not committed. The orders of indexes still match the old model.
package struct OpenMigration {
    package let writer: StoreWriter
    package let old: Model
}

extension Store {
    /// The differences between the stored model and another one. If an entity and its subentities have no objects, its
    /// differences need no pass over records.
    package func difference(to model: Model) throws -> ModelDifference {
        try model.validate()
        let snapshot = try snapshot()
        return try snapshot.migration(to: model, .demanded).difference { try snapshot.entityState($0).count > 0 }
    }

    /// Replaces the stored model with another one, in a transaction that the caller commits after it has updated the
    /// orders of indexes. Returns nil if no transaction is left open: no change is needed, or only declarations differ.
    /// In the second case the declarations are stored immediately, unless the store is read-only or moved, or another
    /// writer is busy.
    package func beginMigration(to model: Model, _ migration: Migration) throws -> OpenMigration? {
        try model.validate()
        let needed = try snapshot().migration(to: model, migration)
        if needed.isEmpty { return nil }
        // If only declarations differ, they are stored only if that needs no waiting for another writer.
        let isNote = needed.isNote
        if isNote && isReadOnly { return nil }
        let author = "migration"
        let begun = isNote ? try tryBeginWrite(author: author) : try beginWrite(author: author)
        guard let writer = begun else { return nil }
        // Another process may have migrated the store meanwhile, so the differences are computed again.
        let plan = try writer.migration(to: model, migration)
        if plan.isEmpty { return nil }
        let old = writer.model
        try writer.migrate(plan, migration, author: author)
        try writer.seal()
        if !isNote { return OpenMigration(writer: writer, old: old) }
        try writer.commit()
        return nil
    }
}

extension StoreWriter {
    /// Migrates the store to a model within this transaction, in a commit of its own, which is sealed. Returns the old
    /// model, which the orders of indexes still match; nil if no change is needed, and then nothing is sealed.
    package func migrateAndSeal(to model: Model, _ migration: Migration, author: String) throws -> Model? {
        try model.validate()
        let needed = try self.migration(to: model, migration)
        if needed.isEmpty { return nil }
        try beginNextCommit(author: author)
        let old = self.model
        try migrate(needed, migration, author: author)
        try seal()
        return old
    }
}

extension StoreReader {
    /// The total number of objects of these entities.
    package func count(of entities: [Int]) throws -> UInt64 {
        try entities.reduce(0) { try $0 &+ entityState($1).count }
    }

    /// Throws if an entity that has objects becomes abstract.
    private func requireNoObjects(of migration: EntityMigration) throws {
        guard migration.steps.contains(where: { $0.change == .changeAbstract(to: true) }), let number = migration.number
        else { return }
        let count = try entityState(number).count
        guard count > 0 else { return }
        throw StoreError.modelMismatch(
            entity: migration.new.name,
            "it cannot become abstract, because it has \(counted(count, "object")) of its own")
    }

    func migration(to given: Model, _ migration: Migration) throws -> ModelMigration {
        var plan = try ModelMigration(
            from: model, to: given, isDemanded: migration.isDemanded, hasClosure: migration.convert != nil)
        let model = plan.renamed
        try plan.change { migration in
            try requireNoObjects(of: migration)
            // Throws if the entity has derived attributes that can't be computed.
            try migration.new.requireDerivations()
            // The indexes and unique keys of an entity contain objects of its subentities, so the subentities' objects
            // are counted too.
            let superentity = migration.new.superentity.flatMap { try? model.number(of: $0) }
            let read = migration.number.map(model.hierarchy) ?? superentity.map(model.family) ?? []
            if try !read.isEmpty && count(of: read) == 0 { migration = migration.withoutObjects }
        }
        return plan
    }
}

extension Value {
    /// This value as another type; nil if it can't be read as that type, or if it isn't a text and would change.
    func converted(to type: ValueType) -> Value? {
        guard let converted = read(as: type) else { return nil }
        let isSame =
            switch (self, converted) {
            // A text is converted if `read` accepts it, even if the new value is written differently: 1.50 becomes 1.5,
            // and 0042 becomes 42.
            case (.null, _), (.string, _): true
            default: self.type.flatMap { converted.read(as: $0) } == self
            }
        // If this were a conditional expression, `nil` would be the value null.
        if isSame { return converted }
        return nil
    }

    private func read(as type: ValueType) -> Value? {
        switch (self, type) {
        case (.null, _): .null
        case (_, self.type): self
        case (.integer(let number), .double): Double(exactly: number).map(Value.double)
        case (.double(let number), .integer): Int64(exactly: number).map(Value.integer)
        case (.boolean(let value), .integer): .integer(value ? 1 : 0)
        case (.integer(0), .boolean): .boolean(false)
        case (.integer(1), .boolean): .boolean(true)
        case (_, .string): .string(description)
        // Texts are read by the same rules as `import` uses.
        case (.string(let text), _): Value(exactly: text, as: type)
        default: Value(description, as: type)
        }
    }
}
