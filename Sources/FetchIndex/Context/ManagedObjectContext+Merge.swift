internal import OrderCaches
internal import Models
internal import Records

extension ManagedObjectContext {
    /// Moves to the store's newest state, and reports what that changes. Unsaved values stay, over the new ones.
    /// O(changes log n) from the log; when that was cut, by comparing all records.
    public func mergeChanges() throws {
        try withPublicErrors {
            try delivery.requireNone()
            processPendingChanges()
            let (newest, stored) = try container.cacheEngine.openNewest(followedCaches)
            try advanceIfNeeded(to: newest, stored)
        }
    }

    /// Moves to a newer snapshot; to one of the same commit, which may have other caches, without a report.
    func advanceIfNeeded(to new: Snapshot, _ stored: [String: OpenedOrder] = [:]) throws {
        if try new.commit == snapshot().commit { pin(new) } else { try advance(to: new, stored) }
    }

    /// Moves to a newer state: objects first, then the orders, then those who listen.
    func advance(
        to new: Snapshot, _ stored: [String: OpenedOrder], _ written: Written = Written(edits: nil),
        isDirect: Bool = false
    ) throws {
        try inTransition { try advanceInTransition(to: new, stored, written, isDirect: isDirect) }
    }

    private func advanceInTransition(
        to new: Snapshot, _ stored: [String: OpenedOrder], _ written: Written, isDirect: Bool
    ) throws {
        let old = try snapshot()
        var committed: [RecordChange] = []
        if isDirect, let edits = written.edits {
            committed = edits
            pin(new)
            take(written)
        } else {
            try requireSameAttributes(in: new.model)
            for entity in entitiesOfInterest where new.model.entities.indices.contains(entity) {
                try new.netChanges(of: entity, since: old) { committed.append($0) }
            }
            pin(new)
            take(written)
            let written = Set(written.records.map(\.object.key))
            for edit in committed where !written.contains(edit.object) { refresh(edit) }
        }
        let step = edits.advance(committed, saved: savedRecord, current: unsavedRecord)
        withExtendedLifetime(old) {
            deliver { follower in advance(follower, step, stored) }
        }
    }

    /// Throws when an entity was given other attributes: what the context knows of its objects means nothing any more.
    func requireSameAttributes(in new: Model) throws {
        let old = try snapshot().model
        for number in entitiesOfInterest where old.entities.indices.contains(number) {
            let stored = old.entities[number]
            if new.entities.indices.contains(number), new.entities[number].attributes.starts(with: stored.attributes) {
                continue
            }
            throw StoreError.modelMismatch(
                entity: stored.name, "it was dropped or given other attributes; go on with a new context")
        }
    }

    /// The entities of which something is followed or registered: what happened to others is nobody's concern here.
    private var entitiesOfInterest: [Int] {
        var entities = Set(liveFollowers.compactMap(\.entity))
        entities.formUnion(registeredEntities)
        for id in edits.reported.keys { entities.insert(id.entity) }
        return entities.sorted()
    }

    /// Takes over what was written of objects.
    func take(_ written: Written) {
        let unprocessed = written.records.isEmpty ? [] : edits.takeUnprocessed()
        let ids = written.renumbered.filter { $0.object.key.isTemporary }.map { ($0.id, $0.object.key) }
        edits.save(written.records.map(\.object.key), renumbered: Dictionary(ids) { first, _ in first })
        for (object, id) in written.renumbered { register(object, as: id) }
        for (object, key) in written.merged {
            // Its row under the temporary id is told as deleted.
            if let record = object.currentRecord() { edits.leave(object.key, record: record) }
            register(object, as: key)
        }
        if written.hasUpserts { undoStack.removeAll() }
        for (object, record) in written.records {
            guard let record else {
                release(object)
                continue
            }
            if object.observers != nil {
                if let visible = object.currentRecord() {
                    object.noteChange(from: visible, to: record)
                } else {
                    object.noteChangeOfAll()
                }
            }
            object.changes = [:]
            object.givenSlots = []
            object.base = record
            object.isGoneFromStore = false
            object.status = .saved
            object.hasBeenSaved = true
            object.noteChangeOfState()
        }
        for (_, object) in unprocessed { if case .deleted(wasSaved: false) = object.status { release(object) } }
    }

