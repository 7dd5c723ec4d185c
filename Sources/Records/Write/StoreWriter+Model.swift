internal import LMDB
internal import Models

extension StoreWriter {
    /// Deletes all objects of an entity, and the entity from the model. Returns how many there were. O(n log n).
    package func dropEntity(_ entity: Int) throws -> Int {
        var objects: [RecordKey] = []
        try scan(entity) { object, _ in
            objects.append(object)
            return true
        }
        for object in objects { try delete(object) }
        var model = model
        model.entities[entity] = .dropped
        try setModel(model)
        return objects.count
    }

    func setModel(_ model: Model) throws {
        let key = StoreLayout.modelKey
        try view.put(model.encoded, for: key, in: tables.meta)
        self.model = store.prepared(model)
        hasDerivations = model.entities.contains { $0.hasDerivations }
        state.modelVersion &+= 1
        isStateChanged = true
    }
}
