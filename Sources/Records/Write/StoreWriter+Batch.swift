internal import FetchIndexPlatform
package import FetchIndexModels

extension StoreWriter {
    /// Writes the records of a batch in their order: inserts each, or updates the object with the same unique value, as
    /// the rule says. Calls `done` with the outcome of each record, or `refused` with the error that the record's
    /// values cause; a refused record isn't written. If one of these closures throws, the batch ends; the records
    /// written so far stay written. If records leave out slots, a rule for updates must have `merge`. Inserted objects
    /// get the next object numbers, or the given `numbers`, which must ascend; a number that `requireFree` refuses is
    /// such an error too. If data in the store are damaged, the batch may throw before any record is written. Returns
    /// whether the store had most records already, in the order of their objects.
    ///
    /// If the entity has at most one constraint, the rule uses no other, and the model has no derived attributes,
    /// `BatchKeys` looks up and writes unique keys in ascending order, so that their pages are read and changed about
    /// once. O(k log (k + n)) for k records; O(k) for records that the store has already, if they are in the order of
    /// their objects.
    @discardableResult
    package func write(
        _ entity: Int, _ batch: borrowing RecordBatch, _ rule: WriteRule, as numbers: [UInt64]? = nil,
        refused: (Int, StoreError) throws -> Void = { throw $1 },
        done: (Int, WriteOutcome) throws -> Void
    ) throws -> Bool {
        try beginChanges(of: batch.count, byteCount: batch.byteCount)
        let stored = model.entities[entity]
        let isSorted =
            !hasDerivations && !stored.isAbstract && stored.uniqueConstraints.count <= 1
            && (rule.constraints.isEmpty || rule.constraints == stored.uniqueConstraints)
        if isSorted { try requireUniqueKeys(of: entity) }
        var unchanged: UnchangedRows?
        // If a record is stored byte for byte, it changes nothing, even if it leaves out slots.
        if isSorted, let constraint = rule.constraints.first {
            unchanged = try UnchangedRows(batch, entity, constraint, in: self)
        }
        let keys = try BatchKeys(batch, entity, isSorted ? stored.uniqueConstraints.first : nil, unchanged, in: self)
        var insertion = try BatchInsertion(keys, of: entity, as: numbers, in: self)
        // The records that were written before an error stay, so their unique keys must be written.
        do {
            for row in 0..<batch.count {
                // This isn't a `Result`: copying the memory that a `Result` has for an error took 7 % of the writing
                // thread's time in an import.
                let outcome: WriteOutcome
                do {
                    outcome =
                        try isSorted
                        ? write(row, of: batch, rule, &insertion)
                        : write(batch[row], of: entity, batch.keptSlots(at: row), rule, as: numbers?[row])
                } catch let error as StoreError where error.isOfValues {
                    try refused(row, error)
                    continue
                }
                try done(row, outcome)
            }
        } catch {
            throw insertion.end(in: self, after: error)
        }
        try insertion.end(in: self)
        return (unchanged?.count ?? 0) * 2 > batch.count
    }

    /// Writes a record whose unique key was looked up together with those of the batch's other records.
    private func write(
        _ row: Int, of batch: borrowing RecordBatch, _ rule: WriteRule, _ insertion: inout BatchInsertion
    ) throws -> WriteOutcome {
        let entity = insertion.entity
        switch insertion.keys.rows[row] {
        case .tooLong: throw uniqueValueTooLong(entity, model.entities[entity].uniqueConstraints[0])
        case .new:
            try requireValues(of: batch.keptSlots(at: row), entity)
            return .inserted(try insertion.insert(row, of: batch, in: self))
        case .same(let first):
            // The first record with this unique value was refused, so this one is inserted.
            if case .new = insertion.keys.rows[first] {
                try requireValues(of: batch.keptSlots(at: row), entity)
                let object = try insertion.insert(row, of: batch, in: self)
                insertion.keys.note(object, insteadOf: first)
                return .inserted(object)
            }
            if rule.isUpdate, let object = insertion.keys.rows[first].object, object.entity == entity {
                try insertion.noteInserted(through: object, in: self)
                return try update(object, from: batch[row], batch.keptSlots(at: row), rule.merge)
            }
        case .stored(let object):
            if rule.isUpdate && object.entity == entity {
                let constraint = rule.constraints.first
                return try update(object, from: batch[row], batch.keptSlots(at: row), rule.merge, foundBy: constraint)
            }
        case .unchanged(let object): return .unchanged(object)
        case .inserted: preconditionFailure("A record of a batch must not be written twice.")
        }
        try requireValues(of: batch.keptSlots(at: row), entity)
        throw try notUnique(entity, model.entities[entity].uniqueConstraints[0], batch[row])
    }

