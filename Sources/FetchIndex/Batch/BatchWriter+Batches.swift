internal import FetchIndexModels
package import FetchIndexRecords

// Writing batches of records.
extension BatchWriter {
    /// What is prepared in a batch before it's written. Another thread can do that.
    package enum Preparation: Sendable {
        /// The keys in the order of the records, in ascending order, or in both.
        case nothing, listedKeys, sortedKeys, bothKeys
    }

    /// The preparation that the next batch needs, judged by the previous batches. Only the thread that writes may read
    /// it.
    package var preparation: Preparation {
        if let deferred { return deferred.hasKeyed ? .bothKeys : .listedKeys }
        if mostDeferred != nil { return .listedKeys }
        return areMostUnchanged ? .nothing : .sortedKeys
    }

    /// Prepares a batch for `write`. May be called on any thread, while the writer writes on another one.
    func prepare(_ batch: inout RecordBatch, as preparation: Preparation) throws {
        if preparation != .nothing { try batch.describeParts(entity) }
        guard let constraint else { return }
        switch preparation {
        case .nothing: break
        case .listedKeys: try batch.listKeys(entityNumber, entity, constraint)
        case .sortedKeys: try batch.sortKeys(entityNumber, entity, constraint)
        case .bothKeys:
            try batch.listKeys(entityNumber, entity, constraint)
            try batch.sortKeys(entityNumber, entity, constraint)
        }
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
        if try write(batch, deferringKeysOf: kept, refused) { return }
        try writeWithKeys(batch, kept, related, refused, done)
    }

    private func writeWithKeys(
        _ batch: borrowing RecordBatch, _ kept: Set<Int>, _ related: Set<Int>,
        _ refused: (_ index: Int, StoreError) throws -> Void, _ done: (_ index: Int, WriteOutcome) throws -> Void
    ) throws {
        // The records set the references in `related`; stored objects keep their other references.
        let isPlain = related.isEmpty && kept.isEmpty && !batch.hasKeptSlots
        let kept = kept.union(isPlain ? [] : entity.relationshipSlots).subtracting(related)
        let rule = constraint.map { WriteRule.update(entity, by: $0, keeping: isPlain ? nil : kept) } ?? .insert
        areMostUnchanged = try transaction().write(entityNumber, batch, rule, refused: refused) { index, outcome in
            counts.add(outcome)
            try done(index, outcome)
        }
    }
}

// A first import defers unique keys: it leaves them out while it writes records, and writes them later in order.
extension BatchWriter {
    /// Lets the writer defer unique keys from the first batch on, if the entity has no objects then. `commit` writes
    /// the deferred keys. A batch that reaches `atMost` deferred keys writes them too, since each takes 11 to 22 bytes
    /// of memory, and later batches defer keys again. `commitBatch` commits without writing them.
    package func deferUniqueKeys(atMost most: Int = 12_000_000) { mostDeferred = most }

    /// Whether the unique keys of new records are being deferred.
    var isDeferring: Bool { deferred != nil }

    /// Writes a batch without its unique keys. Returns false, without writing the batch, if keys can't be deferred, or
    /// not any longer.
    private func write(
        _ batch: borrowing RecordBatch, deferringKeysOf kept: Set<Int>, _ refused: (Int, StoreError) throws -> Void
    ) throws -> Bool {
        if batch.count == 0 { return isDeferring }
        if let mostDeferred, !isDeferring, let constraint {
            let isEmpty = try transaction().entityState(entityNumber).count == 0
            if isEmpty {
                deferred = try transaction().beginDeferral(of: entityNumber, constraint, atMost: mostDeferred)
            }
            self.mostDeferred = isDeferring ? mostDeferred : nil
        }
        guard let keys = deferred else { return false }
        guard try transaction().lacks(keys) else {
            // Another writer has written the deferred keys between two batches, and may do so again.
            try stopDeferring()
            return false
        }
        keys.kept = kept
        let first = keys.next
        defer { counts.inserted += Int(keys.next - first) }
        try transaction().insert(batch, deferring: keys, refused: refused)
        if keys.isFull, let constraint, let mostDeferred {
            try endDeferral()
            deferred = try transaction().beginDeferral(of: entityNumber, constraint, atMost: mostDeferred)
        } else if keys.hasManyRepeated {
            // If keys were deferred again, further repeated records would end each deferral.
            try stopDeferring()
        }
        return true
    }

    /// If keys are deferred, writes them, and then the repeated records. These count as unchanged if they replace
    /// records of this import.
    func endDeferral() throws {
        guard let keys = deferred else { return }
        let isWritten = try transaction().write(keys)
        deferred = nil
        // If another writer has written the keys, it may have left out others, which the next transaction writes.
        if !isWritten { _ = try commitTransaction() }
        let refused: (Int, StoreError) throws -> Void = { throw $1 }
        try writeWithKeys(keys.repeated, keys.kept, [], refused) { _, outcome in
            guard case .updated(let object) = outcome, keys.include(object) else { return }
            counts.updated -= 1
            counts.unchanged += 1
        }
    }

    /// Writes the deferred keys. This writer doesn't defer keys again.
    func stopDeferring() throws {
        try endDeferral()
        mostDeferred = nil
    }

    /// Stops deferring, and drops the deferred keys. The next transaction that changes records finds and writes them.
    func leaveDeferral() { (deferred, mostDeferred) = (nil, nil) }
}
