internal import OrderCaches
internal import Models
internal import Records
internal import SystemBasics

extension ManagedObjectContext {
    /// Writes all unsaved edits in one transaction, which also catches up the caches of live controllers. Then advances to the
    /// new state, which may include commits of other contexts. Controllers get one batch each, without what they were told
    /// before. O(k log n) for k edits.
    ///
    /// Throws `ValidationError`, `MergeConflicts` under the policy `.error`, `StoreError`, and `ContextError.delivering`; then the
    /// edits stay unsaved.
    public func save() throws {
        try withPublicErrors {
            try delivery.requireNone()
            for object in edits.unsaved.values { object.willSave() }
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

    /// Writes what a plan says. Meanwhile another thread prepares the caches of live controllers.
    private func write(_ plan: SavePlan, into writer: StoreWriter) throws -> Written {
        guard let expected = plan.expectedEdits, container.store.threads > 1 else {
            return try plan.write(into: writer)
        }
        let caches = followedCaches
        // The writer keeps others from changing what a snapshot sees.
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
            // An upsert is validated when the stored object is known.
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

    /// What a transaction of this context wrote.
    struct Written {
        /// From the records before the transaction to those after it.
        var edits: [RecordChange]? = []
        /// Orders of caches with just these edits.
        var prepared = CacheEngine.PreparedOrders()
        /// The permanent ids of new objects.
        var renumbered: [(object: ManagedObject, id: RecordKey)] = []
        /// Whether stored objects took the values of new ones.
        var hasUpserts = false
        /// New objects that became stored ones, by these keys.
        var merged: [(object: ManagedObject, key: RecordKey)] = []
        /// The objects with the records that were written of them; nil: the object is gone.
        var records: [(object: ManagedObject, record: [UInt8]?)] = []
    }

    /// Seals a transaction of this context, commits it with the caches of live controllers, and advances.
    func commit(_ writer: StoreWriter, _ written: Written) throws {
        let first = writer.commit
        // What would keep the context from advancing afterwards.
        if try writer.modelVersion != snapshot().modelVersion { try requireSameAttributes(in: writer.model) }
        try writer.seal()
        let prepared = written.prepared
        let known = written.edits.map { CacheEngine.KnownChanges(since: first, $0, prepared: prepared) }
        let isDirect = try first == snapshot().commit
        let followed = followedCaches
        var brought: [String: OpenedOrder] = [:]
        var changes: [String: OrderChange] = [:]
        // Once the transaction is committed, objects are saved even where the context cannot advance.
        var saved: Snapshot?
        let threads = prepared.rowCount < Self.fewestForThread ? 1 : 2
        // What changed in prepared orders is found in the state before the transaction, while this thread commits it.
        try Threads.run(threads) { thread in
            if thread == 0 {
                brought = try container.cacheEngine.bring(followed, in: writer, known: known)
                try container.cacheEngine.keepAll(in: writer, except: Array(brought.keys), known: known)
                do { saved = try writer.commitAndRead() } catch let error as CommittedWithoutSnapshot { note(error) }
            }
            if thread == threads - 1 { changes = prepared.changes() }
        }
        do {
            for (name, change) in changes { brought[name]?.take(change) }
            // Its old nodes are damaged, and perhaps its new ones.
            for cache in followed where brought[cache.name]?.awaitsChange ?? false {
                _ = try container.cacheEngine.rebuild(cache, .damaged)
            }
        } catch {
            note(error)
        }
        do {
            if let saved {
                let stored = brought.mapValues { $0.reopened(in: saved) }
                return try advance(to: saved, stored, written, isDirect: isDirect)
            }
        } catch {
            note(error)
        }
        take(written)
    }

    /// Finding the change of fewer rows costs less than beginning a thread.
    private static let fewestForThread = 200
}

extension ManagedObject {
    func failure(_ attribute: String?, _ reason: String) -> ValidationError.Failure {
        ValidationError.Failure(objectID: objectID, entityName: entity.name, attribute: attribute, reason: reason)
    }
}
