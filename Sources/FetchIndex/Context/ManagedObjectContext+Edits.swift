extension ManagedObjectContext {
    /// Deletes an object with the next save. Nothing happens when it is no longer in the context; an object of another
    /// context is a mistake, and traps.
    public func delete(_ object: ManagedObject) {
        precondition(
            object.managedObjectContext == nil || object.managedObjectContext === self,
            "\(object) is an object of another context.")
        guard object.managedObjectContext === self, !object.status.isDeleted, !object.isBeingDeleted else { return }
        object.isBeingDeleted = true
        object.prepareForDeletion()
        object.isBeingDeleted = false
        _ = object.savedRecord()
        willChange(object)
        object.status = .deleted(wasSaved: !object.status.isInserted)
        object.noteChangeOfState()
        didChange(object)
    }

    func willChange(_ object: ManagedObject) { undoStack.willChange(object) }

    func didChange(_ object: ManagedObject) {
        if touched.isEmpty { scheduleProcessing() }
        touched[object.key] = object
        updateDirty(object)
    }

    func updateDirty(_ object: ManagedObject) {
        switch object.status {
        case .inserted: dirty[object.key] = object
        case .saved: dirty[object.key] = object.changes.isEmpty ? nil : object
        case .deleted(let wasSaved): dirty[object.key] = wasSaved ? object : nil
        case .gone: dirty[object.key] = nil
        }
    }

    /// The objects with unsaved edits, by id.
    var dirtyObjects: [ManagedObject] { dirty.sorted { $0.key < $1.key }.map(\.value) }

    public var hasChanges: Bool { !dirty.isEmpty }
    public var insertedObjects: [ManagedObject] { dirty.values.filter(\.status.isInserted) }
    public var updatedObjects: [ManagedObject] { dirty.values.filter { $0.status.isSaved && !$0.changes.isEmpty } }
    public var deletedObjects: [ManagedObject] { dirty.values.filter(\.status.isDeleted) }
}
