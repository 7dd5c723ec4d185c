internal import Models
internal import Predicates
internal import Records
internal import SystemBasics
internal import Values

extension FetchPredicate {
    /// The predicate with the keys of objects in the place of their ids, where a relationship is compared with them:
    /// `author == %@`, `author IN %@`, `ANY tags == %@`.
    func comparingObjects(of entity: Entity) throws -> FetchPredicate {
        var wrong: String?
        let replaced = replacing { comparison in
            var comparison = comparison
            let isLeft = comparison.left.isRelated(entity)
            let isRight = comparison.right.isRelated(entity)
            if isLeft {
                comparison.left = comparison.left.asKeys
                comparison.right = comparison.right.withKeys(&wrong)
            }
            if isRight {
                comparison.right = comparison.right.asKeys
                comparison.left = comparison.left.withKeys(&wrong)
            }
            return comparison
        }
        if let wrong {
            throw FetchPredicateError.typeMismatch("a relationship is compared with \(wrong), which is no object")
        }
        return replaced
    }
}

extension ExpressionSyntax {
    /// Whether it is a relationship of an entity, and not what stands behind one.
    fileprivate func isRelated(_ entity: Entity) -> Bool {
        guard case .keyPath(.object, let steps) = self, case .name(let name)? = steps.first,
            entity.relationship(named: name) != nil
        else { return false }
        return steps.count == 1
    }

    fileprivate var asKeys: ExpressionSyntax {
        guard case .keyPath(let base, let steps) = self else { return self }
        return .keyPath(base, steps + [.name(PathTable.keyName)])
    }

    fileprivate func withKeys(_ wrong: inout String?) -> ExpressionSyntax {
        switch self {
        case .value(.null), .variable: return self
        case .value(.string(let text)):
            guard let uri = URL(string: text), let id = ObjectID(uriRepresentation: uri) else { break }
            return .value(.integer(Int64(bitPattern: id.key.rawValue)))
        case .list(let elements): return .list(elements.map { $0.withKeys(&wrong) })
        default: break
        }
        wrong = "\(self)"
        return self
    }
}
