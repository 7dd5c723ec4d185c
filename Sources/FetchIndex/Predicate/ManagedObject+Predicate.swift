public import FetchIndexPredicates

// Objects are arguments of predicates, alone and in collections: `author == %@`, `author IN %@`.

extension ManagedObject: PredicateArgument {
    /// The object's id, which also works before the object is saved.
    public var predicateValue: PredicateValue { objectID.predicateValue }
}

extension Related: PredicateArgument {
    /// The ids of the objects. O(count).
    public var predicateValue: PredicateValue { .list(map(\.predicateValue)) }

    public func predicateValue(atKeyPath names: [String]) -> PredicateValue? {
        PredicateValue(joining: map { $0.predicateValue(atKeyPath: names) })
    }
}

extension ResultsObjects: PredicateArgument {
    /// The ids of the objects. O(count).
    public var predicateValue: PredicateValue { .list(map(\.predicateValue)) }

    public func predicateValue(atKeyPath names: [String]) -> PredicateValue? {
        PredicateValue(joining: map { $0.predicateValue(atKeyPath: names) })
    }
}
