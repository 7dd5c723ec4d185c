internal import FetchIndexLMDB
internal import FetchIndexModels

extension StoreWriter {
    /// Deletes all objects of an entity, and removes the entity from the model. Returns the number of its objects.
    /// Throws `invalidModel` if another entity has a relationship to it, and also throws like `delete`. O(n log n).
    package func dropEntity(_ entity: Int) throws -> Int {
        let name = model.entities[entity].name
        for other in model.entities where other.name != name && !other.isJoin {
            guard let relationship = other.relationships.first(where: { $0.destination == name }) else { continue }
            throw StoreError.invalidModel(
                "\(other.name).\(relationship.name) leads to \(name), and must be removed first")
        }
        var objects: [RecordKey] = []
        try scan(entity) { object, _ in
            objects.append(object)
            return true
        }
        // Delete rules are applied, because relationships to a superentity may lead to these objects.
        try delete(objects)
        rewritesRecords = true
        var model = model
        let own = model.entities[entity].storedRelationships
        model.entities[entity] = .dropped
        // The entity's many-to-many relationships with itself have join entities, which are removed too.
        for case .join(let join, _) in own.map(\.storage) where !model.usedJoins.contains(join) {
            model.entities[join] = .dropped
        }
        try setModel(model)
        return objects.count
    }

    func setModel(_ model: Model) throws {
        // Open zones have the types of the old model, so they are written now, and are read again when they are next
        // needed.
        try writeZones()
        zones.removeAll()
        let key = StoreLayout.modelKey
        try view.put(model.encoded, for: key, in: tables.meta)
        self.model = model.prepared
        noteModel()
        state.modelVersion &+= 1
        isStateChanged = true
    }
}
