internal import FetchIndexModels
package import FetchIndexRecords
internal import Synchronization

// Many records at once.
extension BatchWriter {
    enum Preparation: UInt8, AtomicRepresentable {
        case nothing, sortedKeys, hashes, both
    }

    /// Prepares a batch for `write`, on any thread.
    func prepare(_ batch: inout RecordBatch) throws {
        let preparation = preparation.load(ordering: .relaxed)
        if preparation != .nothing { try batch.describeParts(entity) }
        guard let constraint else { return }
        if preparation == .hashes || preparation == .both { try batch.hashKeys(entityNumber, entity, constraint) }
        if preparation == .sortedKeys || preparation == .both { try batch.sortKeys(entityNumber, entity, constraint) }
    }

    /// Inserts records, in their order, or updates the objects that have their keys. `done` gets what became of each record, or `refused` the
    /// error that its values cause; what these two throw ends the batch, and the records before are written. While unique keys are left
    /// out, `done` is not called, and errors of repeated values come with `commit`. `kept` are slots of which stored objects keep their
    /// values, beside those that each record leaves to them. `related` are the slots of
    /// references that the records have, also where these are null: a stored object keeps its others.
    package func write(
        _ batch: borrowing RecordBatch, keepingSlots kept: Set<Int> = [], relating related: Set<Int> = [],
        refused: (_ index: Int, StoreError) throws -> Void = { throw $1 },
        done: (_ index: Int, WriteOutcome) throws -> Void
    ) throws {
        // A record that can only update an object is refused in its place.
        if batch.hasIncomplete { try stopDeferring() }
        try decideDeferral(batch)
        if case .deferring(let keys) = deferral {
            keys.kept = kept
            if try write(batch, deferring: keys, refused) { return }
        }
        // The batch says which objects are related by these slots, and nothing of others.
        let isPlain = related.isEmpty && kept.isEmpty && !batch.hasKeptSlots
        let kept = kept.union(isPlain ? [] : entity.relationshipSlots).subtracting(related)
        let merge: RecordMerge = { old, new, own in
            try self.entity.record(
                from: new, keeping: own.map { kept.isEmpty ? $0.slots : $0.slots.union(kept) } ?? kept, of: old)
        }
        let rule = constraint.map { WriteRule.update(by: [$0], merge: isPlain ? nil : merge) } ?? .insert
        let traits = try transaction().write(entityNumber, batch, rule, refused: refused) { index, outcome in
            counts.add(outcome)
            try done(index, outcome)
        }
        preparation.store(traits.areMostUnchanged ? .nothing : .sortedKeys, ordering: .relaxed)
        switch deferral {
        case .inOrder, .scattered: deferral = traits.areKeysScattered ? .scattered : .inOrder
        case .never, .undecided, .deferring: break
        }
    }

    /// Lets the writer defer unique keys, where the entity has no objects yet, from the first batch on or from a later one. They are
    /// written by `commit`, and when there are `atMost` of them, since each takes 11 to 22 bytes of memory. Batches may be committed
    /// meanwhile.
    package func deferUniqueKeys(atMost most: Int = 12_000_000) {
        deferral = .undecided
        mostDeferred = most
    }

    /// Whether unique keys are deferred for now.
    var isDeferring: Bool { if case .deferring = deferral { true } else { false } }

    private func decideDeferral(_ batch: borrowing RecordBatch) throws {
        switch deferral {
        case .never, .deferring: return
        case .undecided, .inOrder, .scattered: break
        }
        if batch.count == 0 { return }
        let state = try transaction().entityState(entityNumber)
        guard let constraint, try transaction().canDeferUniqueKeys(of: entityNumber, constraint) else {
            return deferral = .never
        }
        switch deferral {
        case .undecided where state.count > 0: deferral = .never
        case .undecided where batch.keys?.areInOrder == false, .scattered:
            try transaction().beginUnkeyed(entityNumber)
            deferral = .deferring(DeferredKeys(after: state, atMost: mostDeferred))
            preparation.store(state.count > 0 ? .both : .hashes, ordering: .relaxed)
        default: deferral = .inOrder
        }
    }

    /// Writes a batch without unique keys; false when they cannot be deferred any more.
    private func write(
        _ batch: borrowing RecordBatch, deferring keys: DeferredKeys, _ refused: (Int, StoreError) throws -> Void
    ) throws -> Bool {
        guard let constraint else { return false }
        let writer = try transaction()
        guard !writer.hasUniqueKeys(of: entityNumber), try writer.entityState(entityNumber).nextObject == keys.next
        else {
            // Another writer came between two batches, and has written the keys; it may come again.
            try stopDeferring()
            return false
        }
        let hashes = try batch.keyHashes(entityNumber, entity, constraint)
        let isStored = keys.hasKeyed ? try writer.findStored(entityNumber, batch, by: constraint) : nil
        var isNew = [Bool](repeating: false, count: hashes.count)
        var failure: (any Error)?
        for (index, hash) in hashes.enumerated() {
            switch hash {
            case .noKey: isNew[index] = true
            case .hash(let hash):
                isNew[index] = isStored?[index] != true && keys.seen.insert(hash)
                if !isNew[index] { keys.repeated.append(batch[index], keeping: batch.keptSlots(at: index)) }
            case .tooLong:
                let name = entity.name(of: constraint)
                let error = StoreError.uniqueValueTooLong(entity: entity.name, attribute: name)
                do { try refused(index, error) } catch { failure = error }
            }
            if failure != nil { break }
        }
        try writer.appendUnkeyed(entityNumber, batch) { isNew[$0] }
        let added = isNew.count { $0 }
        keys.next += UInt64(added)
        counts.inserted += added
        if let failure { throw failure }
        if keys.seen.isFull {
            try endDeferral()
        } else if keys.hasManyRepeated {
            // They would end it again and again.
            try stopDeferring()
        }
        return true
    }

    /// Writes the unique keys, and then the records that were put aside. The transaction stays open.
    func endDeferral() throws {
        guard case .deferring(let keys) = deferral else { return }
        leaveDeferral()
        _ = try commitTransaction()
        // The memory of the hashes is needed for sorting the keys.
        keys.seen = SeenKeys(most: 0)
        // Beginning it writes the keys.
        try write(keys.repeated, keepingSlots: keys.kept) { _, _ in }
    }

    /// Writes the unique keys that were deferred, and defers no more.
    func stopDeferring() throws {
        try endDeferral()
        deferral = .never
    }

    /// Forgets which keys are deferred: the next writer of records writes them.
    func leaveDeferral() {
        guard case .deferring = deferral else { return }
        deferral = .inOrder
        preparation.store(.sortedKeys, ordering: .relaxed)
    }
}
