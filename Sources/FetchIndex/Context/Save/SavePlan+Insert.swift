internal import FetchIndexModels
internal import FetchIndexRecords

/// Inserts new objects, or merges them into the stored objects with their unique values.
extension SavePlan {
    /// Inserts an object after the new objects to which it refers. A list is used instead of recursion, because the
    /// chain may be long.
    func insertInOrder(
        _ object: ManagedObject, among new: [RecordKey: ManagedObject], _ progress: inout Progress,
        in writer: StoreWriter
    ) throws {
        var waiting = [object]
        while let next = waiting.last {
            if progress.begun.insert(next.key).inserted {
                let targets = next.targets.compactMap { new[$0] }.filter { !progress.begun.contains($0.key) }
                if !targets.isEmpty {
                    waiting += targets.reversed()
                    continue
                }
            }
            // In a cycle, an object whose unique values contain other objects' keys is inserted after those objects,
            // because an upsert looks it up by these values.
            let keys = next.keyTargets.compactMap { new[$0] }.filter {
                progress.keys[$0.key] == nil && progress.hurried.insert($0.key).inserted
            }
            if !keys.isEmpty {
                waiting += keys
                continue
            }
            waiting.removeLast()
            if progress.keys[next.key] == nil { try insert(next, among: new, &progress, in: writer) }
        }
    }

    func insert(
        _ object: ManagedObject, among all: [RecordKey: ManagedObject], _ progress: inout Progress,
        in writer: StoreWriter
    ) throws {
        let (new, _) = try object.record(object.assembled(over: object.base), with: progress.keys)
        // This check includes targets with permanent keys that are inserted again, which `record` ignores.
        let isComplete = object.targets.allSatisfy { all[$0] == nil || progress.keys[$0] != nil }
        if object.entity.isJoin, try isLost(object, new, in: writer) {
            progress.keys[object.key] = object.key
            return progress.written.records.append((object, nil))
        }
        try named(object) {
            if let stored = try storedObject(like: object, new, in: writer) {
                if !progress.taken.contains(stored) {
                    progress.taken.insert(stored)
                    progress.keys[object.key] = stored
                    return try merge(object, into: stored, isComplete, &progress, in: writer)
                }
                // This save has already written a join object for the same link, so the second one is dropped.
                if object.entity.isJoin {
                    progress.keys[object.key] = stored
                    progress.written.hasUpserts = true
                    return progress.written.records.append((object, nil))
                }
            }
            try requireValues(of: object, in: new, isComplete: isComplete)
            writer.acceptsMissingReferences = !isComplete
            defer { writer.acceptsMissingReferences = false }
            let id = try writer.insert(object.key.entity, new.span.bytes)
            progress.taken.insert(id)
            progress.keys[object.key] = id
            progress.written.renumbered.append((object, id))
            let stored = try stored(new, of: object, as: id, in: writer)
            progress.written.edits?.append(RecordChange(object: id, old: nil, new: stored))
            progress.written.records.append((object, stored))
            if !isComplete { progress.incomplete.append((object, id)) }
        }
    }

    /// The stored object that a new object represents, if any: under the policy `.update`, the object with the same
    /// unique value; for a join object under any policy, the link between the same two objects.
    private func storedObject(
        like object: ManagedObject, _ record: [UInt8], in writer: StoreWriter
    ) throws -> RecordKey? {
        if object.entity.isJoin { return try writer.join(like: record.span.bytes, of: object.key.entity) }
        guard onUniqueConflict == .update, object.status.isInserted else { return nil }
        return try writer.object(object.key.entity, withUniqueValueOf: record.span.bytes)
    }

    /// Writes the values that were set on a new object to a stored object.
    private func merge(
        _ object: ManagedObject, into key: RecordKey, _ isComplete: Bool, _ progress: inout Progress,
        in writer: StoreWriter
    ) throws {
        try updateEarly(key, &progress, in: writer)
        let isComplete = isComplete && !progress.early.contains(key)
        guard let old = try writer.copy(of: key) else { throw StoreError.unknownObject("\(key.number)") }
        progress.written.hasUpserts = true
        progress.merged[key] = object.givenSlots
        for slot in object.givenSlots where object.changes[slot] == nil {
            object.changes[slot] = object.value(at: slot)
        }
        var new = try object.record(object.assembled(over: old, slots: object.givenSlots), with: progress.keys).record
        try requireValues(of: object, in: new, isComplete: isComplete)
        writer.acceptsMissingReferences = !isComplete
        defer { writer.acceptsMissingReferences = false }
        try writer.update(key, new.span.bytes)
        new = try stored(new, of: object, as: key, in: writer)
        if !isComplete { progress.incomplete.append((object, key)) }
        guard let registered = context.registeredObject(for: key) else {
            progress.written.merged.append((object, key))
            progress.written.records.append((object, new))
            if old != new { progress.written.edits?.append(RecordChange(object: key, old: old, new: new)) }
            return
        }
        // If this save has written the stored object, too, the two writes are combined.
        var first: [UInt8]? = old
        if context.core.edits.unsaved.contains(key) {
            progress.written.records.removeAll { $0.object === registered }
            if let index = progress.written.edits?.firstIndex(where: { $0.object == key }) {
                first = progress.written.edits?.remove(at: index).old
            }
        }
        progress.written.records += [(object, nil), (registered, new)]
        if first != new { progress.written.edits?.append(RecordChange(object: key, old: first, new: new)) }
    }

    /// Writes a stored object's own edit, if any, before a new object is merged into it, whose values win. If
    /// the edit refers to objects that are inserted later, `complete` adds these references.
    private func updateEarly(_ key: RecordKey, _ progress: inout Progress, in writer: StoreWriter) throws {
        guard context.core.edits.unsaved.contains(key),
            let (object, action) = actions.first(where: { $0.object.key == key }), case .update = action,
            !progress.written.records.contains(where: { $0.object === object })
        else { return }
        progress.early.insert(key)
        progress.incomplete.append((object, key))
        writer.acceptsMissingReferences = true
        defer { writer.acceptsMissingReferences = false }
        try update(object, action, &progress, in: writer)
    }
}
