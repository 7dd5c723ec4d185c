internal import FetchIndexOrderCaches
internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexPlatform

// The phases of a save, and the work of its two threads in each. A save of few edits uses one thread.
//
//                    write(plan)                           commit                                  advance
//     first thread   writes records and links           |  stores orders in caches, commits     |  objects, controllers
//     second thread  updates live caches' orders, in    |  computes the changes of these        |
//                    forks                              |  orders                               |
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
            try commit(writer, write(plan, into: writer))
            for object in plan.objects { object.didSave() }
        }
    }

    /// Writes a plan's records. If the plan knows its changes in advance, another thread may meanwhile apply them to
    /// the orders of live controllers' caches.
    private func write(_ plan: SavePlan, into writer: StoreWriter) throws -> Written {
        guard let expected = plan.expectedEdits, container.store.threads > 1 else {
            return try plan.write(into: writer)
        }
        let caches = followedCaches
        // While the writer is open, other writers can't commit. So this snapshot is the state that the writer changes.
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
        /// Orders of caches to which `edits` were already applied.
        var prepared = CacheEngine.PreparedOrders()
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
        let damaged = followed.filter { if case .pending = brought[$0.name]?.opened?.outcome { true } else { false } }
        // Damaged caches are rebuilt at the end of this function, when the objects are marked as saved.
        defer { rebuild(damaged, brought) }
        do {
            if let saved {
                var stored = brought.mapValues { $0.map { $0.reopened(in: saved) } }
                for cache in damaged { stored[cache.name] = .unusable(.damaged) }
                return try advance(to: saved, stored, written, isDirect: isDirect)
            }
        } catch {
            note(error)
        }
        take(written)
    }

    /// Commits a transaction with the caches. If many rows change, another thread meanwhile computes the changes of the
    /// prepared orders, for which it needs only the state before the transaction and these orders. The returned
    /// snapshot is nil if none can be taken after the commit.
    private func commit(
        _ writer: StoreWriter, _ written: Written, since first: UInt64, bringing followed: [CacheRequest]
    ) throws -> (brought: [String: CacheAttempt<OpenedOrder>], saved: Snapshot?) {
        let prepared = written.prepared
        let known = written.edits.map { CacheEngine.KnownChanges(since: first, $0, prepared: prepared) }
        var brought: [String: CacheAttempt<OpenedOrder>] = [:]
        var changes: [String: OrderChange<RecordKey>] = [:]
        var saved: Snapshot?
        let threads = prepared.rowCount < Self.fewestForThread ? 1 : 2
        try Threads.run(threads) { thread in
            if thread == 0 {
                brought = try container.cacheEngine.open(followed, in: writer, for: .following, known: known)
                let opened = followed.map(\.name).filter { brought[$0]?.opened != nil }
                try container.cacheEngine.keepAll(in: writer, except: opened, known: known)
                do { saved = try writer.commitAndRead() } catch let error as CommittedWithoutSnapshot { note(error) }
            }
            if thread == threads - 1 { changes = prepared.changes() }
        }
        for (name, change) in changes {
            brought[name] = brought[name]?.map { order in
                var order = order
                order.take(change)
                return order
            }
        }
        return (brought, saved)
    }

    /// The minimum number of changed rows for a second thread. For fewer rows, starting the thread may cost more than
    /// computing their changes.
    private static let fewestForThread = 200

    /// Rebuilds the caches in which this context's commit found damage, so that it couldn't compute their changes.
    private func rebuild(_ damaged: [CacheRequest], _ brought: [String: CacheAttempt<OpenedOrder>]) {
        for cache in damaged {
            guard let order = brought[cache.name]?.opened else { continue }
            do { try container.cacheEngine.rebuild(cache, of: order, limit: writeTimeout) } catch { note(error) }
        }
    }
}

extension ManagedObject {
    func failure(_ attribute: String?, _ reason: String) -> ValidationError.Failure {
        ValidationError.Failure(objectID: objectID, entityName: entity.name, attribute: attribute, reason: reason)
    }
}
