public import FetchIndexModels
/// A fetch: the objects and their order.
public struct FetchRequest<Object: ManagedObject>: Sendable {
    public enum ResultType: Hashable, Sendable {
        case objects
        case objectIDs
        case dictionaries
        case count
    }

    public var entityName: String
    public var predicate: FetchPredicate?
    /// Ties are broken by object number, so that every order is total.
    public var sortKeys: [SortKey<Object>] = []
    /// The maximum number of rows to fetch; 0 means all.
    public var fetchLimit = 0
    /// The number of rows to skip at the start.
    public var fetchOffset = 0
    /// Has no effect: every object is a fault until its first use.
    public var fetchBatchSize = 0
    /// The type of `execute`'s result.
    public var resultType = ResultType.objects
    /// Whether objects of the entity's subentities are fetched, too.
    public var includesSubentities = true
    /// The attributes in dictionaries; nil means all.
    public var propertiesToFetch: [String]?
    /// Whether a fetch includes the context's unsaved edits.
    public var includesPendingChanges = true
    /// Whether duplicate dictionaries are removed.
    public var returnsDistinctResults = false

    /// Key paths to values of related objects, as `publisher.country`, that don't affect the results: a live controller
    /// reports a row as updated if one of them changes. Paths in the predicate, sort keys and section key are observed
    /// anyway. Costs O(log n) for each row that such a change concerns. `fetch` ignores it.
    public var observedKeyPaths: [String] = []
    /// Related objects, as `publisher` or `chapters`, whose records a fetch prefetches in the order in which they are
    /// stored, for programs that use all of them next. Otherwise each is read when it is first used, O(log n).
    /// Controllers ignore it.
    public var relationshipKeyPathsForPrefetching: [String] = []

    /// The aggregates that a controller maintains for each section and any range of rows. `fetch` ignores them.
    public var aggregates: [Aggregate<Object>] = []

    /// A request for objects of a class.
    public init() { entityName = Object.entityName }

    /// A request for objects of a class.
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

    /// The definition with the aggregates, for a controller.
    func resultsDefinition(_ sectionKey: SectionKey?, _ sectionOrder: SectionOrder) -> OrderDefinition {
        var definition = definition(sectionKey: sectionKey, sectionOrder: sectionOrder)
        definition.aggregates = aggregates.map { $0.untyped }  // a key path would be created each time
        return definition
    }

    var limit: Int? { fetchLimit > 0 ? fetchLimit : nil }
    var offset: Int { max(0, fetchOffset) }
}

extension FetchRequest<ManagedObject> {
    /// The request of a definition. A controller has the definition's section key and section order beside it.
    init(_ definition: OrderDefinition) {
        self.init(entityName: definition.entity, predicate: definition.predicate, sortKeys: definition.sortKeys)
        includesSubentities = definition.includesSubentities
        aggregates = definition.aggregates
    }
}

/// The result of `execute`.
public enum FetchResult<Object: ManagedObject> {
    case objects([Object])
    case objectIDs([ObjectID])
    case dictionaries([[String: Value]])
    case count(Int)
}
