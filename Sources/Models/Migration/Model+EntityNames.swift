extension Model {
    /// A stored entity that gets another name.
    struct EntityRename {
        let number: Int
        let name: String
    }

    /// The stored entities that get the names of a given model's entities. Throws `ModelError.mismatch` if a given
    /// entity has the former name of a stored one, which the given model lacks: the given model is older.
    func entityRenames(to given: Model) throws -> [EntityRename] {
        try given.entities.filter { !$0.isDropped && entity(named: $0.name) == nil }.compactMap { entity in
            if let former = entity.renamedFrom, let number = try? number(of: former) {
                if given.entity(named: former) == nil { return EntityRename(number: number, name: entity.name) }
                throw ModelError.mismatch(
                    entity: entity.name, "it is renamed from \(former), which the model declares too")
            }
            let taken = entities.first {
                !$0.isDropped && $0.stored.formerNames.contains(entity.name) && given.entity(named: $0.name) == nil
            }
            if let taken { throw ModelError.mismatch(entity: entity.name, "it is called \(taken.name) now") }
            return nil
        }
    }

    /// The stored model with other names of entities. Numbers, slots and records stay as they are.
    func renaming(_ renames: [EntityRename]) -> Model {
        if renames.isEmpty { return self }
        let names = Dictionary(renames.map { (entities[$0.number].name, $0.name) }) { first, _ in first }
        var model = self
        model.entities = entities.map { $0.renamingEntities(names) }
        model.requests = requests.map { $0.renamingEntities(names) }
        return model
    }

    /// This stored model, as a program would declare it that wants nothing but the names that entities have in a model
    /// that replaces it. Nil if no entity gets another name.
    package func withEntityNames(of given: Model) -> Model? {
        let renames = given.entities.compactMap { entity -> EntityRename? in
            guard let old = given.source(of: entity, in: self), old.name != entity.name else { return nil }
            return (try? number(of: old.name)).map { EntityRename(number: $0, name: entity.name) }
        }
        if renames.isEmpty { return nil }
        let former = Dictionary(renames.map { ($0.name, entities[$0.number].name) }) { first, _ in first }
        let renamed = renaming(renames).entities.filter { !$0.isDropped && !$0.isJoin }
        return Model(entities: renamed.map { $0.declared(renamedFrom: former[$0.name]) })
    }
}

extension Entity {
    /// The stored entity under the new names of entities, by their old names.
    fileprivate func renamingEntities(_ names: [String: String]) -> Entity {
        var stored = stored
        if let name = names[name] {
            stored.permanentName = permanentName == name ? nil : permanentName
            stored.formerNames = stored.formerNames.filter { $0 != name } + [self.name]
        }
        let relationships = storedRelationships.map { relationship in
            guard let destination = names[relationship.description.destination] else { return relationship }
            var relationship = relationship
            relationship.description = relationship.description.changed(destination: destination)
            return relationship
        }
        var entity = Entity(
            names[name] ?? name, slots: slots, uniqueLists: uniqueLists, indexKeys: indexKeys,
            relationships: relationships, superentity: superentity.map { names[$0] ?? $0 }, isAbstract: isAbstract,
            isJoin: isJoin, stored: stored)
        entity.missingValues = missingValues
        return entity
    }

    /// The entity as a program would declare it.
    fileprivate func declared(renamedFrom former: String?) -> Entity {
        Entity(
            name, attributes, relationships: relationships, unique: uniqueAttributes, indexes: indexes,
            superentity: superentity, isAbstract: isAbstract, renamedFrom: former)
    }
}
