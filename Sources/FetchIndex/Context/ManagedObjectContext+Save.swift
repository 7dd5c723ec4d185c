internal import FetchIndexOrderCaches
internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexPlatform

// The phases of a save, and the work of its two threads in each. A save of few edits uses one thread.
//
//                    write(plan)                        commit                                       advance
//     first thread   records and their links         |  caches take their orders; log; snapshot   |  objects, controllers
//     second thread  orders of live caches, in forks |  changes of these orders                   |
extension ManagedObjectContext {
    /// Writes all unsaved edits in one transaction, which also catches up the caches of live controllers. Then the
    /// context advances to the new state, which may include commits of other contexts. Each controller gets one batch,
    /// without the changes that it already got when edits were processed. O(k log n) for k edits.
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
            try commit(writer, write(plan, into: writer))
            for object in plan.objects { object.didSave() }
        }
    }

    /// Writes a plan's records, while another thread prepares the orders of live controllers' caches.
    private func write(_ plan: SavePlan, into writer: StoreWriter) throws -> Written {
        guard let expected = plan.expectedEdits, container.store.threads > 1 else {
            return try plan.write(into: writer)
        }
        let caches = followedCaches
        // While the writer is open, other writers can't commit. So this snapshot is the writer's base state.
        guard !caches.isEmpty, let snapshot = try? container.store.snapshot() else {
            return try plan.write(into: writer)
        }
        let engine = container.cacheEngine
        var written = Written()
        var prepared = CacheEngine.PreparedOrders()
        let crew = Crew()
        try Threads.run(2) { thread in
            if thread == 0 {
                written = try plan.write(into: writer)
                crew.help()
            } else {
                crew.lead {
                    writer.countingThread { prepared = engine.prepare(caches, for: expected, in: snapshot, with: crew) }
                }
            }
        }
        if written.edits == expected { written.prepared = prepared }
        return written
    }

    private func validate() throws {
        var failures: [ValidationError.Failure] = []
        let (unsaved, hasRelationships) = (unsavedObjects, model.hasRelationships)
        for object in unsaved where !object.status.isDeleted {
            if !object.status.isInserted, object.savedRecord() == nil {
                failures.append(object.failure(nil, "is not in the store"))
                continue
            }
            // The values of a possible upsert are validated later, when the stored object is known.
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

    /// The records that a transaction of this context has written.
    struct Written {
        /// The changes from the records before the transaction to those after it; nil if they aren't known.
        var edits: [RecordChange]? = []
        /// Orders of caches that were prepared with these changes.
        var prepared = CacheEngine.PreparedOrders()
        /// The permanent ids of new objects.
        var renumbered: [(object: ManagedObject, id: RecordKey)] = []
        /// Whether a stored object took the values of a new one.
        var hasUpserts = false
        /// New objects that represent stored objects after an upsert, with the stored objects' keys.
        var merged: [(object: ManagedObject, key: RecordKey)] = []
        /// The objects and their written records; a deleted object has nil.
        var records: [(object: ManagedObject, record: [UInt8]?)] = []
    }

    /// Seals a transaction, commits it with the caches of live controllers, and advances the context.
    func commit(_ writer: StoreWriter, _ written: Written) throws {
        let first = writer.commit
        // This is checked before the commit, because afterwards the context couldn't advance.
        if try writer.modelVersion != snapshot().modelVersion { try requireSameAttributes(in: writer.model) }
        try writer.seal()
        let isDirect = try first == snapshot().commit
        let followed = followedCaches
        // From here on objects are saved, even if the context fails to advance.
        let (brought, saved) = try commit(writer, written, since: first, bringing: followed)
        let damaged = followed.filter { if case .pending = brought[$0.name]?.outcome { true } else { false } }
        // Rebuilds damaged caches when this function ends and the objects are marked as saved.
        defer { rebuild(damaged, brought) }
        do {
            if let saved {
                var stored = brought.mapValues { $0.reopened(in: saved) }
                for cache in damaged {
                    stored[cache.name] = try? CacheEngine.compute(cache.order, in: saved, .rebuilt(.damaged))
                }
                return try advance(to: saved, stored, written, isDirect: isDirect)
            }
        } catch {
            note(error)
        }
        take(written)
    }

    /// Commits a transaction with the caches. Meanwhile another thread computes the changes of the prepared orders, for
    /// which it reads only the state before the transaction. The returned snapshot is nil if it can't be taken.
    private func commit(
        _ writer: StoreWriter, _ written: Written, since first: UInt64, bringing followed: [CacheRequest]
    ) throws -> (brought: [String: OpenedOrder], saved: Snapshot?) {
        let prepared = written.prepared
        let known = written.edits.map { CacheEngine.KnownChanges(since: first, $0, prepared: prepared) }
        var brought: [String: OpenedOrder] = [:]
        var changes: [String: OrderChange<RecordKey>] = [:]
        var saved: Snapshot?
        let threads = prepared.rowCount < Self.fewestForThread ? 1 : 2
        try Threads.run(threads) { thread in
            if thread == 0 {
                brought = try container.cacheEngine.open(followed, in: writer, for: .following, known: known)
                    .compactMapValues(\.opened)
                try container.cacheEngine.keepAll(in: writer, except: Array(brought.keys), known: known)
                do { saved = try writer.commitAndRead() } catch let error as CommittedWithoutSnapshot { note(error) }
            }
            if thread == threads - 1 { changes = prepared.changes() }
        }
        for (name, change) in changes { brought[name]?.take(change) }
        return (brought, saved)
    }

    /// The minimum number of rows for a second thread. Starting the thread costs more than computing the changes of
    /// fewer rows.
    private static let fewestForThread = 200

    /// Rebuilds the caches that this context has stored although their changes couldn't be computed.
    private func rebuild(_ damaged: [CacheRequest], _ brought: [String: OpenedOrder]) {
        for cache in damaged {
            guard let order = brought[cache.name] else { continue }
            do { try container.cacheEngine.rebuild(cache, of: order, limit: writeTimeout) } catch { note(error) }
        }
    }
}

extension ManagedObject {
    func failure(_ attribute: String?, _ reason: String) -> ValidationError.Failure {
        ValidationError.Failure(objectID: objectID, entityName: entity.name, attribute: attribute, reason: reason)
    }
}
