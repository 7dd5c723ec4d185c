extension SourceModel {
    /// The number of an entity's superentities by each entity's name, and the name of its topmost superentity.
    struct Lineage {
        let depth: Int
        let root: String
    }

    /// The place of each entity in its hierarchy, by name. A superentity that is missing, or an entity's own subentity,
    /// is ignored.
    func lineages() -> [String: Lineage] {
        let declared = Dictionary(entities.map { ($0.name, $0) }) { first, _ in first }
        return declared.mapValues { entity in
            var (depth, root) = (0, entity.name)
            while depth < entities.count, let above = declared[root]?.superentity, declared[above] != nil {
                (depth, root) = (depth + 1, above)
            }
            return Lineage(depth: depth, root: root)
        }
    }

    /// The entities in the order of the numbers that Core Data gives them, from 1: by name without regard to case, each
    /// followed by its subentities.
    func numbered() -> [Entity] {
        let sorted = entities.sorted { ($0.name.lowercased(), $0.name) < ($1.name.lowercased(), $1.name) }
        let known = Set(entities.map(\.name))
        var below: [String: [Entity]] = [:]
        for entity in sorted {
            let above = entity.superentity.flatMap { known.contains($0) ? $0 : nil }
            below[above ?? "", default: []].append(entity)
        }
        var numbered: [Entity] = []
        var open = Array((below[""] ?? []).reversed())
        while let next = open.popLast(), numbered.count < entities.count {
            numbered.append(next)
            open += (below[next.name] ?? []).reversed()
        }
        return numbered
    }

    /// Removes entities, with their subentities, and the relationships that lead to them. Returns the removed
    /// relationships, such as Book.publisher.
    mutating func remove(_ names: Set<String>) -> [String] {
        var gone = names
        for entity in numbered() where entity.superentity.map(gone.contains) ?? false { gone.insert(entity.name) }
        entities.removeAll { gone.contains($0.name) }
        var relationships: [String] = []
        for index in entities.indices {
            let entity = entities[index].name
            relationships += entities[index].relationships.filter { gone.contains($0.destination) }
                .map { "\(entity).\($0.name)" }
            entities[index].relationships.removeAll { gone.contains($0.destination) }
        }
        requests.removeAll { gone.contains($0.entity) }
        return relationships
    }
}
