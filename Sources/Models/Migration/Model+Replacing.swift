extension Model {
    /// The model with removals: of the attributes, relationships and indexes that a stored model has and this one's
    /// entities lack. For models that say all that an entity has, unlike a program's classes. Entities that only the stored
    /// model has stay.
    package func replacing(_ stored: Model) -> Model {
        Model(
            entities: entities.map { entity in
                guard let old = stored.entity(named: entity.name) else { return entity }
                var kept = entity.attributes.map { ($0.renamedFrom ?? $0.name, $0.name) }
                kept += entity.relationships.map { ($0.renamedFrom ?? $0.name, $0.name) }
                kept += (entity.attributes.map(\.name) + entity.relationships.map(\.name)).map { ($0, $0) }
                let newNames = Dictionary(kept) { first, _ in first }
                let gone = (old.attributes.map(\.name) + old.relationships.map(\.name)).filter { newNames[$0] == nil }
                // An index goes with an attribute that is removed.
                let indexes = old.indexes.filter { index in
                    let keys = index.keys.compactMap { key in
                        newNames[key.attribute].map { Index.Key($0, isDescending: key.isDescending) }
                    }
                    return keys.count == index.keys.count && !entity.indexes.contains(Index(keys: keys))
                }
                return Entity(
                    entity.name, entity.attributes, relationships: entity.relationships,
                    unique: entity.uniqueAttributes,
                    indexes: entity.indexes, removed: entity.removedAttributes + gone,
                    removedIndexes: entity.removedIndexes + indexes,
                    superentity: entity.superentity, isAbstract: entity.isAbstract)
            })
    }
}
