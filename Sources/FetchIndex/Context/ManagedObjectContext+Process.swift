internal import FetchIndexOrderCaches
internal import FetchIndexRecords

extension ManagedObjectContext {
    /// Reports the edits since the last processing to controllers, as one batch each. Runs at the end of the current job of the
    /// context's actor, and before fetches, merges and rollbacks; a save reports with its commit. Does nothing during a delivery: edits that are made
    /// then follow it.
    public func processPendingChanges() {
        while !delivery.isUnderWay, core.edits.hasUnprocessed {
            undoStack.closeGroup()
            let base = statesBase
            // Kept only where it is read: else each report would copy it.
            let before = base == nil ? [:] : core.edits.reported
            let changes = reportEdits()
            if changes.isEmpty { return core.edits.didDeliver() }
            let states = base.map { self.states(from: before, to: core.edits.reported, over: $0) }
            deliver { $0.advance([:], changes) { try $0.edit(changes, states) } }
        }
    }

    /// The state that followers read records in; nil where they need none but those that change.
    private var statesBase: Snapshot? {
        guard let snapshot = try? snapshot(), snapshot.model.hasRelationships else { return nil }
        return snapshot
    }

    /// The states with some unsaved records and with others, as far as followers need them.
    func states(from old: [RecordKey: [UInt8]?], to new: [RecordKey: [UInt8]?]) -> StateChange? {
        statesBase.map { states(from: old, to: new, over: $0) }
    }

    private func states(
        from old: [RecordKey: [UInt8]?], to new: [RecordKey: [UInt8]?], over base: Snapshot
    ) -> StateChange {
        StateChange(from: ChangedState(old, over: base), to: ChangedState(new, over: base))
    }

    private func reportEdits() -> [RecordChange] {
        core.edits.takeUnprocessed().compactMap { key in
            let object = editedObject(key)
            defer { settle(key) }
            // What the object has read is what the snapshot has.
            let saved =
                object.status.isInserted || object.isGoneFromStore ? nil : object.savedRecord() ?? savedRecord(of: key)
            let change = core.edits.report(key, unsavedRecord(of: object, over: saved), over: saved)
            if case .deleted(wasSaved: false) = object.status { release(object) }
            // Deleted elsewhere, and nothing is left to be saved here.
            if case .saved = object.status, saved == nil, object.changes.isEmpty { release(object) }
            return change
        }
    }

    /// The record that fetches and controllers see of an object with unsaved edits; nil when it was deleted elsewhere. The
    /// merge policy decides whether its edits are saved.
    func unsavedRecord(of object: ManagedObject, over saved: [UInt8]?) -> [UInt8]? {
        saved == nil && !object.status.isInserted ? nil : object.currentRecord()
    }

    /// From the saved records to the unsaved ones, as reported.
    var reportedEdits: [RecordChange] {
        core.edits.changes(saved: savedRecord)
    }

    /// Restores the values that were last saved or merged, and reports the change. Throws `ContextError.delivering` while
    /// changes are being delivered.
    public func rollback() throws {
        try withPublicErrors {
            try delivery.requireNone()
            processPendingChanges()
            core.deferringObservations { restoreSavedValues() }
        }
    }

    private func restoreSavedValues() {
        let targets = currentLinkEdits().targets
        defer { noteChangeOfRelated(targets) }
        let objects = unsavedObjects
        let states = states(from: core.edits.reported, to: [:])
        let changes = core.edits.rollBack(saved: savedRecord)
        edited = [:]
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
        core.forgetIndexes()
        undoStack.removeAll()
        deliver { $0.advance([:], changes) { try $0.rollBack(changes, states) } }
    }

    /// Rolls back, and releases all objects: they leave the context. Throws as `rollback`.
    public func reset() throws {
        try withPublicErrors {
            try rollback()
            for object in core.registry.retained { release(object) }
            core.edits.didDeliver()
        }
    }

    /// Makes an object read its record again at its next use. With `mergeChanges` its unsaved values stay; else they are
    /// dropped, and controllers hear of it when changes are processed.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
        guard object.core === core, case .saved = object.status else { return }
        object.base = nil
        if mergeChanges || object.changes.isEmpty { return }
        willChange(object)
        let targets = object.linkedTargets
        defer { noteChangeOfRelated(targets + object.linkedTargets) }
        object.changes = [:]
        core.forgetIndexes()
        object.noteChangeOfAll()
        didChange(object)
    }
}
