internal import OrderCaches
internal import Records

extension ManagedObjectContext {
    /// Reports the edits since the last processing to controllers: one batch each. It is called by itself at the end of the
    /// turn of the actor that the context belongs to, and by saving, fetching, merging and rolling back. While changes are being delivered it does nothing; what was edited meanwhile comes afterwards.
    public func processPendingChanges() {
        while !delivery.isUnderWay, edits.hasUnprocessed {
            undoStack.closeGroup()
            let changes = reportEdits()
            if changes.isEmpty { return edits.didDeliver() }
            deliver { $0.advance([:], changes) { try $0.edit(changes) } }
        }
    }

    private func reportEdits() -> [RecordChange] {
        edits.takeUnprocessed().compactMap { key, object in
            // What the object read is what the snapshot has.
            let saved =
                object.status.isInserted || object.isGoneFromStore ? nil : object.savedRecord() ?? savedRecord(of: key)
            let change = edits.report(key, unsavedRecord(of: object, over: saved), over: saved)
            if case .deleted(wasSaved: false) = object.status { release(object) }
            // Someone else deleted it, and nothing of ours is left to be saved.
            if case .saved = object.status, saved == nil, object.changes.isEmpty { release(object) }
            return change
        }
    }

    /// The record that fetches and controllers see of an object with unsaved edits. One that someone else deleted is
    /// gone for them; whether its edits are saved is for the merge policy to say.
    func unsavedRecord(of object: ManagedObject, over saved: [UInt8]?) -> [UInt8]? {
        saved == nil && !object.status.isInserted ? nil : object.currentRecord()
    }

    /// From the saved records to the unsaved ones, as reported.
    var reportedEdits: [RecordChange] {
        edits.changes(saved: savedRecord)
    }

    /// Restores the values that were last saved or merged, and reports that. Throws while changes are being delivered.
    public func rollback() throws {
        try withPublicErrors {
            try delivery.requireNone()
            processPendingChanges()
            inTransition { restoreSavedValues() }
        }
    }

    private func restoreSavedValues() {
        let objects = edits.unsaved.values
        let changes = edits.rollBack(saved: savedRecord)
        for object in objects {
            switch object.status {
            case .inserted: release(object)
            case .saved, .deleted:
                object.status = .saved
                object.changes = [:]
                object.base = nil
                object.isGoneFromStore = false
                object.noteChangeOfAll()
                if savedRecord(of: object.key) == nil { release(object) }
            case .gone: break
            }
        }
        undoStack.removeAll()
        deliver {
            $0.advance([:], changes) { order in
                let change = try order.edit(changes)
                try order.dropEdits()
                return change
            }
        }
    }

    /// Rolls back, and lets go of all objects: they no longer belong to the context.
    public func reset() throws {
        try withPublicErrors {
            try rollback()
            forEachRegistered { release($0) }
            edits.didDeliver()
        }
    }

    /// Reads an object's record anew when it is next touched. Its unsaved values stay when changes are merged, else they
    /// are forgotten, which controllers hear of when changes are processed.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
        guard object.managedObjectContext === self, case .saved = object.status else { return }
        object.base = nil
        if mergeChanges || object.changes.isEmpty { return }
        willChange(object)
        object.changes = [:]
        object.noteChangeOfAll()
        didChange(object)
    }
}
