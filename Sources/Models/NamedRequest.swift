/// A fetch request that the model keeps under a name: Core Data's fetch request template.
public struct NamedRequest: Hashable, Sendable {
    public let name: String
    public let entity: String
    /// The condition in NSPredicate's format language, with variables such as $NAME; empty for all objects.
    public let predicate: String
    /// The maximum number of rows to fetch; 0 means all.
    public let fetchLimit: Int

    package init(_ name: String, entity: String, predicate: String, fetchLimit: Int) {
        self.name = name
        self.entity = entity
        self.predicate = predicate
        self.fetchLimit = fetchLimit
    }
}

extension NamedRequest {
    /// The request under the new names of entities, by their old names.
    func renamingEntities(_ names: [String: String]) -> NamedRequest {
        NamedRequest(name, entity: names[entity] ?? entity, predicate: predicate, fetchLimit: fetchLimit)
    }
}

extension Model {
    /// The stored requests after a migration to a given model, by name. A migration that isn't demanded adds requests only:
    /// the given model may be older. Requests for entities that are dropped go.
    func requests(after given: Model, isDemanded: Bool, dropped: [Int]) -> [NamedRequest] {
        let gone = Set(dropped.map { entities[$0].name })
        var kept = requests.filter { !given.removedRequests.contains($0.name) && !gone.contains($0.entity) }
        for request in given.requests {
            if let place = kept.firstIndex(where: { $0.name == request.name }) {
                if isDemanded { kept[place] = request }
            } else {
                kept.append(request)
            }
        }
        return kept.sorted { $0.name < $1.name }
    }
}
