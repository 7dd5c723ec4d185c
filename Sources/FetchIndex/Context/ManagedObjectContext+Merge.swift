internal import FetchIndexOrderCaches
internal import FetchIndexModels
internal import FetchIndexRecords

extension ManagedObjectContext {
    /// Advances the context to the store's newest state, and reports the changes to its controllers. An object keeps
    /// its unsaved values, which hide newer values in the store. O(k log n) for k changes of records and rows, logged
    /// or unsaved, and for a controller with an offset or a limit also O(w log w) for the w rows that it shows. O(n) if
    /// the log no longer has all changes, O(n log n) if a cache must be rebuilt. Throws `StoreError`, and
    /// `ContextError.delivering` while changes are being delivered.
    public func mergeChanges() throws {
        try withPublicErrors {
            _ = try merge()
        }
    }

    /// Merges like `mergeChanges`. Returns the orders of the controllers' caches in the context's new state.
    func merge() throws -> NewestOrders {
        try delivery.requireNone()
        processPendingChanges()
        let newest = try container.cacheEngine.openNewest(followedCaches)
        try advanceIfNeeded(to: newest.snapshot, newest.orders)
        return newest
    }

    /// Advances the context to a snapshot of another commit. If the commit is the same, only pins the snapshot, in
    /// which caches may have changed, and reports no changes.
    func advanceIfNeeded(to new: Snapshot, _ opened: [String: CacheAttempt<OpenedOrder>] = [:]) throws {
        guard try new.commit == snapshot().commit else { return try advance(to: new, opened) }
        // The model can change without a commit, if no record changes.
        if try new.modelVersion != snapshot().modelVersion { try requireSameAttributes(in: new.model) }
        core.pin(new)
    }

    /// Advances the context to a newer state: updates its objects, then the rows of its controllers, and only then
    /// notifies listeners.
    func advance(
        to new: Snapshot, _ opened: [String: CacheAttempt<OpenedOrder>], _ written: Written = Written(edits: nil),
        isDirect: Bool = false
    ) throws {
        try core.deferringObservations { try applyAdvance(to: new, opened, written, isDirect: isDirect) }
    }

    private func applyAdvance(
        to new: Snapshot, _ opened: [String: CacheAttempt<OpenedOrder>], _ written: Written, isDirect: Bool
    ) throws {
        let old = try snapshot()
        var committed: [RecordChange] = []
        if isDirect, let edits = written.edits {
            committed = edits
            core.pin(new)
            take(written)
        } else {
            if new.modelVersion != old.modelVersion { try requireSameAttributes(in: new.model) }
            for entity in entitiesOfInterest where new.model.entities.indices.contains(entity) {
                try new.netChanges(of: entity, since: old) { committed.append($0) }
            }
            core.pin(new)
            take(written)
            let written = Set(written.records.map(\.object.key))
            for edit in committed where !written.contains(edit.object) { refresh(edit) }
        }
        if new.model.hasRelationships { settleLinks(after: committed) }
        // The reported records by key; a new object that has just been saved is listed under its permanent key.
        let keys = core.edits.permanentKeys
        var seen: [RecordKey: [UInt8]?] = [:]
        if new.model.hasRelationships {
            for (key, record) in core.edits.reported { seen.updateValue(record, forKey: keys[key] ?? key) }
        }
        let unsaved = Dictionary(uniqueKeysWithValues: unsavedObjects.map { ($0.key, $0) })
        var step = core.edits.advance(committed, saved: savedRecord) { key, saved in
            unsaved[key].flatMap { unsavedRecord(of: $0, over: saved) }
        }
        if new.model.hasRelationships {
            step.states = LiveOrder.Step.States(
                old: old, seenOld: ChangedState(seen, over: old), new: new,
                seenNew: ChangedState(core.edits.reported, over: new))
        }
        withExtendedLifetime(old) {
            deliver { follower in advance(follower, step, opened) }
        }
    }

    /// Throws if the context can't advance to a newer model, because the model lacks something that the program
    /// declares, a follower would depend on another entity, or an entity that the context uses was dropped or changed
    /// in such a way that its objects can't be used with the newer model.
    func requireSameAttributes(in new: Model) throws {
        try container.requireDeclared(in: new)
        for follower in liveFollowers { try follower.requireEntities(in: new) }
        let old = try snapshot().model
        for number in entitiesOfInterest where old.entities.indices.contains(number) {
            let stored = old.entities[number]
            if new.entities.indices.contains(number), stored.isReadable(with: new.entities[number]) {
                continue
            }
            throw StoreError.modelMismatch(
                entity: stored.name, "it was dropped or changed; use a new context")
        }
    }

    /// The objects to which the references in a changed object's old and new records lead.
    private func targets(of edit: RecordChange) -> Set<RecordKey> {
        guard model.entities.indices.contains(edit.object.entity),
            let references = model.entities[edit.object.entity].links?.references
        else { return [] }
        var targets: Set<RecordKey> = []
        for case let record? in [edit.old, edit.new] {
            guard let view = try? RecordView(record.span.bytes) else { continue }
            for reference in references {
                guard let number = try? view.integer(at: reference.slot) else { continue }
                targets.insert(RecordKey(reference: number))
            }
        }
        return targets
    }

