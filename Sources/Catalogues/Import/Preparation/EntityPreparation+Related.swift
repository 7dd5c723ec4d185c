internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

// The entities and relationships that relations of a request need.
extension EntityPreparation {
    private typealias Relation = ImportRequest.Relation

    /// Creates the entities that relations name and the store lacks, if the request says so; otherwise throws.
    func prepareRelated() throws {
        // All relations are checked first, so that no entity is created if one of them is refused here.
        for relation in request.relations { try requireUnique(relation) }
        for relation in request.relations where relation.entity != entity {
            if try container.model().entity(named: relation.entity) != nil { continue }
            guard request.insertsRelated else {
                guard case .unknownEntity(_, let near) = try container.model().unknownEntity(relation.entity) else {
                    return
                }
                throw ImportError.unknownRelated(entity: relation.entity, near: near)
            }
            let key = AttributeDescription(relation.attribute, .string, isOptional: false, isUnique: true)
            _ = try PersistentContainer(
                storeAt: request.store, model: Model(entities: [Entity(relation.entity, [key])]), creates: true)
        }
    }

    /// Throws if the attribute of a relation can't name objects.
    private func requireUnique(_ relation: Relation) throws {
        guard let related = try container.model().entity(named: relation.entity) else {
            if relation.entity != entity || relation.attribute == key { return }
            throw ImportError.notKey(entity: entity, attribute: relation.attribute)
        }
        guard related.uniqueConstraint(ofSlot: try related.requireSlot(of: relation.attribute)) != nil else {
            throw RequestError.wrongType(
                "\(relation.entity).\(relation.attribute) is not unique, so it cannot name objects")
        }
    }

    /// Adds the missing relationships to a stored entity, which is a free change: no record is rewritten. Throws if a
    /// relationship is missing and the request adds no columns.
    func addRelationships(to stored: Entity) throws {
        let missing = request.relations.filter { stored.relationship(named: $0.column) == nil }
        guard let first = missing.first else { return }
        if stored.slot(of: first.column) != nil {
            throw RequestError.wrongType("\(entity).\(first.column) is an attribute, not a relationship")
        }
        guard request.addsColumns else {
            throw ImportError.unknownRelationship(
                entity: entity, name: first.column, near: stored.nearName(to: first.column))
        }
        try container.migrate(to: model(adding: missing, to: stored))
    }

    /// Returns the stored model with an entity that gets relationships, and with their inverses. An inverse is named
    /// like the entity, with an s: books for Book. A relationship has no inverse if it leads to the entity itself, or
    /// if the inverse's name is taken.
    func model(adding relations: [ImportRequest.Relation], to entity: Entity) throws -> Model {
        let stored = try container.model()
        var entities = stored.entities.filter { $0.name != entity.name } + [entity]
        func index(_ name: String) throws -> Int {
            guard let index = entities.firstIndex(where: { $0.name == name }) else { throw stored.unknownEntity(name) }
            return index
        }
        for relation in relations {
            let (own, other) = (try index(entity.name), try index(relation.entity))
            let inverse = inverseName(of: relation, entities, stored)
            let relationship = RelationshipDescription(relation.column, toOne: relation.entity, inverse: inverse)
            entities[own] = entities[own].adding([], [relationship])
            if let inverse {
                let back = RelationshipDescription(inverse, toMany: entity.name, inverse: relation.column)
                entities[other] = entities[other].adding([], [back])
            }
        }
        // `Model` gives subentities what their superentities have.
        return Model(entities: entities)
    }

    private func inverseName(of relation: Relation, _ entities: [Entity], _ stored: Model) -> String? {
        if relation.entity == entity { return nil }
        let plural = entity.prefix(1).lowercased() + entity.dropFirst() + "s"
        let family = entities.filter { $0.name == relation.entity || stored.isSubentity($0, of: relation.entity) }
        let isTaken = family.contains { member in
            member.slot(of: plural) != nil || member.relationships.contains { $0.name == plural }
        }
        return isTaken ? nil : plural
    }
}
