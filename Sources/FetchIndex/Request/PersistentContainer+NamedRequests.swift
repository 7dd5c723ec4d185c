internal import FetchIndexModels
internal import FetchIndexPredicates
internal import FetchIndexRecords
internal import FetchIndexValues

extension NamedRequest {
    /// Makes a request for a model to keep. The predicate may have variables such as $NAME.
    public init(_ name: String, entity: String, predicate: FetchPredicate? = nil, fetchLimit: Int = 0) {
        self.init(
            name, entity: entity, predicate: predicate?.description ?? "", fetchLimit: max(0, fetchLimit))
    }
}

extension PersistentContainer {
    /// The request that the store's model keeps under a name, with values in place of the variables of its predicate.
    /// Variables without a value stay; `withSubstitutionVariables` of the predicate replaces them. Throws
    /// `RequestError.malformed` for an unknown name, and also throws like that function.
    public func request(
        named name: String, with variables: [String: any PredicateArgument] = [:]
    ) throws -> FetchRequest<ManagedObject> {
        try withPublicErrors { try store.snapshot().model.request(named: name, with: variables) }
    }
}

extension Model {
    func request(
        named name: String, with variables: [String: any PredicateArgument]
    ) throws -> FetchRequest<ManagedObject> {
        guard let named = requests.first(where: { $0.name == name }) else {
            let near = NearName(requests.map(\.name).nearest(to: name))
            throw RequestError.malformed("the store has no request \(name)\(near.hint)")
        }
        var request = FetchRequest<ManagedObject>(entityName: named.entity)
        request.fetchLimit = named.fetchLimit
        if !named.predicate.isEmpty {
            let predicate = try FetchPredicate(format: named.predicate, argumentArray: [])
            request.predicate = try predicate.withSubstitutionVariables(variables)
        }
        return request
    }
}
