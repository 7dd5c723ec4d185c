internal import FetchIndexOrderCaches
internal import FetchIndexModels
internal import FetchIndexRecords

/// The actions by which a save writes the objects, after conflicts were resolved.
struct SavePlan {
    enum Action {
        case insert
        case update([UInt8], over: [UInt8])
        case delete([UInt8])
        /// Discards the context's changes; the stored object, if any, stays as it is.
        case forget
    }

    private(set) var actions: [(object: ManagedObject, action: Action)] = []
    let policy: MergePolicy
    let onUniqueConflict: UniqueConflictPolicy
    let context: ManagedObjectContext
    var objects: [ManagedObject] { actions.map(\.object) }

    init(_ context: ManagedObjectContext, _ writer: StoreWriter) throws {
        policy = context.mergePolicy
        onUniqueConflict = context.onUniqueConflict
        self.context = context
        var conflicts: [MergeConflict] = []
        // Whether the store is unchanged since the context's state, so that objects' saved records are still the stored
        // ones.
        let isNewest = try writer.commit == context.snapshot().commit
        if try writer.modelVersion != context.snapshot().modelVersion {
            try context.requireSameAttributes(in: writer.model)
        }
        let objects = context.unsavedObjects
        actions.reserveCapacity(objects.count)
        for object in objects {
            if object.status.isInserted {
                actions.append((object, .insert))
                continue
            }
            let base = object.savedRecord()
            var stored = base
            if !isNewest || base == nil || object.isGoneFromStore {
                stored = try writer.copy(of: object.key)
            }
            if stored == base, let base {
                let action =
                    object.status.isDeleted ? .delete(base) : Action.update(object.assembled(over: base), over: base)
                actions.append((object, action))
            } else if stored == nil && object.status.isDeleted {
                actions.append((object, .forget))
            } else if policy == .error {
                conflicts.append(object.conflict(base: base, stored: stored))
            } else {
                actions.append((object, settle(object, base: base, stored: stored)))
            }
        }
        if !conflicts.isEmpty { throw MergeConflicts(conflicts: conflicts) }
    }

    /// The action that the policy chooses for an object that was changed or deleted elsewhere.
    private func settle(_ object: ManagedObject, base: [UInt8]?, stored: [UInt8]?) -> Action {
        switch policy {
        case .error, .rollback: return .forget
        case .mergeByPropertyStoreTrump:
            guard let stored, !object.status.isDeleted else { return .forget }
            let slots = object.changes.keys.filter { object.isEqual(at: $0, base, stored) }
            return .update(object.assembled(over: stored, slots: Set(slots)), over: stored)
        case .mergeByPropertyObjectTrump, .overwrite:
            guard let stored else { return .insert }
            if object.status.isDeleted { return .delete(stored) }
            return .update(object.assembled(over: policy == .overwrite ? base : stored), over: stored)
        }
    }

    /// The progress of a save.
    struct Progress {
        var written = ManagedObjectContext.Written()
        /// The keys of new objects after the save, by their keys before it.
        var keys: [RecordKey: RecordKey] = [:]
        /// Stored objects that this save has inserted, or that have taken a new object's values. If another new object
        /// has one of their unique values, the save fails under any policy, unless both are join objects.
        var taken: Set<RecordKey> = []
        /// The slots that new objects have set in stored objects.
        var merged: [RecordKey: Set<Int>] = [:]
        /// Stored objects that were updated before the new objects to which they refer were inserted.
        var early: Set<RecordKey> = []
        /// New objects whose insertion has begun. They may refer to each other in a cycle.
        var begun: Set<RecordKey> = []
        /// New objects of a cycle that are inserted first, because their keys are part of other objects' unique values.
        var hurried: Set<RecordKey> = []
        /// Written objects whose records still lack references to objects that are inserted later.
        var incomplete: [(object: ManagedObject, key: RecordKey)] = []
        /// Objects whose one-to-one links may have been deleted before their update, so that other objects can take
        /// these links. Links that aren't taken may have to be restored.
        var released: [RecordKey] = []
    }

