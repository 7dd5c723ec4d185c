public import FetchIndexModels
/// A request for objects: their entity, a condition and sort keys.
public struct FetchRequest<Object: ManagedObject>: Sendable {
    public enum ResultType: Hashable, Sendable {
        case objects
        case objectIDs
        case dictionaries
        case count
    }

    public var entityName: String
    public var predicate: FetchPredicate?
    /// The sort keys. Objects with equal values are sorted by entity and number, so that the order is total. Without
    /// sort keys, `fetch` returns new objects last.
    public var sortKeys: [SortKey<Object>] = []
    /// The maximum number of rows to fetch; 0 means all.
    public var fetchLimit = 0
    /// The number of rows to skip at the start.
    public var fetchOffset = 0
    /// Has no effect.
    public var fetchBatchSize = 0
    /// The kind of result that `execute` returns.
    public var resultType = ResultType.objects
    /// Whether objects of the entity's subentities are fetched, too.
    public var includesSubentities = true
    /// The attributes that dictionaries contain; nil for all attributes.
    public var propertiesToFetch: [String]?
    /// Whether a fetch selects and sorts objects by their unsaved values. If false, it uses the saved values, and
    /// dictionaries have saved values; fetched objects have their unsaved values all the same. Controllers ignore
    /// this property.
    public var includesPendingChanges = true
    /// Whether duplicate dictionaries are removed.
    public var returnsDistinctResults = false

    /// Key paths to values of related objects, like `publisher.country`. A controller reports changes of these values
    /// as updates of rows, although the order doesn't depend on them. A path in the predicate, a sort key or the
    /// section key can be observed, too: otherwise a change of its value is reported only if it inserts, deletes or
    /// moves rows or sections, or changes a section's name. Costs O(log n) for each row that a change concerns. `fetch`
    /// ignores them.
    public var observedKeyPaths: [String] = []
    /// Relationships, like `publisher` or `chapters`. A fetch reads the pages that contain their objects in advance, in
    /// the order in which these are stored. This can save time if the program uses these objects next. Each object is
    /// still read at its first use, O(log n). Controllers ignore them.
    public var relationshipKeyPathsForPrefetching: [String] = []

    /// The aggregates that a controller maintains for each section and for any range of rows. `fetch` ignores them.
    public var aggregates: [Aggregate<Object>] = []

    /// Makes a request for all objects of the class.
    public init() { entityName = Object.entityName }

    /// Makes a request for objects of the class.
    public init(predicate: FetchPredicate? = nil, sortKeys: [SortKey<Object>] = []) {
        self.init(entityName: Object.entityName, predicate: predicate, sortKeys: sortKeys)
    }

    public init(entityName: String, predicate: FetchPredicate? = nil, sortKeys: [SortKey<Object>] = []) {
        self.entityName = entityName
        self.predicate = predicate
        self.sortKeys = sortKeys
    }

    func definition(sectionKey: SectionKey? = nil, sectionOrder: SectionOrder = .byFirstRow) -> OrderDefinition {
        OrderDefinition(
            entity: entityName, predicate: predicate, sortKeys: sortKeys.map { $0.untyped }, sectionKey: sectionKey,
            sectionOrder: sectionOrder, includesSubentities: includesSubentities)
    }

    /// The definition for a controller, which includes the aggregates.
    func resultsDefinition(_ sectionKey: SectionKey?, _ sectionOrder: SectionOrder) -> OrderDefinition {
        var definition = definition(sectionKey: sectionKey, sectionOrder: sectionOrder)
        definition.aggregates = aggregates.map { $0.untyped }  // a closure is faster than a key path
        return definition
    }

    var limit: Int? { fetchLimit > 0 ? fetchLimit : nil }
    var offset: Int { max(0, fetchOffset) }
}

extension FetchRequest<ManagedObject> {
    /// Makes the request of a definition, without the section key and the section order, which a controller keeps
    /// itself.
    init(_ definition: OrderDefinition) {
        self.init(entityName: definition.entity, predicate: definition.predicate, sortKeys: definition.sortKeys)
        includesSubentities = definition.includesSubentities
        aggregates = definition.aggregates
    }
}

/// The result of `execute`, of the kind that the request's `resultType` names.
public enum FetchResult<Object: ManagedObject> {
    case objects([Object])
    case objectIDs([ObjectID])
    case dictionaries([[String: Value]])
    case count(Int)
}
