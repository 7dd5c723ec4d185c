extension Model {
    /// A stored model as it was described: without dropped entities, and without the join entities of many-to-many
    /// relationships.
    package var described: Model {
        Model(entities: entities.filter { !$0.isDropped && !$0.isJoin }, requests: requests)
    }

    /// This described model with an entity that replaces the one of its name, or comes after all others.
    package func with(_ entity: Entity) -> Model {
        var entities = entities
        if let index = entities.firstIndex(where: { $0.name == entity.name }) {
            entities[index] = entity
        } else {
            entities.append(entity)
        }
        // This gives subentities what their superentities have.
        return Model(entities: entities, requests: requests)
    }

    /// This described model with the entities, attributes and relationships that only another one has.
    package func adding(_ other: Model) -> Model {
        other.superentitiesFirst.reduce(self) { model, theirs in
            guard let own = model.entity(named: theirs.name) else { return model.with(theirs) }
            let attributes = theirs.attributes.filter { own.slot(of: $0.name) == nil }
            let relationships = theirs.relationships.filter { own.relationship(named: $0.name) == nil }
            if attributes.isEmpty && relationships.isEmpty { return model }
            return model.with(own.adding(attributes, relationships))
        }
    }
}

extension Entity {
    /// The entity with more attributes and relationships.
    package func adding(
        _ attributes: [AttributeDescription], _ relationships: [RelationshipDescription]
    ) -> Entity {
        Entity(
            name, self.attributes + attributes, relationships: self.relationships + relationships,
            unique: uniqueAttributes, indexes: indexes, superentity: superentity, isAbstract: isAbstract)
    }
}
