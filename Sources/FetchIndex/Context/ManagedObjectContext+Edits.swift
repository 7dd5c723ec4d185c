extension ManagedObjectContext {
    /// Marks an object as deleted, and applies its delete rules. The next successful save deletes the object from
    /// the store, unless the merge policy keeps an object that was changed there. Does nothing if the object has left
    /// the context. Traps for an object of another context.
    public func delete(_ object: ManagedObject) {
        precondition(
            object.core == nil || object.core === core,
            "\(object) is an object of another context.")
        // Objects to be deleted. A list is used instead of recursion, because a cascade may be deep.
        var waiting = [object]
        while let next = waiting.popLast() {
            if deleteAlone(next) { waiting += applyDeleteRules(of: next) }
        }
    }

    /// Marks an object as deleted, without applying its delete rules. Returns false if the object is already deleted or
    /// being deleted, or has left the context.
    @discardableResult
    func deleteAlone(_ object: ManagedObject) -> Bool {
        guard object.core === core, !object.status.isDeleted, !object.isBeingDeleted else {
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
        if !core.edits.hasUnprocessed { scheduleProcessing() }
        if core.edits.edit(object.key, isUnsaved: object.isUnsaved) { edited[object.key] = object }
        noteLinks(of: object)
        for attribute in core.unsavedIndexes.keys { core.unsavedIndexes[attribute]?.note(object) }
    }

    /// The objects with unsaved edits, sorted by id.
    var unsavedObjects: [ManagedObject] { core.edits.unsaved.sorted().map(editedObject) }

    public var hasChanges: Bool { !core.edits.unsaved.isEmpty }
    public var insertedObjects: [ManagedObject] {
        core.edits.unsaved.lazy.map(editedObject).filter { $0.status.isInserted && !$0.entity.isJoin }
    }
    public var updatedObjects: [ManagedObject] {
        core.edits.unsaved.lazy.map(editedObject).filter {
            $0.status.isSaved && !$0.changes.isEmpty && !$0.entity.isJoin
        }
    }
    public var deletedObjects: [ManagedObject] {
        core.edits.unsaved.lazy.map(editedObject).filter { $0.status.isDeleted && !$0.entity.isJoin }
    }
}

extension ManagedObject {
    /// Whether the next save must write the object.
    var isUnsaved: Bool {
        switch status {
        case .inserted: true
        case .saved: !changes.isEmpty
        case .deleted(let wasSaved): wasSaved
        case .gone: false
        }
    }
}
