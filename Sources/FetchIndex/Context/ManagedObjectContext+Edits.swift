extension ManagedObjectContext {
    /// Deletes an object with the next save. Does nothing when the object has left the context. Traps for an object of
    /// another context.
    public func delete(_ object: ManagedObject) {
        precondition(
            object.managedObjectContext == nil || object.managedObjectContext === self,
            "\(object) is an object of another context.")
        // A cascade may be long: objects wait in a list.
        var waiting = [object]
        while let next = waiting.popLast() {
            if deleteAlone(next) { waiting += applyDeleteRules(of: next) }
        }
    }

    /// Deletes an object, and leaves what is related to it as it is. False when it is deleted already, or has left the context.
    @discardableResult
    func deleteAlone(_ object: ManagedObject) -> Bool {
        guard object.managedObjectContext === self, !object.status.isDeleted, !object.isBeingDeleted else {
            return false
        }
        object.isBeingDeleted = true
        object.prepareForDeletion()
        object.isBeingDeleted = false
        _ = object.savedRecord()
        willChange(object)
        let targets = object.linkedTargets
        object.status = .deleted(wasSaved: !object.status.isInserted)
        object.noteChangeOfState()
        didChange(object)
        noteChangeOfRelated(targets)
        return true
    }

    func willChange(_ object: ManagedObject) { undoStack.willChange(object) }

    func didChange(_ object: ManagedObject) {
        if !edits.hasUnprocessed { scheduleProcessing() }
        edits.edit(object.key, object, isUnsaved: object.isUnsaved)
        noteLinks(of: object)
    }

    /// The objects with unsaved edits, by id.
    var unsavedObjects: [ManagedObject] { edits.unsaved.sorted { $0.key < $1.key }.map(\.value) }

    public var hasChanges: Bool { !edits.unsaved.isEmpty }
    public var insertedObjects: [ManagedObject] {
        edits.unsaved.values.filter { $0.status.isInserted && !$0.entity.isJoin }
    }
    public var updatedObjects: [ManagedObject] {
        edits.unsaved.values.filter { $0.status.isSaved && !$0.changes.isEmpty && !$0.entity.isJoin }
    }
    public var deletedObjects: [ManagedObject] {
        edits.unsaved.values.filter { $0.status.isDeleted && !$0.entity.isJoin }
    }
}

extension ManagedObject {
    /// Whether a save has to write it.
    var isUnsaved: Bool {
        switch status {
        case .inserted: true
        case .saved: !changes.isEmpty
        case .deleted(let wasSaved): wasSaved
        case .gone: false
        }
    }
}