    /// Writes the records: first deletions, which free unique values; then updates that don't refer to new objects;
    /// then new objects by entity, in the order in which they were created, but each after the new objects to which it
    /// refers; then the other updates. If new objects refer to each other in a cycle, the missing references are added
    /// next. Finally applies delete rules to links that the context hasn't seen.
    func write(into writer: StoreWriter) throws -> ManagedObjectContext.Written {
        var progress = Progress()
        let deleted = try delete(&progress, in: writer)
        try releaseOldValues(&progress, in: writer)
        let new = actions.filter { if case .insert = $0.action { true } else { false } }.map(\.object)
        guard writer.model.hasRelationships else {
            for (object, action) in actions { try update(object, action, &progress, in: writer) }
            for object in new { try insert(object, among: [:], &progress, in: writer) }
            return progress.written
        }
        let byKey = Dictionary(new.map { ($0.key, $0) }) { first, _ in first }
        func isLater(_ object: ManagedObject) -> Bool { object.targets.contains { byKey[$0] != nil } }
        for (object, action) in actions where !isLater(object) { try update(object, action, &progress, in: writer) }
        for object in new { try insertInOrder(object, among: byKey, &progress, in: writer) }
        for (object, action) in actions where isLater(object) && !progress.early.contains(object.key) {
            try update(object, action, &progress, in: writer)
        }
        try complete(&progress, in: writer)
        for object in progress.released { try writer.restoreLinks(of: object) }
        if !deleted.isEmpty { try applyDeleteRules(of: deleted, &progress, in: writer) }
        try completeSymmetricLinks(&progress, in: writer)
        return progress.written
    }

    /// Deletes the deleted objects, and returns those that the store still had.
    private func delete(_ progress: inout Progress, in writer: StoreWriter) throws -> [StoreWriter.DeletedObject] {
        var deleted: [StoreWriter.DeletedObject] = []
        for (object, action) in actions {
            guard case .delete(let old) = action else { continue }
            if try writer.remove(object.key) != nil {
                progress.written.edits?.append(RecordChange(object: object.key, old: old, new: nil))
                deleted.append((object.key, try object.withChangedReferences(old)))
            }
            progress.written.records.append((object, nil))
        }
        return deleted
    }

    /// Releases all old values of updated objects before any is updated, because updates may exchange a unique value
    /// between objects.
    private func releaseOldValues(_ progress: inout Progress, in writer: StoreWriter) throws {
        for (object, action) in actions {
            guard case .update(let new, let old) = action else { continue }
            if !object.entity.uniqueConstraints.isEmpty {
                try writer.releaseUniqueKeys(of: object.key, old.span.bytes, for: new.span.bytes)
            }
            if object.entity.links != nil {
                try writer.releaseLinks(of: object.key, old.span.bytes, for: new.span.bytes)
                progress.released.append(object.key)
            }
        }
    }

    func update(
        _ object: ManagedObject, _ action: Action, _ progress: inout Progress, in writer: StoreWriter
    ) throws {
        switch action {
        case .update(let record, let old):
            var new = progress.keys.isEmpty ? record : try object.record(record, with: progress.keys).record
            try named(object) { _ = try writer.update(object.key, new.span.bytes) }
            new = try stored(new, of: object, as: object.key, in: writer)
            if old != new { progress.written.edits?.append(RecordChange(object: object.key, old: old, new: new)) }
            progress.written.records.append((object, new))
        case .forget: progress.written.records.append((object, try writer.copy(of: object.key)))
        case .insert, .delete: break
        }
    }

    /// The record as it's stored: a newer model may have derived attributes that the object's entity lacks.
    func stored(
        _ record: [UInt8], of object: ManagedObject, as key: RecordKey, in writer: StoreWriter
    ) throws -> [UInt8] {
        guard let derivations = writer.model.entities[key.entity].derivations,
            object.entity.derivations !== derivations
        else { return record }
        return try writer.copy(of: key) ?? record
    }
}

extension ManagedObject {
    fileprivate func isEqual(at slot: Int, _ base: [UInt8]?, _ stored: [UInt8]) -> Bool {
        guard let base, let old = try? entity.valuesBySlot(of: base.span.bytes),
            let new = try? entity.valuesBySlot(of: stored.span.bytes)
        else { return false }
        return old[slot] == new[slot]
    }
}