    /// Lets a registered object see what someone else did to it.
    private func refresh(_ edit: RecordChange) {
        guard let object = registeredObject(for: edit.object) else {
            if edit.new == nil, let old = edit.old { edits.leave(edit.object, record: old) }
            return
        }
        if let old = edit.old, let new = edit.new {
            object.noteChange(from: old, to: new)
        } else {
            object.noteChangeOfAll()
        }
        switch object.status {
        case .saved where object.changes.isEmpty:
            object.base = edit.new == nil ? edit.old : nil
            if edit.new == nil { release(object) }
        case .saved:
            // Gone under unsaved values: the save will find the conflict.
            guard let new = edit.new else {
                object.isGoneFromStore = true
                return
            }
            object.isGoneFromStore = false
            object.base = new
            let saved = (try? object.entity.values(of: new.span.bytes)) ?? []
            object.changes = object.changes.filter { $0.key >= saved.count || saved[$0.key] != $0.value }
            edits.setUnsaved(edit.object, object.isUnsaved ? object : nil)
        case .deleted:
            if let new = edit.new {
                object.base = new
            } else {
                edits.setUnsaved(edit.object, nil)
                release(object)
            }
        case .inserted, .gone: break
        }
    }

    private func advance(
        _ follower: any ContextFollower, _ step: LiveOrder.Step, _ stored: [String: OpenedOrder]
    ) {
        follower.advance(edits.permanentKeys, step.net) { [container] order in
            try order.advance(step) { cache in
                try stored[cache.name] ?? container.cacheEngine.open(cache, in: self.snapshot())
            }
        }
    }
}

// MARK: By themselves

extension ManagedObjectContext {
    /// Whether the context merges as commits arrive, of other contexts and of other processes. A context that was made
    /// outside of any actor merges when it is next used. Becomes false when ``PersistentContainer/commits``
    /// ends, since the store's files were moved.
    public var automaticallyMergesChanges: Bool {
        get { mergeTask != nil || mergesWhenUsed }
        set {
            mergeTask?.cancel()
            mergeTask = nil
            mergesWhenUsed = newValue && isolation == nil
            guard newValue, let isolation else { return }
            let context = UncheckedContext(context: self, isolation: isolation)
            mergeTask = Task { [commits = container.commits] in
                // What was committed before it was asked for, and then what is.
                guard await context.merge() else { return }
                for await _ in commits { guard await context.merge() else { return } }
                await context.stopMerging()
            }
        }
    }
}

extension ManagedObjectContext {
    /// Has edits processed once the actor has done what it is doing now. A context that was made outside of any actor
    /// processes them when it is asked to, and when it is used.
    func scheduleProcessing() {
        guard !isProcessingScheduled, let isolation else { return }
        isProcessingScheduled = true
        let context = UncheckedContext(context: self, isolation: isolation)
        Task { await context.process() }
    }
}

/// Carries a context to its own isolation domain, and is opened only there: that makes it safe to send. It keeps neither
/// alive.
private final class UncheckedContext: @unchecked Sendable {
    private weak var context: ManagedObjectContext?
    private weak var isolation: (any Actor)?

    init(context: ManagedObjectContext, isolation: any Actor) {
        self.context = context
        self.isolation = isolation
    }

    /// Processes what was edited.
    func process() async {
        guard let isolation else { return }
        await process(isolation)
    }

    private func process(_ isolation: isolated any Actor) {
        guard let context else { return }
        context.isProcessingScheduled = false
        context.processPendingChanges()
    }

    /// There are no commits to come.
    func stopMerging() async {
        guard let isolation else { return }
        await stopMerging(isolation)
    }

    /// A task that was cancelled is not the context's any more.
    private func stopMerging(_ isolation: isolated any Actor) {
        if !Task.isCancelled { context?.mergeTask = nil }
    }

    /// False when the context or its actor is gone.
    func merge() async -> Bool {
        guard let isolation else { return false }
        return await merge(isolation)
    }

    private func merge(_ isolation: isolated any Actor) -> Bool {
        guard let context else { return false }
        // A merge that fails is tried again with the next commit, and by who asks for it, who gets the error.
        try? context.mergeChanges()
        return true
    }
}

/// A view of a context's objects that moves with it.
protocol ContextFollower: AnyObject {
    /// Whether it has fetched.
    var isLive: Bool { get }
    /// The number of the entity whose objects it follows.
    var entity: Int? { get }
    /// The cache whose order it follows; nil when the order is in memory.
    var followed: CacheRequest? { get }
    /// Takes the order a step on, and keeps what that changed until it is delivered. The edits lead from the records that
    /// the follower saw to those that it sees now.
    func advance(
        _ renumbered: [RecordKey: RecordKey], _ edits: [RecordChange], _ step: (inout LiveOrder) throws -> OrderChange)
    func deliver()
}
