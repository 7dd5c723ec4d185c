internal import FetchIndexPlatform
package import FetchIndexModels
internal import FetchIndexLMDB

// Writes one object at a time, with the data that is derived from its record: unique keys, links, its zone, counters
// and the log. These functions don't write a batch of one record, since a batch sorts its keys, and computes the bounds
// and columns of its parts, before it writes.
extension StoreWriter {
    /// Inserts an object. Its object number is the next one, or a given one, for example from another store's export.
    /// If a unique value is taken, a reference is invalid, or the given number is one that `requireFree` refuses,
    /// throws before anything is changed. O(log n).
    ///
    /// If `mayReturn`, the given number may be one that an object had before, or that was left out: an object of
    /// another program comes back there. Then also throws `corrupted` if there is an object with this number.
    @discardableResult
    package func insert(
        _ entity: Int, _ record: RawSpan, as number: UInt64? = nil, mayReturn: Bool = false
    ) throws -> RecordKey {
        try beginChanges(byteCount: record.byteCount)
        if let completed = try completed(entity, record) {
            return try insertCompleted(entity, completed.span.bytes, as: number, mayReturn)
        }
        return try insertCompleted(entity, record, as: number, mayReturn)
    }

    /// The record with its derived values; nil if it has them already, or if the entity has no derived attributes.
    func completed(_ entity: Int, _ record: RawSpan) throws -> [UInt8]? {
        guard hasDerivations, model.entities.indices.contains(entity) else { return nil }
        return try model.entities[entity].completed(record)
    }

    /// Inserts a record that has its derived values.
    private func insertCompleted(
        _ entity: Int, _ record: RawSpan, as number: UInt64?, _ mayReturn: Bool
    ) throws -> RecordKey {
        if firstInserted[entity] == nil, model.entities[entity].isAbstract {
            throw StoreError.abstractEntity(model.entities[entity].name)
        }
        let next = try entityState(entity).nextObject
        let object = RecordKey(entity: entity, number: number ?? next)
        let returns = mayReturn && object.number < next
        if number != nil && !returns { try requireFree(object.number, in: entity) }
        let keys = try uniqueKeys(entity, record)
        try checkUnique(keys, of: entity, record)
        if hasLinks { try checkLinks(of: entity, record) }
        // Later objects get greater numbers.
        if number != nil && !returns { try skipNumbers(to: object.number, of: entity) }
        try putUniqueKeys(keys, of: object)
        try put(record, ofNew: object, isLast: !returns)
        if hasSymmetricLinks { try noteSymmetricLinks(of: object, record) }
        try noteRecord(object, old: nil, new: record)
        try returns ? noteReturned(object) : noteInserted(object, count: 1)
        return object
    }

    /// Updates the entity's counters and the log for an inserted object whose number is less than the next one.
    private func noteReturned(_ object: RecordKey) throws {
        var entityState = try entityState(object.entity)
        entityState.count += 1
        entities[object.entity] = entityState
        if let first = firstInserted[object.entity], object.number >= first { return }
        try log.insertReturned(object, in: self)
    }

    /// Updates the entity's counters and the log for inserted objects with successive object numbers, beginning at
    /// `first`.
    func noteInserted(_ first: RecordKey, count: UInt64) throws {
        var entityState = try entityState(first.entity)
        if firstInserted[first.entity] == nil { firstInserted[first.entity] = first.number }
        log.insert(first, count: count)
        entityState.nextObject += count
        entityState.count += count
        entities[first.entity] = entityState
    }

    /// Replaces an object's record. If the record has the same bytes already, returns false, and neither writes nor
    /// logs anything. If the object was found by a unique key, throws `corrupted` if it lacks that. O(log n).
    @discardableResult
    package func update(
        _ object: RecordKey, _ record: RawSpan, foundBy unique: (constraint: UniqueConstraint, key: [UInt8])? = nil
    ) throws -> Bool {
        if let completed = try completed(object.entity, record) {
            return try replace(object, completed.span.bytes, foundBy: unique)
        }
        return try replace(object, record, foundBy: unique)
    }

