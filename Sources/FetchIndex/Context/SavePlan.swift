internal import OrderCaches
internal import Bytes
internal import Models
internal import Records

/// What a save does with each object, after conflicts are resolved.
struct SavePlan {
    private enum Action {
        case insert
        case update([UInt8], over: [UInt8])
        case delete([UInt8])
        /// The store's object stays as it is.
        case forget
    }

    private var actions: [(object: ManagedObject, action: Action)] = []
    private let policy: MergePolicy
    private let onUniqueConflict: UniqueConflictPolicy
    private let context: ManagedObjectContext

    var objects: [ManagedObject] { actions.map(\.object) }

    init(_ context: ManagedObjectContext, _ writer: StoreWriter) throws {
        policy = context.mergePolicy
        onUniqueConflict = context.onUniqueConflict
        self.context = context
        var conflicts: [MergeConflict] = []
        // Then the store has the records that the context has.
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

    /// What the policy makes of an object that was changed or deleted elsewhere.
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

    /// Deletions come first, so that their unique values are free. New objects come last, in the order of insertion.
    func write(into writer: StoreWriter) throws -> ManagedObjectContext.Written {
        var written = ManagedObjectContext.Written()
        for (object, action) in actions {
            if case .delete(let old) = action {
                if try writer.delete(object.key) {
                    written.edits?.append(RecordChange(object: object.key, old: old, new: nil))
                }
                written.records.append((object, nil))
            }
        }
        for (object, action) in actions {
            // One object may take the unique value of another.
            guard case .update(let new, let old) = action, !object.entity.uniqueConstraints.isEmpty else { continue }
            try writer.releaseUniqueKeys(of: object.key, old.span.bytes, for: new.span.bytes)
        }
        for (object, action) in actions {
            switch action {
            case .update(var new, let old):
                try named(object) { _ = try writer.update(object.key, new.span.bytes) }
                new = try stored(new, of: object, as: object.key, in: writer)
                if old != new { written.edits?.append(RecordChange(object: object.key, old: old, new: new)) }
                written.records.append((object, new))
            case .forget: written.records.append((object, try writer.copy(of: object.key)))
            case .insert, .delete: break
            }
        }
        // Two new objects with one unique value are an error whatever the policy.
        var taken: Set<RecordKey> = []
        for (object, action) in actions {
            guard case .insert = action else { continue }
            let new = object.assembled(over: object.base)
            try named(object) {
                if onUniqueConflict == .update, object.status.isInserted,
                    let stored = try writer.object(object.key.entity, withUniqueValueOf: new.span.bytes),
                    !taken.contains(stored)
                {
                    taken.insert(stored)
                    return try merge(object, into: stored, &written, in: writer)
                }
                try requireValues(of: object, in: new)
                let id = try writer.insert(object.key.entity, new.span.bytes)
                taken.insert(id)
                written.renumbered.append((object, id))
                let stored = try stored(new, of: object, as: id, in: writer)
                written.edits?.append(RecordChange(object: id, old: nil, new: stored))
                written.records.append((object, stored))
            }
        }
        return written
    }

    /// Gives a stored object the values of a new one.
    private func merge(
        _ object: ManagedObject, into key: RecordKey, _ written: inout ManagedObjectContext.Written,
        in writer: StoreWriter
    ) throws {
        guard let old = try writer.copy(of: key) else { throw StoreError.unknownObject("\(key.number)") }
        written.hasUpserts = true
        for slot in object.givenSlots where object.changes[slot] == nil {
            object.changes[slot] = object.value(at: slot)
        }
        var new = object.assembled(over: old, slots: object.givenSlots)
        try requireValues(of: object, in: new)
        try writer.update(key, new.span.bytes)
        new = try stored(new, of: object, as: key, in: writer)
        guard let registered = context.registeredObject(for: key) else {
            written.merged.append((object, key))
            written.records.append((object, new))
            if old != new { written.edits?.append(RecordChange(object: key, old: old, new: new)) }
            return
        }
        // This save may have written it already.
        var first: [UInt8]? = old
        if context.edits.unsaved[key] != nil {
            written.records.removeAll { $0.object === registered }
            if let index = written.edits?.firstIndex(where: { $0.object == key }) {
                first = written.edits?.remove(at: index).old
            }
        }
        written.records += [(object, nil), (registered, new)]
        if first != new { written.edits?.append(RecordChange(object: key, old: first, new: new)) }
    }

    /// The record as it was written: a newer model may derive values that the object's does not.
    private func stored(
        _ record: [UInt8], of object: ManagedObject, as key: RecordKey, in writer: StoreWriter
    ) throws -> [UInt8] {
        guard let completer = writer.model.entities[key.entity].completer, object.entity.completer !== completer else {
            return record
        }
        return try writer.copy(of: key) ?? record
    }

    private func requireValues(of object: ManagedObject, in record: [UInt8]) throws {
        let entity = object.entity
        let view = try RecordView(record.span.bytes, of: entity)
        let missing = try object.entity.attributeSlots.filter { slot in
            try !object.entity.attribute(at: slot).isOptional && view.range(of: slot) == nil
        }
        if missing.isEmpty { return }
        throw ValidationError(
            failures: missing.map { object.failure(object.entity.attribute(at: $0).name, "is required") })
    }

    /// Names the object in errors of its values.
    private func named(_ object: ManagedObject, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch StoreError.notUnique(_, let attribute, let value) {
            throw ValidationError(failures: [
                object.failure(
                    attribute,
                    "must be unique\(attribute.contains(", ") ? " together" : ""), but another object has \"\(value)\""
                )
            ])
        } catch StoreError.invalidValue(_, let attribute, let reason) {
            throw ValidationError(failures: [object.failure(attribute, reason)])
        } catch StoreError.uniqueValueTooLong(_, let attribute) {
            throw ValidationError(failures: [
                object.failure(attribute, "is too long: a unique value has at most 500 bytes")
            ])
        }
    }
}

extension ManagedObject {
    fileprivate func isEqual(at slot: Int, _ base: [UInt8]?, _ stored: [UInt8]) -> Bool {
        guard let base, let old = try? entity.valuesBySlot(of: base.span.bytes),
            let new = try? entity.valuesBySlot(of: stored.span.bytes)
        else { return false }
        return old[slot] == new[slot]
    }

    fileprivate func conflict(base: [UInt8]?, stored: [UInt8]?) -> MergeConflict {
        func named(_ record: [UInt8]?) -> [String: Value]? {
            guard let record, let values = try? entity.values(of: record.span.bytes) else { return nil }
            return Dictionary(uniqueKeysWithValues: zip(entity.attributes.map(\.name), values))
        }
        return MergeConflict(
            objectID: objectID, entityName: entity.name, original: named(base) ?? [:],
            inContext: status.isDeleted ? nil : named(assembled(over: base)), inStore: named(stored))
    }
}
