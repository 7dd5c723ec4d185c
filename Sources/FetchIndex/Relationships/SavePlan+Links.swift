internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords

extension SavePlan {
    /// Whether a new link of a many-to-many relationship must be dropped, because one of the two joined objects was
    /// deleted elsewhere and the policy prefers the store. If one was deleted but the policy doesn't prefer the store,
    /// throws a `ValidationError` that names the link's other object.
    func isLost(_ link: ManagedObject, _ record: [UInt8], in writer: StoreWriter) throws -> Bool {
        let references = link.entity.links?.references ?? []
        let view = try RecordView(record.span.bytes)
        for reference in references {
            guard let number = try view.integer(at: reference.slot) else { continue }
            let target = RecordKey(reference: number)
            if try writer.record(target, { _ in }) { continue }
            if policy == .mergeByPropertyStoreTrump || policy == .rollback { return true }
            guard let other = references.first(where: { $0.slot != reference.slot }),
                let key = RecordKey(link.lastValue(at: other.slot))
            else { return false }
            let owner = context.object(with: key)
            let relationship = owner.entity.storedRelationships.first {
                $0.storage == .join(entity: link.key.entity, side: other.slot) && !$0.isRemoved
            }
            throw ValidationError(failures: [
                owner.failure(
                    relationship?.description.name,
                    "refers to \(context.id(of: target).entityName) \(target.number), which is not in the store")
            ])
        }
        return false
    }

    /// Writes references that were left out, because the referring objects were inserted before the objects to which
    /// they refer.
    func complete(_ progress: inout Progress, in writer: StoreWriter) throws {
        if progress.incomplete.isEmpty { return }
        let edits = progress.written.edits ?? []
        let editIndexes = Dictionary(edits.indices.map { (edits[$0].object, $0) }) { first, _ in first }
        var recordIndexes: [RecordKey: Int] = [:]
        for (index, entry) in progress.written.records.enumerated() where entry.record != nil {
            recordIndexes[progress.keys[entry.object.key] ?? entry.object.key] = index
        }
        for (object, key) in progress.incomplete {
            guard let stored = try writer.copy(of: key) else { continue }
            var references = object.references(with: progress.keys)
            if object.key == key, let slots = progress.merged[key] {
                references = references.filter { !slots.contains($0.key) }
            }
            let record = try writer.model.entities[key.entity].record(stored.span.bytes, setting: references)
            try named(object) { _ = try writer.update(key, record.span.bytes) }
            let new = try self.stored(record, of: object, as: key, in: writer)
            if let index = editIndexes[key] {
                progress.written.edits?[index] = RecordChange(object: key, old: edits[index].old, new: new)
            } else {
                progress.written.edits = nil
            }
            if let index = recordIndexes[key] { progress.written.records[index].record = new }
        }
    }

    /// Applies the delete rules to the links in the store. The context has applied them to the links that it sees, but
    /// other contexts and processes may have added links. If the rules change records, the records of written objects
    /// are read again.
    func applyDeleteRules(
        of deleted: [StoreWriter.DeletedObject], _ progress: inout Progress, in writer: StoreWriter
    ) throws {
        do {
            guard try writer.applyDeleteRules(of: deleted) else { return }
        } catch let error as StoreError {
            switch error {
            case .deletionDenied, .invalidValue: break
            default: throw error
            }
            let first = context.object(with: deleted[0].object)
            throw ValidationError(failures: [first.failure(nil, "cannot be deleted: \(error)")])
        }
        try readAgain(&progress, in: writer)
    }

    /// Completes the links of relationships that are their own inverses. The context has given each link its turned link, but
    /// other contexts and processes may have changed one of the two.
    func completeSymmetricLinks(_ progress: inout Progress, in writer: StoreWriter) throws {
        if try writer.completeSymmetricLinks() { try readAgain(&progress, in: writer) }
    }

    /// Reads the records of written objects again, after records were changed that the context doesn't know of.
    private func readAgain(_ progress: inout Progress, in writer: StoreWriter) throws {
        progress.written.edits = nil
        for index in progress.written.records.indices where progress.written.records[index].record != nil {
            let key = progress.written.records[index].object.key
            progress.written.records[index].record = try writer.copy(of: progress.keys[key] ?? key)
        }
    }
}

extension ManagedObject {
    /// The objects to which this object's references lead.
    var targets: [RecordKey] {
        (entity.links?.references ?? []).compactMap { RecordKey(lastValue(at: $0.slot)) }
    }

    /// The related objects whose keys are part of this object's unique values.
    var keyTargets: [RecordKey] {
        guard let references = entity.links?.references, !entity.uniqueConstraints.isEmpty else { return [] }
        let slots = Set(entity.uniqueConstraints.flatMap(\.slots))
        return references.filter { slots.contains($0.slot) }.compactMap { RecordKey(lastValue(at: $0.slot)) }
    }

    /// The stored record of a deleted object, with the references that were changed before the deletion. So delete
    /// rules apply to the objects to which the deleted object last referred, saved or not.
    func withChangedReferences(_ stored: [UInt8]) throws -> [UInt8] {
        var values: [Int: Value] = [:]
        for reference in entity.links?.references ?? [] { values[reference.slot] = changes[reference.slot] }
        return values.isEmpty ? stored : try entity.record(stored.span.bytes, setting: values)
    }

    /// The object's references to objects in `keys`, by slot, with the permanent keys.
    func references(with keys: [RecordKey: RecordKey]) -> [Int: Value] {
        var values: [Int: Value] = [:]
        for reference in entity.links?.references ?? [] {
            guard let target = RecordKey(lastValue(at: reference.slot)), let key = keys[target] else { continue }
            values[reference.slot] = key.reference
        }
        return values
    }

    /// Returns a record of the object with permanent keys instead of temporary ones. A reference to an object without a
    /// permanent key becomes null.
    func record(
        _ record: [UInt8], with keys: [RecordKey: RecordKey]
    ) throws -> (record: [UInt8], isComplete: Bool) {
        try entity.record(record, with: keys)
    }
}
