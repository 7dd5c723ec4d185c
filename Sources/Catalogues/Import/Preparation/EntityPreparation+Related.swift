internal import FetchIndex
internal import FetchIndexModels
internal import FetchIndexValues

// The entities and relationships that relations of a request need.
extension EntityPreparation {
    private typealias Relation = ImportRequest.Relation

    /// Adds the entities that relations name and a model lacks, if the request says so; otherwise throws.
    func withRelatedEntities(_ stored: Model) throws -> Model {
        var model = stored
        for relation in request.relations {
            try requireUnique(relation, in: stored)
            if relation.entity == entity || model.entity(named: relation.entity) != nil { continue }
            guard request.insertsRelated else {
                guard case .unknownEntity(_, let near) = model.unknownEntity(relation.entity) else { return model }
                throw ImportError.unknownRelated(entity: relation.entity, near: near)
            }
            let key = AttributeDescription(relation.attribute, .string, isOptional: false, isUnique: true)
            model = model.with(Entity(relation.entity, [key]))
        }
        return model
    }

    /// Throws if the attribute of a relation can't name objects.
    private func requireUnique(_ relation: Relation, in model: Model) throws {
        guard let related = model.entity(named: relation.entity) else {
            if relation.entity != entity || relation.attribute == key { return }
            throw ImportError.notKey(entity: entity, attribute: relation.attribute)
        }
        guard related.uniqueConstraint(ofSlot: try related.requireSlot(of: relation.attribute)) != nil else {
            throw RequestError.wrongType(
                "\(relation.entity).\(relation.attribute) is not unique, so it cannot name objects")
        }
    }

    /// Adds the missing relationships to a stored entity of a model, which is a free change: no record is rewritten.
    /// Throws if a relationship is missing and the request adds no columns.
    func withRelationships(of stored: Entity, _ model: Model) throws -> Model {
        let missing = request.relations.filter { stored.relationship(named: $0.column) == nil }
        guard let first = missing.first else { return model }
        if stored.slot(of: first.column) != nil {
            throw RequestError.wrongType("\(entity).\(first.column) is an attribute, not a relationship")
        }
        guard request.addsColumns else {
            throw ImportError.unknownRelationship(
                entity: entity, name: first.column, near: stored.nearName(to: first.column))
        }
        return try model.adding(missing, to: stored)
    }
}

extension Model {
    /// Returns the model with an entity that gets relationships, and with their inverses. An inverse is named like the
    /// entity, with an s: books for Book. A relationship has no inverse if it leads to the entity itself, or if the
    /// inverse's name is taken.
    func adding(_ relations: [ImportRequest.Relation], to entity: Entity) throws -> Model {
        var model = with(entity)
        for relation in relations {
            guard let own = model.entity(named: entity.name), let other = model.entity(named: relation.entity) else {
                throw unknownEntity(relation.entity)
            }
            let inverse = model.inverseName(of: relation, from: entity)
            model = model.with(
                own.adding([], [RelationshipDescription(relation.column, toOne: relation.entity, inverse: inverse)]))
            guard let inverse else { continue }
            let back = RelationshipDescription(inverse, toMany: entity.name, inverse: relation.column)
            model = model.with(other.adding([], [back]))
        }
        return model
    }

    private func inverseName(of relation: ImportRequest.Relation, from entity: Entity) -> String? {
        if relation.entity == entity.name { return nil }
        let plural = entity.name.prefix(1).lowercased() + entity.name.dropFirst() + "s"
        let family = entities.filter { $0.name == relation.entity || isSubentity($0, of: relation.entity) }
        let isTaken = family.contains { member in
            member.slot(of: plural) != nil || member.relationships.contains { $0.name == plural }
        }
        return isTaken ? nil : plural
    }
}