    private func replace(
        _ object: RecordKey, _ record: RawSpan, foundBy unique: (constraint: UniqueConstraint, key: [UInt8])?
    ) throws -> Bool {
        try beginChanges(byteCount: record.byteCount)
        return try view.withCursor(on: tables.records) { cursor in
            guard try cursor.seek(toKeyFrom: object.rawValue), cursor.integerKey == object.rawValue else {
                if let unique { throw wrongUniqueKey(unique.constraint, to: object) }
                throw StoreError.unknownObject("\(object.number)")
            }
            try verify(cursor.value, of: object)
            // A record with the same values has the same unique keys.
            if try hasSameValues(cursor.value, record, of: object.entity) { return false }
            if let unique { try requireUniqueKey(unique.key, unique.constraint, of: object, cursor.value) }
            let old = [UInt8](copying: cursor.value)
            if hasLinks { try checkLinks(of: object.entity, record, replacing: old.span.bytes) }
            let keys = try uniqueKeys(object.entity, record)
            let oldKeys = try uniqueKeys(object.entity, old.span.bytes)
            try checkUnique(keys, of: object.entity, record, except: object, old: oldKeys)
            try putUniqueKeys(keys, of: object, replacing: oldKeys)
            if hasLinks { try putLinks(of: object, record, replacing: old.span.bytes) }
            if hasSymmetricLinks { try noteSymmetricLinks(of: object, record, replacing: old.span.bytes) }
            // The cursor is still at the object's record.
            try cursor.put(record, for: object.rawValue)
            try noteRecord(object, old: old.span.bytes, new: record)
            try log(.updated, object, old)
            return true
        }
    }

    /// Deletes objects, and applies the delete rules to the objects linked to them. Returns the number of given objects
    /// that existed. Throws like `applyDeleteRules`. O(log n) for each object and link.
    @discardableResult
    package func delete(_ objects: [RecordKey]) throws -> Int {
        var deleted: [DeletedObject] = []
        // Delete rules follow links from both sides.
        if !symmetricLinks.isEmpty { try completeSymmetricLinks() }
        for object in objects { if let record = try remove(object) { deleted.append((object, record)) } }
        if hasLinks && !deleted.isEmpty { _ = try applyDeleteRules(of: deleted) }
        return deleted.count
    }

    /// Deletes one object. Returns false if it doesn't exist.
    @discardableResult
    package func delete(_ object: RecordKey) throws -> Bool { try delete([object]) > 0 }

    /// Deletes an object without applying delete rules. Returns its record; nil if it doesn't exist. Unless it's a join
    /// object, the caller must apply the delete rules after all deletions.
    @discardableResult
    package func remove(_ object: RecordKey) throws -> [UInt8]? {
        try beginChanges()
        guard let old = try copy(of: object) else { return nil }
        // This throws for an object that may lack its unique keys. Such objects can't be deleted, because their count
        // is computed from their object numbers.
        if !mustHaveUniqueKeys(object) { try requireUniqueKeys(of: object.entity) }
        try deleteUniqueKeys(of: object, old.span.bytes)
        if hasLinks { try deleteLinks(of: object, old.span.bytes) }
        if hasSymmetricLinks { try noteSymmetricLinks(of: object, old.span.bytes) }
        try view.delete(object.rawValue, in: tables.records)
        try noteRecord(object, old: old.span.bytes, new: nil)
        var entityState = try entityState(object.entity)
        entityState.count -= min(1, entityState.count)
        entities[object.entity] = entityState
        try log(.deleted, object, old)
        return old
    }

    /// The number of objects that the current commit has inserted, updated or deleted so far. An object that changed
    /// several times counts once.
    package var changeCount: Int { log.changeCount }

    /// Logs a change of an object, if the object existed before the current commit and hasn't changed in it yet.
    private func log(_ kind: LogEntryKind, _ object: RecordKey, _ old: [UInt8]) throws {
        if let first = firstInserted[object.entity], object.number >= first { return }
        try log.change(kind, object, old.span.bytes, in: self)
    }

    /// Writes the record and the links of a new object. If its key is the last one of its entity, appends the record as
    /// long as each new key is the greatest one of all, because appending fills LMDB's pages. Throws if the key exists,
    /// instead of replacing its record: damaged counters may give a number twice. The caller must include the object in
    /// its zone.
    func put(_ record: RawSpan, ofNew object: RecordKey, isLast: Bool = true) throws {
        if hasLinks { try putLinks(of: object, record) }
        if isLast && canAppend {
            do {
                try view.put(record, for: object.rawValue, in: tables.records, appending: true)
                return
            } catch let error as LMDBError where error == .keyExists {
                canAppend = false
            }
        }
        do {
            try view.put(record, for: object.rawValue, in: tables.records, replacing: false)
        } catch let error as LMDBError where error == .keyExists {
            throw StoreError.corrupted("object \(object.number) is to be inserted, but already exists")
        }
    }
}
