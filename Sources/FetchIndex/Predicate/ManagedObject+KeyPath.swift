internal import FetchIndexModels
public import FetchIndexPredicates
internal import FetchIndexValues

extension ManagedObject {
    /// The value at a key path from the object, as in `genre IN %@.shelf.genres`, including unsaved values: an
    /// attribute's value, an object's id, or a list of them. `self` and `objectID` give the object's id, `entity` and
    /// `entity.name` the name of its entity. Nil if an object on the way lacks the attribute or relationship.
    public func predicateValue(atKeyPath names: [String]) -> PredicateValue? {
        guard let name = names.first else { return objectID.predicateValue }
        // An attribute's name may contain dots.
        for count in stride(from: names.count, through: 1, by: -1) {
            let attribute = names.prefix(count).joined(separator: ".")
            guard entity.slot(of: attribute) != nil else { continue }
            return PredicateValue.one(self[attribute]).predicateValue(atKeyPath: Array(names.dropFirst(count)))
        }
        let rest = Array(names.dropFirst())
        if let relationship = entity.relationship(named: name) {
            if relationship.description.isToMany {
                return PredicateValue(joining: relatedObjects(name).map { $0.predicateValue(atKeyPath: rest) })
            }
            guard let object = relatedObject(name) else { return .one(.null) }
            return object.predicateValue(atKeyPath: rest)
        }
        switch (name, rest) {
        case (RelatedPath.keyName, []), ("objectID", []): return objectID.predicateValue
        case (RelatedPath.entityName, []), (RelatedPath.entityName, ["name"]): return .one(.string(entity.name))
        default: return nil
        }
    }
}

/// As an argument of a predicate, an entity is its name: `entity == %@`.
extension Entity: PredicateArgument {
    public var predicateValue: PredicateValue { .one(.string(name)) }
}
