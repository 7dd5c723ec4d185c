internal import FetchIndexModels
package import FetchIndexRecords

// Writing batches of records.
extension BatchWriter {
    /// What is prepared in a batch before it's written. Another thread can do that.
    package enum Preparation: Sendable {
        case nothing, sortedKeys, hashes, both
    }

    /// Prepares a batch for `write`. May be called on any thread, while the writer writes on another one.
    func prepare(_ batch: inout RecordBatch, as preparation: Preparation) throws {
        if preparation != .nothing { try batch.describeParts(entity) }
        guard let constraint else { return }
        if preparation == .hashes || preparation == .both { try batch.hashKeys(entityNumber, entity, constraint) }
        if preparation == .sortedKeys || preparation == .both { try batch.sortKeys(entityNumber, entity, constraint) }
    }

    /// For each record, in the order of the batch, updates the object that has the record's key, or inserts a new
    /// object. `done` gets the outcome of each written record; `refused` gets the error that a record's values cause.
    /// If a closure throws, the batch ends, and the previous records are written. While unique keys are deferred,
    /// `done` isn't called, and errors of records with repeated keys are thrown when these records are written, at the
    /// latest by `commit`.
    ///
    /// Stored objects keep their values in the slots `kept`, and in the slots that a record leaves out. `related` are
    /// the slots of the references that the records set, even to null; stored objects keep their other references.
    package func write(
        _ batch: borrowing RecordBatch, keepingSlots kept: Set<Int> = [], relating related: Set<Int> = [],
        refused: (_ index: Int, StoreError) throws -> Void = { throw $1 },
        done: (_ index: Int, WriteOutcome) throws -> Void
    ) throws {
        // A record that lacks a required value is an error if it doesn't update an object. The errors of a batch are
        // thrown in the order of its records, so a batch with such a record can't defer its keys.
        if batch.hasIncomplete { try stopDeferring() }
        try decideDeferral(batch)
        if case .deferring(let keys) = deferral {
            keys.kept = kept
            if try write(batch, deferring: keys, refused) { return }
        }
        // The records set the references in `related`; stored objects keep their other references.
        let isPlain = related.isEmpty && kept.isEmpty && !batch.hasKeptSlots
        let kept = kept.union(isPlain ? [] : entity.relationshipSlots).subtracting(related)
        let rule = constraint.map { WriteRule.update(entity, by: $0, keeping: isPlain ? nil : kept) } ?? .insert
        let traits = try transaction().write(entityNumber, batch, rule, refused: refused) { index, outcome in
            counts.add(outcome)
            try done(index, outcome)
        }
        preparation = traits.areMostUnchanged ? .nothing : .sortedKeys
        switch deferral {
        case .inOrder, .scattered: deferral = traits.areKeysScattered ? .scattered : .inOrder
        case .never, .undecided, .deferring: break
        }
    }

    /// Lets the writer defer unique keys if the entity has no objects when the first batch is written. Deferral begins
    /// with the first batch or a later one. `commit` writes the deferred keys. A batch that reaches `atMost` deferred
    /// keys writes them too, since each takes 11 to 22 bytes of memory. `commitBatch` commits without writing them.
    package func deferUniqueKeys(atMost most: Int = 12_000_000) {
        deferral = .undecided
        mostDeferred = most
    }

    /// Whether the unique keys of new records are being deferred.
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
            preparation = state.count > 0 ? .both : .hashes
        default: deferral = .inOrder
        }
    }

    /// Writes a batch without its unique keys. Returns false, without writing the batch, if keys can't be deferred any
    /// longer.
    private func write(
        _ batch: borrowing RecordBatch, deferring keys: DeferredKeys, _ refused: (Int, StoreError) throws -> Void
    ) throws -> Bool {
        guard let constraint else { return false }
        let writer = try transaction()
        guard !writer.hasUniqueKeys(of: entityNumber), try writer.entityState(entityNumber).nextObject == keys.next
        else {
            // Another writer has written the deferred keys between two batches, and may do so again.
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
            // If keys were deferred again, further repeated records would end each deferral.
            try stopDeferring()
        }
        return true
    }

    /// If keys are deferred, commits the open transaction, and writes the deferred keys, and then the repeated records,
    /// in a new transaction, which stays open.
    func endDeferral() throws {
        guard case .deferring(let keys) = deferral else { return }
        leaveDeferral()
        _ = try commitTransaction()
        // Releases the memory of the hashes, because sorting the keys needs memory.
        keys.seen = SeenKeys(most: 0)
        // This begins a transaction, which first writes the deferred keys.
        try write(keys.repeated, keepingSlots: keys.kept) { _, _ in }
    }

    /// Writes the deferred keys. This writer doesn't defer keys again.
    func stopDeferring() throws {
        try endDeferral()
        deferral = .never
    }

    /// Stops deferring, and forgets the hashes of the deferred keys. The next transaction that changes records writes
    /// the keys.
    func leaveDeferral() {
        guard case .deferring = deferral else { return }
        deferral = .inOrder
        preparation = .sortedKeys
    }
}