    /// The numbers of the entities whose changes affect this context: entities on which followers depend, entities with
    /// registered objects or reported edits, and entities whose objects may have links to registered objects.
    private var entitiesOfInterest: [Int] {
        var entities = Set(liveFollowers.flatMap(\.entities))
        let registered = core.registry.entities
        entities.formUnion(registered)
        let model = model
        if model.hasRelationships {
            for entity in registered where model.entities.indices.contains(entity) {
                for incoming in model.entities[entity].links?.incoming ?? [] {
                    entities.formUnion(model.hierarchy(of: incoming.name.entity))
                }
            }
        }
        for id in core.edits.reported.keys { entities.insert(id.entity) }
        return entities.sorted()
    }

    /// Updates the objects that a transaction of this context has written.
    func take(_ written: Written) {
        defer { core.forgetIndexes() }
        let unprocessed = written.records.isEmpty ? [] : core.edits.takeUnprocessed()
        let ids = written.renumbered.filter { $0.object.key.isTemporary }.map { ($0.id, $0.object.key) }
        let removed = unprocessed.map(editedObject).filter {
            if case .deleted(wasSaved: false) = $0.status { true } else { false }
        }
        let saved = written.records.map(\.object.key)
        core.edits.save(saved, renumbered: Dictionary(ids) { first, _ in first })
        if core.edits.unsaved.isEmpty { edited = [:] } else { for key in saved + unprocessed { settle(key) } }
        for (object, id) in written.renumbered { register(object, as: id) }
        let keys = Dictionary(ids.map { ($0.1, $0.0) }) { first, _ in first }
        if model.hasRelationships { undoStack.renumber(keys) }
        if model.hasRelationships, !keys.isEmpty {
            let entities = model.entities
            // A temporary key that isn't in `keys` stays in the reported records.
            core.edits.renumberReported {
                (try? entities[$0.entity].record($1, with: keys, keepingOthers: true).record) ?? $1
            }
        }
        for (object, key) in written.merged {
            // Followers get a deletion of the row that had the temporary id.
            if let record = object.currentRecord() { core.edits.leave(object.key, record: record) }
            register(object, as: key)
        }
        if written.hasUpserts { undoStack.removeAll() }
        for (object, record) in written.records {
            if let record { settle(object, on: record) } else { release(object) }
        }
        for object in removed { release(object) }
    }

    /// Makes the record that was written the saved one of its object, and tells the object's observers.
    private func settle(_ object: ManagedObject, on record: [UInt8]) {
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
        object.noteChangeOfState()
    }

    /// Updates an object of this context after its stored record has changed.
    private func refresh(_ edit: RecordChange) {
        defer { noteChangeOfRelated(targets(of: edit)) }
        guard let object = registeredObject(for: edit.object) else {
            if edit.new == nil, let old = edit.old { core.edits.leave(edit.object, record: old) }
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
            // The object was deleted elsewhere but has unsaved values here, so the next save finds a conflict.
            guard let new = edit.new else {
                object.isGoneFromStore = true
                return
            }
            object.isGoneFromStore = false
            object.base = new
            let saved = (try? object.entity.valuesBySlot(of: new.span.bytes)) ?? []
            object.changes = object.changes.filter { $0.key >= saved.count || saved[$0.key] != $0.value }
            core.edits.setUnsaved(edit.object, object.isUnsaved)
            settle(edit.object)
        case .deleted:
            if let new = edit.new {
                object.base = new
            } else {
                core.edits.setUnsaved(edit.object, false)
                settle(edit.object)
                release(object)
            }
        case .inserted, .gone: break
        }
    }

    private func advance(
        _ follower: any ContextFollower, _ step: LiveOrder.Step, _ opened: [String: CacheAttempt<OpenedOrder>]
    ) {
        follower.advance(core.edits.permanentKeys, step.net) { [container] order in
            guard let cache = order.cache else { return try order.advance(step) }
            let snapshot = try self.snapshot()
            let next =
                try opened[cache.name]?.order(of: cache.order, in: snapshot)
                ?? container.cacheEngine.open(cache, in: snapshot, writing: .nothing()).opened
            return try order.advance(step, to: next)
        }
    }
}

/// A view that advances with its context.
///
/// This is a protocol, because the context keeps controllers of several object classes in one list: it hides the
/// parameter of `FetchedResultsController`, its only conforming type.
protocol ContextFollower: AnyObject {
    /// Whether the follower has an order.
    var isLive: Bool { get }
    /// The numbers of the entities whose changes may change the follower's rows or observed values.
    var entities: [Int] { get }
    /// Throws if the follower would depend on an entity of this newer model that isn't in `entities`.
    func requireEntities(in model: Model) throws
    /// The cache that the context's saves and merges catch up for this follower, if any.
    var followed: CacheRequest? { get }
    /// Calls `step`, which advances the order to the context's new state, and keeps the resulting change until it's
    /// delivered. `renumbered` has permanent keys by temporary ones. The record changes in `edits` lead from the
    /// records that the follower has seen to the current ones.
    func advance(
        _ renumbered: [RecordKey: RecordKey], _ edits: [RecordChange],
        _ step: (LiveOrder) throws -> OrderChange<RecordKey>)
    func deliver()
}
