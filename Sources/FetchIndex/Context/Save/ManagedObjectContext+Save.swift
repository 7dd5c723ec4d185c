internal import FetchIndexOrderCaches
internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexPlatform

// The phases of a save:
//
//     SavePlan.init   settles conflicts with other contexts' commits
//     write           writes records and links
//     commit          catches up caches with these changes, in the same transaction, and commits
//     advance         gives objects and controllers the new state
extension ManagedObjectContext {
    /// Writes the unsaved edits in one transaction, which also catches up maintained caches and the caches of live
    /// controllers. The context then advances to the new state, which may include commits of other contexts. Each
    /// controller gets at most one batch, without the changes that it already got when edits were processed. O(k log n)
    /// for k changes of records and rows, if all caches can be caught up; for a controller with an offset or a limit
    /// also O(w log w) for the w rows that it shows.
    ///
    /// Throws `ValidationError`, `MergeConflicts` under the policy `.error`, `StoreError`, and
    /// `ContextError.delivering`. After an error, the edits are still unsaved.
    public func save() throws {
        try withPublicErrors {
            try delivery.requireNone()
            for object in core.edits.unsaved.map(editedObject) { object.willSave() }
            guard hasChanges else {
                processPendingChanges()
                return
            }
            undoStack.closeGroup()
            try validate()
            let writer = try container.store.beginWrite(author: transactionAuthor, limit: writeTimeout)
            let plan = try SavePlan(self, writer)
            try commit(writer, plan.write(into: writer))
            for object in plan.objects { object.didSave() }
        }
    }

    private func validate() throws {
        var failures: [ValidationError.Failure] = []
        let (unsaved, hasRelationships) = (unsavedObjects, model.hasRelationships)
        for object in unsaved where !object.status.isDeleted {
            if !object.status.isInserted, object.savedRecord() == nil {
                failures.append(object.failure(nil, "is not in the store"))
                continue
            }
            // The required values of a possible upsert are checked later, when the stored object is known.
            let mayBeUpsert = object.status.isInserted && onUniqueConflict == .update
            for (slot, attribute) in zip(object.entity.attributeSlots, object.entity.attributes)
            where !mayBeUpsert && !attribute.isOptional && object.value(at: slot).isNull {
                failures.append(object.failure(attribute.name, "is required"))
            }
            for (slot, value) in object.changes where value.isUnstorable {
                failures.append(object.failure(object.entity.attribute(at: slot).name, "is not a number"))
            }
            if hasRelationships { failures += relationshipFailures(of: object) }
            do { try object.validate() } catch { failures.append(object.failure(nil, "\(error)")) }
        }
        if hasRelationships {
            for object in unsaved where object.status.isDeleted { failures += relationshipFailures(of: object) }
            failures += countFailures()
        }
        if !failures.isEmpty { throw ValidationError(failures: failures) }
    }

    /// The results of a transaction of this context.
    struct Written {
        /// The changes of records that the transaction makes; nil if they aren't known.
        var edits: [RecordChange]? = []
        /// The permanent ids of new objects.
        var renumbered: [(object: ManagedObject, id: RecordKey)] = []
        /// Whether a stored object took the values of a new one, or a second new link between the same objects was
        /// dropped.
        var hasUpserts = false
        /// New objects that represent stored objects after an upsert, with the stored objects' keys.
        var merged: [(object: ManagedObject, key: RecordKey)] = []
        /// The objects and their records after the save; nil for an object that leaves the context, for example because
        /// it was deleted.
        var records: [(object: ManagedObject, record: [UInt8]?)] = []
    }

    /// Seals a transaction, commits it with the caches of live controllers, and advances the context.
    func commit(_ writer: StoreWriter, _ written: Written) throws {
        let first = writer.commit
        // Checked before the commit: if this failed after it, the edits would be saved but the context couldn't
        // advance.
        if try writer.modelVersion != snapshot().modelVersion { try requireSameAttributes(in: writer.model) }
        try writer.seal()
        let isDirect = try first == snapshot().commit
        let followed = followedCaches
        // After this commit the objects are saved, even if the context fails to advance.
        let (brought, saved) = try commit(writer, written, since: first, bringing: followed)
        do {
            if let saved {
                let stored = brought.mapValues { $0.map { $0.reopened(in: saved) } }
                return try advance(to: saved, stored, written, isDirect: isDirect)
            }
        } catch {
            note(error)
        }
        take(written)
    }

    /// Commits a transaction with the caches. The returned snapshot is nil if none can be taken after the commit.
    private func commit(
        _ writer: StoreWriter, _ written: Written, since first: UInt64, bringing followed: [CacheRequest]
    ) throws -> (brought: [String: CacheAttempt<OpenedOrder>], saved: Snapshot?) {
        let known = written.edits.map { CacheEngine.KnownChanges(since: first, $0) }
        let brought = try container.cacheEngine.open(followed, in: writer, for: .following, known: known)
        let opened = followed.map(\.name).filter { brought[$0]?.opened != nil }
        try container.cacheEngine.keepAll(in: writer, except: opened, known: known)
        do { return (brought, try writer.commitAndRead()) } catch let error as CommittedWithoutSnapshot {
            note(error)
            return (brought, nil)
        }
    }
}

extension ManagedObject {
    func failure(_ attribute: String?, _ reason: String) -> ValidationError.Failure {
        ValidationError.Failure(objectID: objectID, entityName: entity.name, attribute: attribute, reason: reason)
    }
}
