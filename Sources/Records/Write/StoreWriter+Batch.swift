internal import FetchIndexPlatform
internal import FetchIndexLMDB
package import FetchIndexModels

/// Makes an object's new record from its stored one and a batch's, of slots that this leaves to it.
package typealias RecordMerge = (_ old: RawSpan, _ new: RawSpan, _ kept: KeptSlots?) throws -> [UInt8]

extension StoreWriter {
    /// Inserts the records of a batch, in their order, or updates the objects that have their unique values: as `put` and
    /// `insert` do one by one. Where the constraint is the only one of its entity, unique keys are looked up and written in their own
    /// order, so that the pages with them are read and changed once.
    ///
    /// `merge` makes the new record of an object from its stored one and the batch's, which leaves some slots to it; without it, references
    /// stay where the batch's record has none. A batch whose records leave slots to stored objects needs one. For each record in order, `done` is called with what became of it, or `refused` with the error that its values
    /// cause: nothing of it is written then. What these two throw ends the batch; the records before are written. O(k log n); O(k) for
    /// records that the store has already, where they come in the order of their objects.
    @discardableResult
    package func put(
        _ entity: Int, _ batch: borrowing RecordBatch, by constraint: UniqueConstraint?,
        merge: RecordMerge? = nil,
        refused: (Int, StoreError) throws -> Void = { throw $1 }, done: (Int, PutOutcome) throws -> Void
    ) throws -> BatchOutcome {
        let stored = model.entities[entity]
        let isSimple =
            !hasDerivations && stored.uniqueConstraints == [constraint].compactMap { $0 }
            && !stored.isAbstract
        guard isSimple else {
            try putOneByOne(entity, batch, by: constraint, merge, refused, done)
            return BatchOutcome()
        }
        try requireChangeable()
        try requireUniqueKeys(of: entity)
        var unchanged: UnchangedRows?
        // What is stored byte for byte is so with what it would keep, too.
        if let constraint { unchanged = try UnchangedRows(batch, entity, constraint, in: self) }
        var insertion = BatchInsertion(
            keys: try BatchKeys(batch, entity, constraint, unchanged, in: self), entity: entity,
            next: try entityState(entity).nextObject)
        // What was written before an error stays, with its unique keys.
        do {
            for row in 0..<batch.count {
                // No `Result`: it has room for an error, so that passing it on took 7 % of an import's writing thread.
                let outcome: PutOutcome
                do {
                    outcome = try put(row, of: batch, constraint, &insertion, merge)
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
        return BatchOutcome(
            areMostUnchanged: (unchanged?.count ?? 0) * 2 > batch.count, areKeysScattered: insertion.keys.areScattered)
    }

    /// Inserts the records of a batch, in their order, as `insert` does one by one. Throws what that would throw for the first record
    /// that it refuses; the records before are written. Damage may be met before any record is. O(k log n).
    package func insert(_ entity: Int, _ batch: borrowing RecordBatch) throws {
        let stored = model.entities[entity]
        guard !hasDerivations, stored.uniqueConstraints.count <= 1, !stored.isAbstract else {
            for row in 0..<batch.count { try insert(entity, batch[row]) }
            return
        }
        try requireChangeable()
        try requireUniqueKeys(of: entity)
        let constraint = stored.uniqueConstraints.first
        var insertion = BatchInsertion(
            keys: try BatchKeys(batch, entity, constraint, nil, in: self), entity: entity,
            next: try entityState(entity).nextObject)
        var row = 0
        do {
            while row < batch.count, case .new = insertion.keys.rows[row] {
                _ = try insert(row, of: batch, &insertion)
                row += 1
            }
        } catch {
            throw insertion.end(in: self, after: error)
        }
        try insertion.end(in: self)
        // The first of these has a key that is taken or too long: `insert` throws that error.
        for row in row..<batch.count { try insert(entity, batch[row]) }
    }

    /// What the next batch of an import will probably be like.
    package struct BatchOutcome {
        /// Whether the store has most records already, in the order of their objects: then sorting keys beforehand is in vain.
        package var areMostUnchanged = false
        /// Whether new keys go to many pages, few to each.
        package var areKeysScattered = false
    }

    private func put(
        _ row: Int, of batch: borrowing RecordBatch, _ constraint: UniqueConstraint?,
        _ insertion: inout BatchInsertion, _ merge: RecordMerge?
    ) throws -> PutOutcome {
        let entity = insertion.entity
        switch insertion.keys.rows[row] {
        case .tooLong:
            let name = model.entities[entity]
            let attribute = constraint.map { name.name(of: $0) } ?? ""
            throw StoreError.uniqueValueTooLong(entity: name.name, attribute: attribute)
        case .new:
            try requireValues(of: batch, row, entity)
            return .inserted(try insert(row, of: batch, &insertion))
        case .same(let first):
            // Refused: this is the first record with the value that is taken.
            if case .new = insertion.keys.rows[first] {
                try requireValues(of: batch, row, entity)
                let object = try insert(row, of: batch, &insertion)
                insertion.keys.note(object, insteadOf: first)
                return .inserted(object)
            }
            if let object = insertion.keys.rows[first].object, object.entity == entity {
                try insertion.noteInserted(through: object, in: self)
                return try update(object, from: batch[row], batch.keptSlots(at: row), merge)
            }
        case .stored(let object):
            if object.entity == entity {
                return try update(object, from: batch[row], batch.keptSlots(at: row), merge, constraint)
            }
        case .unchanged(let object): return .unchanged(object)
        case .inserted: preconditionFailure("A record is written once.")
        }
        // The value is that of an object of another entity.
        try insertion.noteInserted(in: self)
        return try putOne(entity, batch, row, by: constraint, nil)
    }

    /// Throws for a record that can only update an object.
    private func requireValues(of batch: borrowing RecordBatch, _ row: Int, _ entity: Int) throws {
        guard let slot = batch.keptSlots(at: row)?.requiredSlot else { return }
        let entity = model.entities[entity]
        throw StoreError.invalidValue(
            entity: entity.name, attribute: entity.attribute(at: slot).name, "is required in a new object")
    }

    private func insert(
        _ row: Int, of batch: borrowing RecordBatch, _ insertion: inout BatchInsertion
    ) throws -> RecordKey {
        if hasLinks { try checkLinks(of: insertion.entity, batch[row]) }
        let number = row / BatchPart.length
        if insertion.part?.number != number {
            try insertion.noteInserted(in: self)
            insertion.part = (number, try batch.part(around: row, model.entities[insertion.entity]))
        }
        return try insertion.insert(batch[row], row, in: self)
    }

    private func update(
        _ object: RecordKey, from record: RawSpan, _ kept: KeptSlots?, _ merge: RecordMerge?,
        _ constraint: UniqueConstraint? = nil
    ) throws -> PutOutcome {
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
        let isChanged: Bool
        if let merged {
            isChanged = try update(object, merged.span.bytes, foundBy: key)
        } else {
            isChanged = try update(object, record, foundBy: key)
        }
        return isChanged ? .updated(object) : .unchanged(object)
    }

    /// Whether an object has these bytes already; then it has their unique values and their checksum too.
    private func isStored(_ record: RawSpan, as object: RecordKey) throws -> Bool {
        var isEqual = false
        _ = try storedRecord(object) { isEqual = $0.isEqual(to: record) }
        return isEqual
    }

    private func putOneByOne(
        _ entity: Int, _ batch: borrowing RecordBatch, by constraint: UniqueConstraint?,
        _ merge: RecordMerge?, _ refused: (Int, StoreError) throws -> Void,
        _ done: (Int, PutOutcome) throws -> Void
    ) throws {
        for row in 0..<batch.count {
            let outcome: PutOutcome
            do {
                outcome = try putOne(entity, batch, row, by: constraint, merge)
            } catch let error as StoreError where error.isOfValues {
                try refused(row, error)
                continue
            }
            try done(row, outcome)
        }
    }

    private func putOne(
        _ entity: Int, _ batch: borrowing RecordBatch, _ row: Int, by constraint: UniqueConstraint?,
        _ merge: RecordMerge?
    ) throws -> PutOutcome {
        let record = batch[row]
        guard let constraint else {
            try requireValues(of: batch, row, entity)
            return .inserted(try insert(entity, record))
        }
        if let merge, let key = try storableUniqueKey(entity, constraint, record),
            let object = try object(unique: key), object.entity == entity, let old = try copy(of: object)
        {
            let merged = try merge(old.span.bytes, record, batch.keptSlots(at: row))
            return try update(object, merged.span.bytes) ? .updated(object) : .unchanged(object)
        }
        try requireValues(of: batch, row, entity)
        return try put(entity, record, by: [constraint])
    }
}

/// What a batch has inserted so far. Counters and the log learn of it at the end: telling them of each object would cost more
/// than writing it.
private struct BatchInsertion {
    var keys: BatchKeys
    let entity: Int
    /// The part of the batch that is inserted; nil before the first record.
    var part: (number: Int, part: BatchPart)?
    /// The number of the next object, and of the first that is not noted yet.
    private var next: UInt64
    private var first: UInt64
    /// The rows of the objects that are not noted yet; nil when they do not follow each other.
    private var rows: Range<Int>?
    private var hasNoted = false

    init(keys: BatchKeys, entity: Int, next: UInt64) {
        self.keys = keys
        self.entity = entity
        self.next = next
        first = next
    }

    mutating func insert(_ record: RawSpan, _ row: Int, in writer: StoreWriter) throws -> RecordKey {
        let object = RecordKey(entity: entity, number: next)
        try writer.append(record, as: object)
        if next == first { rows = row..<row }
        rows = rows.flatMap { $0.upperBound == row ? $0.lowerBound..<row + 1 : nil }
        next += 1
        keys.note(object, insertedFor: row)
        // From the first on, updates of these objects are not logged.
        if !hasNoted { try noteInserted(in: writer) }
        return object
    }

    /// An object that was inserted is noted before it changes.
    mutating func noteInserted(through object: RecordKey, in writer: StoreWriter) throws {
        if object.number >= first { try noteInserted(in: writer) }
    }

    mutating func noteInserted(in writer: StoreWriter) throws {
        guard next > first, let (number, part) = part else { return }
        let object = RecordKey(entity: entity, number: first)
        let start = number * BatchPart.length
        let places = rows.map { $0.lowerBound - start..<$0.upperBound - start }
        try writer.noteInsertedRecords(object, count: next - first, of: part, places: places)
        try writer.noteInserted(object, count: next - first)
        first = next
        hasNoted = true
    }

    mutating func end(in writer: StoreWriter) throws {
        try noteInserted(in: writer)
        try keys.write(in: writer)
    }

    /// Ends after an error, and returns the one to throw: of a transaction that the first one ended, the end says nothing new.
    mutating func end(in writer: StoreWriter, after error: any Error) -> any Error {
        do { try end(in: writer) } catch let later {
            return later as? LMDBError == .badTransaction ? error : later
        }
        return error
    }
}