    /// Writes a record whose unique keys are looked up only now.
    private func write(
        _ record: RawSpan, of entity: Int, _ kept: KeptSlots?, _ rule: WriteRule, as number: UInt64?
    ) throws -> WriteOutcome {
        // A merged record is completed later: this one may lack values that derived values are computed from.
        if rule.merge == nil, let completed = try completed(entity, record) {
            return try updateOrInsert(completed.span.bytes, of: entity, kept, rule, as: number)
        }
        return try updateOrInsert(record, of: entity, kept, rule, as: number)
    }

    private func updateOrInsert(
        _ record: RawSpan, of entity: Int, _ kept: KeptSlots?, _ rule: WriteRule, as number: UInt64?
    ) throws -> WriteOutcome {
        try requireUniqueKeys(of: entity)
        for constraint in rule.constraints {
            if let object = try object(entity, constraint, inRecord: record), object.entity == entity {
                return try update(object, from: record, kept, rule.merge, foundBy: constraint)
            }
        }
        try requireValues(of: kept, entity)
        return .inserted(try insert(entity, record, as: number))
    }

    /// Throws `invalidValue` if a record lacks a required value, so that it can't insert an object.
    private func requireValues(of kept: KeptSlots?, _ entity: Int) throws {
        guard let slot = kept?.requiredSlot else { return }
        let entity = model.entities[entity]
        throw StoreError.invalidValue(
            entity: entity.name, attribute: entity.attribute(at: slot).name, "is required in a new object")
    }

    /// Updates an object with a record that was made from attributes only. `merge` makes the new record from the stored
    /// one and this one. If `merge` is nil, the object keeps its references where the record has null. O(log n).
    package func update(
        _ object: RecordKey, from record: RawSpan, _ kept: KeptSlots? = nil, _ merge: RecordMerge? = nil,
        foundBy constraint: UniqueConstraint? = nil
    ) throws -> WriteOutcome {
        try beginChanges()
        if merge == nil, try isStored(record, as: object) { return .unchanged(object) }
        var merged: [UInt8]?
        if merge != nil || hasLinks {
            guard let old = try copy(of: object) else {
                if let constraint { throw wrongUniqueKey(constraint, to: object) }
                throw StoreError.unknownObject("\(object.number)")
            }
            merged =
                try merge.map { try $0(old.span.bytes, record, kept) }
                ?? keepingReferences(of: old.span.bytes, in: record, object.entity)
        }
        let key = try constraint.flatMap { constraint in
            try storableUniqueKey(object.entity, constraint, record).map { (constraint, $0) }
        }
        let isChanged =
            if let merged { try update(object, merged.span.bytes, foundBy: key) } else {
                try update(object, record, foundBy: key)
            }
        return isChanged ? .updated(object) : .unchanged(object)
    }

    /// Whether an object already has a record's bytes. If so, its unique values are the same, and its checksum is
    /// right.
    private func isStored(_ record: RawSpan, as object: RecordKey) throws -> Bool {
        var isEqual = false
        _ = try storedRecord(object) { isEqual = $0.isEqual(to: record) }
        return isEqual
    }
}
