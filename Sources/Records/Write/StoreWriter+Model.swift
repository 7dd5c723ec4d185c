internal import FetchIndexLMDB
internal import FetchIndexModels

extension StoreWriter {
    /// Deletes all objects of an entity, and removes the entity from the model. No other entity may have a relationship
    /// to it. Throws like `delete`. O(n log n).
    package func dropEntity(_ entity: Int) throws {
        var objects: [RecordKey] = []
        try scan(entity) { object, _ in
            objects.append(object)
            return true
        }
        // Delete rules are applied, because relationships to a superentity may lead to these objects.
        try delete(objects)
        rewritesRecords = true
        var model = model
        model.drop(entity)
        try setModel(model)
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
