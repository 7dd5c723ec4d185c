internal import Models
internal import Predicates
internal import Records
internal import SystemBasics
internal import Values

extension FetchPredicate {
    /// The predicate with the keys of objects in the place of their ids, where a relationship is compared with them:
    /// `author == %@`, `author IN %@`, `ANY tags == %@`.
    func comparingObjects(of entity: Entity, in model: Model) throws -> FetchPredicate {
        var wrong: String?
        let replaced = replacing { comparison in
            var comparison = comparison
            if case .keyPath(.object, let steps) = comparison.left, case .name(let name)? = steps.first,
                steps.count == 1,
                comparison.right == .value(.null), entity.relationship(named: name)?.description.isToMany == true
            {
                wrong = "NIL, and leads to many objects: write \(name).@count == 0"
            }
            let isLeft = comparison.left.destination(from: entity, in: model) != nil
            let isRight = comparison.right.destination(from: entity, in: model) != nil
            if isLeft {
                let entities = comparison.left.destinations(from: entity, in: model)
                comparison.left = comparison.left.asKeys
                comparison.right = comparison.right.withKeys(of: entities, &wrong)
            }
            if isRight {
                let entities = comparison.right.destinations(from: entity, in: model)
                comparison.right = comparison.right.asKeys
                comparison.left = comparison.left.withKeys(of: entities, &wrong)
            }
            return comparison
        }
        if let wrong {
            throw FetchPredicateError.typeMismatch("a relationship is compared with \(wrong)")
        }
        return replaced
    }
}

extension ExpressionSyntax {
    /// The entity to whose objects a path of relationships leads; nil for what is none, or has more behind it.
    fileprivate func destination(from entity: Entity, in model: Model) -> Entity? {
        guard case .keyPath(.object, let steps) = self, !steps.isEmpty else { return nil }
        var entity = entity
        for step in steps {
            guard case .name(let name) = step,
                let relationship = entity.relationship(named: name),
                let next = model.entity(named: relationship.description.destination)
            else { return nil }
            entity = next
        }
        return entity
    }

    fileprivate var asKeys: ExpressionSyntax {
        guard case .keyPath(let base, let steps) = self else { return self }
        return .keyPath(base, steps + [.name(PathTable.keyName)])
    }

    /// The entities whose objects a path of relationships leads to.
    fileprivate func destinations(from entity: Entity, in model: Model) -> [Int] {
        guard let destination = destination(from: entity, in: model),
            let number = try? model.number(of: destination.name)
        else { return [] }
        return model.hierarchy(of: number)
    }

    fileprivate func withKeys(of entities: [Int], _ wrong: inout String?) -> ExpressionSyntax {
        switch self {
        case .value(.null), .variable: return self
        case .value(.string(let text)):
            guard let key = RecordKey(predicateText: text) else { break }
            guard entities.contains(key.entity) else {
                wrong = "an object of another entity"
                return self
            }
            return .value(.integer(Int64(bitPattern: key.rawValue)))
        case .list(let elements): return .list(elements.map { $0.withKeys(of: entities, &wrong) })
        default: break
        }
        wrong = "what is no object's id: write author.name, say, or pass an objectID"
        return self
    }
}
