extension String {
    /// Whether an expression may name an attribute.
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
    /// What leads from this stored model to a given one, entity by entity; entities without a change are left out. Throws
    /// `StoreError.modelMismatch` when something that the given model needs is gone.
    package func migrations(
        to given: Model, isDemanded: Bool, hasClosure: Bool
    ) throws -> [EntityMigration] {
        try given.entities.filter { !$0.isDropped }.map { entity in
            guard let number = entities.firstIndex(where: { $0.name == entity.name && !$0.isDropped }) else {
                return EntityMigration(adding: entity)
            }
            return try EntityMigration(
                of: entities[number], number: number, to: entity, isDemanded: isDemanded, hasClosure: hasClosure)
        }.filter { !$0.isEmpty }
    }

    /// The model after migrations.
    package func applying(_ migrations: [EntityMigration]) throws -> Model {
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
