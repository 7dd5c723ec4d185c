public import FetchIndexPredicates

// Objects can be arguments of predicates, alone and in collections: `author == %@`, `author IN %@`.

extension ManagedObject: PredicateArgument {
    /// The object's id. It also identifies the object before it is saved.
    public var predicateValue: PredicateValue { objectID.predicateValue }
}

extension Related: PredicateArgument {
    /// The ids of the objects.
    public var predicateValue: PredicateValue { .list(map(\.predicateValue)) }

    public func predicateValue(atKeyPath names: [String]) -> PredicateValue? {
        PredicateValue(joining: map { $0.predicateValue(atKeyPath: names) })
    }
}

extension ResultsObjects: PredicateArgument {
    /// The ids of the objects.
    public var predicateValue: PredicateValue { .list(map(\.predicateValue)) }

    public func predicateValue(atKeyPath names: [String]) -> PredicateValue? {
        PredicateValue(joining: map { $0.predicateValue(atKeyPath: names) })
    }
}
