internal import FetchIndexOrderCaches
internal import FetchIndexRecords

extension ManagedObjectContext {
    /// Reports the edits since the last processing to the controllers, in at most one batch for each. The context calls
    /// this function on its actor, if it has one, after the job that made the edits, and before fetches, merges and
    /// rollbacks. A save reports edits together with its commit. During a delivery this function does nothing; edits
    /// that listeners make are processed after the delivery, in further batches.
    public func processPendingChanges() {
        while !delivery.isUnderWay, core.edits.hasUnprocessed {
            undoStack.closeGroup()
            let base = statesBase
            // The dictionary of reported records is retained only if the model has relationships: while it's retained,
            // the first report that changes it copies all of it.
            let before = base == nil ? [:] : core.edits.reported
            let changes = reportEdits()
            if changes.isEmpty { return core.edits.didDeliver() }
            let states = base.map { self.states(from: before, to: core.edits.reported, over: $0) }
            deliver { $0.advance([:], changes) { try $0.edit(changes, states) } }
        }
    }

    /// The state from which followers read related records; nil if the model has no relationships, or if no state can
    /// be read.
    private var statesBase: Snapshot? {
        guard let snapshot = try? snapshot(), snapshot.model.hasRelationships else { return nil }
        return snapshot
    }

    /// The states before and after unsaved records changed; nil if `statesBase` is nil.
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
            // A record that the object has already read is the record in the snapshot, so it isn't read again.
            let saved =
                object.status.isInserted || object.isGoneFromStore ? nil : object.savedRecord() ?? savedRecord(of: key)
            let change = core.edits.report(key, unsavedRecord(of: object, over: saved), over: saved)
            if case .deleted(wasSaved: false) = object.status { release(object) }
            // The object has no saved record that can be read, and no unsaved values.
            if case .saved = object.status, saved == nil, object.changes.isEmpty { release(object) }
            return change
        }
    }

    /// The record of an object with unsaved edits, as fetches and controllers see it; nil if the object is deleted,
    /// here or elsewhere. If the object was deleted elsewhere, the merge policy decides whether a save writes its
    /// edits.
    func unsavedRecord(of object: ManagedObject, over saved: [UInt8]?) -> [UInt8]? {
        saved == nil && !object.status.isInserted ? nil : object.currentRecord()
    }

    /// The changes from the saved records to the unsaved records that were last reported.
    var reportedEdits: [RecordChange] {
        core.edits.changes(saved: savedRecord)
    }

    /// Discards all unsaved edits, so that objects have the values that were last saved or merged, and reports the
    /// changes. Throws `ContextError.delivering` while changes are being delivered.
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

    /// Rolls back, and removes all objects from the context. Throws the errors of `rollback`.
    public func reset() throws {
        try withPublicErrors {
            try rollback()
            for object in core.registry.retained { release(object) }
            core.edits.didDeliver()
        }
    }

    /// Makes a saved object read its record again when it is next used, if the store still has the record. If
    /// `mergeChanges` is true, the object keeps its unsaved values. Otherwise they are discarded, and controllers get
    /// the change when edits are next processed. Does nothing for a new or deleted object, or for an object of another
    /// context.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
        guard object.core === core, case .saved = object.status else { return }
        // The store no longer has the record of an object that was deleted elsewhere.
        if !mergeChanges || !object.isGoneFromStore { object.base = nil }
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

// MARK: Automatic merges and processing

extension ManagedObjectContext {
    /// Whether the context automatically merges the commits of other contexts and of other processes: on its actor soon
    /// after each commit, or without an actor before each fetch, count and look-up by a unique value outside of a
    /// delivery. For a context with an actor, the value becomes false when ``PersistentContainer/commits`` ends,
    /// because the store's files were moved or replaced.
    public var automaticallyMergesChanges: Bool {
        get { core.mergeTask != nil || core.mergesWhenUsed }
        set {
            core.mergeTask?.cancel()
            core.mergeTask = nil
            core.mergesWhenUsed = newValue && core.isolation == nil
            guard newValue, let isolation = core.isolation else { return }
            let context = UncheckedContext(core: core, isolation: isolation)
            // An error is ignored, because the merge is tried again after the next commit. An explicit `mergeChanges`
            // throws the error.
            let merge: @Sendable (ManagedObjectContext) -> Void = { try? $0.mergeChanges() }
            core.mergeTask = Task { [commits = container.commits] in
                // Merges earlier commits first, then new ones.
                guard await context.run(merge) != nil else { return }
                for await _ in commits { guard await context.run(merge) != nil else { return } }
                // If this task was cancelled, the context may have another one.
                await context.run { if !Task.isCancelled { $0.core.mergeTask = nil } }
            }
        }
    }
}

extension ManagedObjectContext {
    /// Schedules the processing of edits as a new job of the actor. A context without an actor processes edits when it
    /// is used.
    func scheduleProcessing() {
        guard !core.isProcessingScheduled, let isolation = core.isolation else { return }
        core.isProcessingScheduled = true
        let context = UncheckedContext(core: core, isolation: isolation)
        Task {
            await context.run {
                $0.core.isProcessingScheduled = false
                $0.processPendingChanges()
            }
        }
    }
}

/// Carries a context into its own isolation domain. This is safe because the context is used only in that domain.
/// Neither the context nor the actor is retained; a released context is recreated if any of its objects remain.
private final class UncheckedContext: @unchecked Sendable {
    private weak var core: ContextCore?
    private weak var isolation: (any Actor)?

    init(core: ContextCore, isolation: any Actor) {
        self.core = core
        self.isolation = isolation
    }

    /// Calls the body with the context in the context's isolation domain. Returns nil if the actor was released, or if
    /// the context and all its objects were released.
    @discardableResult
    func run<Result: Sendable>(_ body: @Sendable (ManagedObjectContext) -> Result) async -> Result? {
        guard let isolation else { return nil }
        return await run(on: isolation, body)
    }

    private func run<Result>(on isolation: isolated any Actor, _ body: (ManagedObjectContext) -> Result) -> Result? {
        core.map { body($0.context) }
    }
}
