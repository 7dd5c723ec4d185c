internal import FetchIndexPlatform
package import FetchIndexModels
package import FetchIndexValues

/// The options of a migration.
package struct Migration {
    /// Returns new values of an object by the attribute names of the new model, from its old values by the names of the
    /// old model. An attribute that the result lacks is migrated as without a closure.
    package typealias Convert = (_ entity: String, _ old: [String: Value]) throws -> [String: Value]

    /// Whether the model becomes the store's even if the store followed it before and has followed a newer one since.
    package var isDemanded = false
    /// Whether passes over the records are allowed.
    package var allowsPasses = false
    /// Gives the values that the models don't determine.
    package var convert: Convert?
    /// Called every few thousand records, and at the end, with the number of records read and their total.
    package var progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }

    package init() {}

    /// A migration that a user demands, unlike that of a program that opens its store.
    package static var demanded: Migration {
        var migration = Migration()
        migration.isDemanded = true
        return migration
    }
}

/// A migration that is written and sealed, but not committed: orders still match the old model.
package struct OpenMigration {
    package let writer: StoreWriter
    package let old: Model
}

extension Store {
    /// The changes from the stored model to a given one. An entity without objects needs no pass.
    package func difference(to model: Model) throws -> ModelDifference {
        try model.validate()
        let snapshot = try snapshot()
        return ModelDifference(try snapshot.migrations(to: model, .demanded))
    }

    /// Makes a given model the stored one, in a transaction that the caller commits after it has updated the orders of
    /// indexes. Returns nil if nothing is left to do: the model is stored already, or only its declaration differs,
    /// which was noted unless the store is read-only or a writer is busy.
    package func beginMigration(to model: Model, _ migration: Migration) throws -> OpenMigration? {
        try model.validate()
        let needed = try snapshot().migrations(to: model, migration)
        if needed.isEmpty { return nil }
        // A declaration that changes nothing is only noted, and only if that doesn't wait for a writer.
        let isNote = needed.allSatisfy(\.steps.isEmpty)
        if isNote && isReadOnly { return nil }
        let begun = isNote ? try tryBeginWrite(author: "migration") : try beginWrite(author: "migration")
        guard let writer = begun else { return nil }
        // Another process may have been faster.
        let migrations = try writer.migrations(to: model, migration)
        if migrations.isEmpty { return nil }
        let old = writer.model
        try writer.migrate(migrations, migration)
        try writer.seal()
        if !isNote { return OpenMigration(writer: writer, old: old) }
        try writer.commit()
        return nil
    }
}

extension StoreReader {
    /// The number of objects of all these entities together.
    package func count(of entities: [Int]) throws -> UInt64 {
        try entities.reduce(0) { try $0 &+ entityState($1).count }
    }

    /// Throws if an entity with objects of its own becomes abstract.
    private func requireNoObjects(of migration: EntityMigration) throws {
        guard migration.steps.contains(where: { $0.change == .changeAbstract(to: true) }), let number = migration.number
        else { return }
        let count = try entityState(number).count
        guard count > 0 else { return }
        throw StoreError.modelMismatch(
            entity: migration.new.name,
            "it cannot become abstract, because it has \(counted(count, "object")) of its own")
    }

    func migrations(to given: Model, _ migration: Migration) throws -> [EntityMigration] {
        let migrations = try model.migrations(
            to: given, isDemanded: migration.isDemanded, hasClosure: migration.convert != nil
        ).map { migration in
            try requireNoObjects(of: migration)
            // Indexes and unique keys of an entity include its subentities.
            let superentity = migration.new.superentity.flatMap { try? model.number(of: $0) }
            let read = migration.number.map(model.hierarchy) ?? superentity.map(model.family) ?? []
            return try !read.isEmpty && count(of: read) == 0 ? migration.withoutObjects : migration
        }
        // Throws for derivations that cannot be computed.
        for migration in migrations { try migration.new.requireDerivations() }
        return migrations
    }
}

extension Value {
    /// The value as another type; nil if converting it back doesn't give the same value.
    func converted(to type: ValueType) -> Value? {
        guard let converted = read(as: type) else { return nil }
        let isSame =
            switch (self, converted) {
            // A text is read only if the type holds it exactly: 1.50 is 1.5, and 0042 is 42.
            case (.null, _), (.string, _): true
            default: self.type.flatMap { converted.read(as: $0) } == self
            }
        // In an expression, `nil` would be the value null.
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
        // Reads text like `import`.
        case (.string(let text), _): Value(exactly: text, as: type)
        default: Value(description, as: type)
        }
    }
}
