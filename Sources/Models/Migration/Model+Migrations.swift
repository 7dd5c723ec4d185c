extension String {
    /// Whether the text of an expression contains a name: as a word if the name is one, otherwise anywhere.
    func mentions(_ name: String) -> Bool {
        func isWord(_ character: Character) -> Bool { character.isLetter || character.isNumber || character == "_" }
        return name.allSatisfy(isWord) ? split(whereSeparator: { !isWord($0) }).contains { $0 == name } : contains(name)
    }
}

extension Entity {
    func asDeclared(in stored: Entity) -> Declaration {
        let names = attributes.map(\.name).sorted()
        return Declaration(checksum: declaration, slots: names.map { stored.slot(of: $0) ?? 0 })
    }
}

extension Model {
    /// The migrations of the entities that change between this stored model and a given one, or whose declarations are
    /// new to the store. The migration of the named entities is demanded in any case. Throws `ModelError.mismatch` if an
    /// entity can't be migrated, or doesn't fit the given model.
    func migrations(
        to given: Model, isDemanded: Bool, of demanded: Set<String> = [], hasClosure: Bool
    ) throws -> [EntityMigration] {
        var next = self
        var joins = NewJoins(from: self, to: given)
        var migrations: [EntityMigration] = []
        for entity in given.superentitiesFirst {
            let migration: EntityMigration
            if let number = entities.firstIndex(where: { $0.name == entity.name && !$0.isDropped }) {
                migration = try EntityMigration(
                    of: entities[number], number: number, to: entity,
                    isDemanded: isDemanded || demanded.contains(entity.name), hasClosure: hasClosure,
                    used: isDemanded ? given.names(around: entity) : []
                ) { joins.storage(of: $0, in: entity, inheritedFrom: next.superentity(of: entity)) }
                if migration.isEmpty { continue }
                try requireSubentities(of: number, in: given, migration)
                next.entities[number] = migration.new
            } else {
                let used = isDemanded ? given.names(around: entity) : []
                var added = try next.migration(adding: entity, stored: entities.count, used, &joins)
                if next.number(ofPermanent: entity.name) != nil {
                    added.permanentName = "\(entity.name)~\(next.entities.count)"
                }
                migration = added
                next.entities.append(migration.new)
            }
            migrations.append(migration)
        }
        return withRenewedKeys(migrations + joins.entities.map { EntityMigration(adding: $0) }, to: next)
    }

    /// The names of all properties of an entity, its superentities and its subentities.
    func names(around entity: Entity) -> Set<String> {
        guard let number = try? number(of: entity.name) else { return [] }
        let entities = (superentities(of: number) + hierarchy(of: number)).map { self.entities[$0] }
        return Set(entities.flatMap { $0.attributes.map(\.name) + $0.relationships.map(\.name) })
    }

    private func superentity(of entity: Entity) -> Entity? { entity.superentity.flatMap { self.entity(named: $0) } }

    /// Gives the migrations of a hierarchy the cost of a pass, which writes the unique keys again, if the unique
    /// constraints of one of its entities, or the owners of these constraints, change. The keys begin with the owner's
    /// number, so they may change even if each entity has the same constraints as before.
    private func withRenewedKeys(_ migrations: [EntityMigration], to next: Model) -> [EntityMigration] {
        if !next.hasHierarchies { return migrations }
        let (before, after) = (withKeyOwners(), next.withKeyOwners())
        let changed = Set(
            entities.indices.filter { before.entities[$0].uniqueConstraints != after.entities[$0].uniqueConstraints }
                .flatMap { next.family(of: $0).count > 1 ? next.family(of: $0) : [] })
        return migrations.map { migration in
            guard let number = migration.number, changed.contains(number) else { return migration }
            var migration = migration
            migration.renewKeys()
            return migration
        }
    }

    /// Makes the migration that adds an entity. New entities are numbered after the `stored` ones. If the stored
    /// superentity has attributes that the given model lacks, the entity inherits these, too.
    private func migration(
        adding entity: Entity, stored: Int, _ used: Set<String>, _ joins: inout NewJoins
    ) throws -> EntityMigration {
        guard let number = entity.superentity.flatMap({ try? self.number(of: $0) }) else {
            return try EntityMigration(adding: entity, used: used) {
                joins.storage(of: $0, in: entity, inheritedFrom: nil)
            }
        }
        let parent = entities[number]
        var migration = try EntityMigration(adding: entity.inheriting(from: parent, isStored: true), used: used) {
            joins.storage(of: $0, in: entity, inheritedFrom: parent)
        }
        let indexed = ([number] + superentities(of: number)).first { $0 < stored && !entities[$0].indexKeys.isEmpty }
        if let indexed { migration.rebuildIndexes(of: entities[indexed].name) }
        return migration
    }

    /// Throws if the migration changes more of an entity than indexes and abstractness, and the given model lacks one
    /// of the entity's subentities. That subentity would keep the old attributes and relationships.
    private func requireSubentities(of number: Int, in given: Model, _ migration: EntityMigration) throws {
        let changesAttributes = migration.steps.contains {
            switch $0.change {
            case .addIndex, .removeIndex, .changeAbstract: false
            default: true
            }
        }
        guard changesAttributes,
            let left = hierarchy(of: number).first(where: { given.entity(named: entities[$0].name) == nil })
        else { return }
        throw ModelError.mismatch(
            entity: entities[number].name,
            "\(entities[left].name) is a subentity of this entity in the store: a model that changes the superentity must declare both"
        )
    }

    /// Returns the model after migrations. Throws `ModelError.invalid` if that model is invalid.
    package func applying(_ migrations: [EntityMigration]) throws -> Model {
        if migrations.isEmpty { return self }
        var model = self
        for migration in migrations {
            if let number = migration.number {
                model.entities[number] = migration.new
            } else {
                model.entities.append(migration.new)
            }
        }
        try model.validate()
        return model
    }
}

extension ModelDifference {
    package init(_ migrations: [EntityMigration]) { steps = migrations.flatMap(\.steps) }
}
