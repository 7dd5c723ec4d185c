package import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexPlatform
internal import FetchIndexRecords
package import FetchIndexValues

/// Writes rows of several tables in one transaction. Finds the object of a row by the row's key, so a row may arrive
/// twice. Objects are related by foreign keys, which contain the keys of other rows.
///
/// For sources that name rows by keys and send changes of several tables in one transaction. Users write with
/// ``BatchWriter``.
package final class KeyedRowWriter {
    private let container: PersistentContainer
    let writer: StoreWriter
    package internal(set) var counts = BatchWriter.Counts()
    /// Objects that `linkLater` is to link, because an object that their foreign keys name was missing, has arrived,
    /// was deleted, or got another key.
    private var unlinked: [RecordKey] = []
    private let waiting: WaitingRows

    /// Waits until other writers have ended, and begins the transaction. Throws `StoreError`.
    package init(
        in container: PersistentContainer, author: String, changesRecords: Bool = true,
        waiting: WaitingRows = WaitingRows()
    ) throws {
        (self.container, self.waiting) = (container, waiting)
        writer = try withPublicErrors {
            try container.store.beginWrite(author: author, changesRecords: changesRecords)
        }
    }

    package var model: Model { writer.model }
    package var modelVersion: UInt32 { writer.modelVersion }

    // MARK: Commits

    /// Ends a commit. The next changes belong to another commit of the same transaction.
    package func beginNextCommit(author: String) throws {
        try withPublicErrors { try writer.beginNextCommit(author: author) }
    }

    /// Commits the transaction, in which it catches up the given caches and all maintained caches. O(k log n) for k
    /// changes; O(n log n) for a cache that is rebuilt. Throws `StoreError`.
    package func commit(keeping caches: [String] = []) throws {
        try withPublicErrors {
            try writer.seal()
            let engine = container.cacheEngine
            let requests = try caches.compactMap { try CacheRequest(ofStored: $0, in: writer) }
            try engine.open(requests, in: writer, for: .keeping)
            try engine.keepAll(in: writer, except: caches)
            try writer.commit()
        }
    }

    /// Changes attachments of the store, in the same transaction as the records.
    func setBeside(_ change: (StoreWriter) throws -> Void) throws { try withPublicErrors { try change(writer) } }

    /// Migrates the store to a model, in the transaction. The values that `cleared` names become null, by the names of
    /// their entities. Throws `StoreError`; the transaction can't be used after an error. Costs like
    /// `PersistentContainer.migrate`.
    package func migrate(to model: Model, clearing cleared: [String: [String]], author: String) throws {
        try withPublicErrors {
            var migration = Migration.demanded
            migration.allowsPasses = true
            if cleared.contains(where: { !$0.value.isEmpty }) {
                migration.convert = { entity, _ in
                    Dictionary(uniqueKeysWithValues: (cleared[entity] ?? []).map { ($0, Value.null) })
                }
            }
            try container.migrate(to: model, migration, in: writer, author: author)
        }
    }

    // MARK: One row

    /// Finds the number of the object that has a key; nil if no object of the table's entity has it. O(log n).
    package func object(_ table: RowTable, key: [Value]) throws -> UInt64? {
        try withPublicErrors { try found(table, key)?.number }
    }

    /// The value of an integer attribute of the object that has a key; 0 if the object is missing, or the value is null.
    /// O(log n).
    package func integer(_ attribute: String, ofObject key: [Value], _ table: RowTable) throws -> Int {
        try withPublicErrors {
            guard let object = try found(table, key) else { return 0 }
            let slot = try table.entity.requireSlot(of: attribute)
            var value: Int64?
            _ = try writer.record(object) { value = try Self.integer(at: slot, $0, table.entity) }
            return Int(value ?? 0)
        }
    }

    private static func integer(at slot: Int, _ record: RawSpan, _ entity: Entity) throws -> Int64? {
        try RecordView(record, of: entity).integer(at: slot)
    }

    /// The writer of a table's rows.
    func rows(of table: RowTable) -> RowWriter { RowWriter(table, writer) }

    /// Finds the object that has a key, unless it belongs to another source.
    func found(_ table: RowTable, _ key: [Value]) throws -> RecordKey? {
        guard let object = try rows(of: table).object(key: key) else { return nil }
        return try holder(of: object, table) == nil ? object : nil
    }

    /// The source to which an object belongs, if that is another one than the table's.
    private func holder(of object: RecordKey, _ table: RowTable) throws -> Value? {
        guard let part = table.part, !part.isInKey else { return nil }
        var holder: Value?
        _ = try writer.record(object) { holder = try part.other(of: $0, table.entity) }
        return holder
    }

    /// The other source that has an object with a key, so that no row of the table can have it; nil without one. O(log n).
    package func holder(ofKey key: [Value], _ table: RowTable) throws -> Value? {
        guard let part = table.part, !part.isInKey else { return nil }
        return try withPublicErrors { try rows(of: table).object(key: key).flatMap { try holder(of: $0, table) } }
    }

    /// Finds the object that has a row's key. Throws `heldKey` if it belongs to another source.
    private func own(_ table: RowTable, _ key: [Value]) throws -> RecordKey? {
        guard let object = try rows(of: table).object(key: key) else { return nil }
        if let holder = try holder(of: object, table) { throw RefusedRow.heldKey(by: holder) }
        return object
    }

    /// Inserts a complete row, or updates the object that has its key. Throws `RefusedRow`. O(log n).
    package func insert(_ row: KeyedRow, _ table: RowTable) throws {
        try withPublicErrors {
            let stored = try own(table, row.key)
            try write(row, as: stored, table)
            if stored == nil { hasArrived(row.key, table) }
        }
    }

    /// Updates the object that has a row's old key, which may equal the new key. If another object has the new key,
    /// updates that object, and deletes the one with the old key. If no object has either key, inserts the row. Returns
    /// false if the row is partial and can't be inserted. If a partial row changes its key while `isCatchingUp`, the
    /// objects with the two keys may belong to later rows: deletes them, and returns false. Throws `RefusedRow`; then
    /// the objects with the two keys may be deleted. O(log n); if the key changes, also O(log n) for each object that refers to the row's object.
    package func update(
        _ row: KeyedRow, oldKey: [Value], isCatchingUp: Bool, _ table: RowTable
    ) throws -> Bool {
        try withPublicErrors {
            let holder = try own(table, row.key)
            var object = try oldKey == row.key ? holder : found(table, oldKey)
            // Both keys may have the same object, because 0.0 and -0.0 are the same key.
            if let holder, holder != object {
                // Two objects can have the keys while the copied rows are newer than the streamed rows. In each state
                // of the source, keys are unique.
                if let object { try delete(object, table) }
                object = holder
            }
            if isCatchingUp, oldKey != row.key, row.isPartial {
                // The object with the old or the new key may belong to a later row, which has other values.
                if let object { try delete(object, table) }
                return false
            }
            if object == nil && row.isPartial { return false }
            if let object, oldKey != row.key { try releaseHolders(of: object, table) }
            try write(row, as: object, table)
            if object == nil || oldKey != row.key { hasArrived(row.key, table) }
            return true
        }
    }

    private func write(_ row: KeyedRow, as stored: RecordKey?, _ table: RowTable) throws {
        let names = try takeOtherKeys(of: row, as: stored, table)
        let (outcome, hasMissing) = try rows(of: table).write(row, as: stored)
        if hasMissing { unlinked.append(outcome.object) }
        for name in names { unlinked += waiting.take(for: name) }
        counts.add(outcome)
    }

    /// Deletes the object that has a key, if any. O(log n), and O(log n) more for each object that refers to it.
    package func delete(key: [Value], _ table: RowTable) throws {
        try withPublicErrors { if let object = try found(table, key) { try delete(object, table) } }
    }

    /// Deletes the table's objects whose object numbers fulfil a condition. O(n), and O(log n) for each deleted object and
    /// for each object that refers to one of them.
    package func deleteAll(of table: RowTable, where isMember: (UInt64) -> Bool) throws {
        try withPublicErrors {
            var objects: [RecordKey] = []
            try writer.scan(table.entityNumber) { object, record in
                if try isMember(object.number) && table.part?.contains(record, of: table.entity) ?? true {
                    objects.append(object)
                }
                return true
            }
            for object in objects { try delete(object, table) }
        }
    }

    private func delete(_ object: RecordKey, _ table: RowTable) throws {
        try releaseHolders(of: object, table)
        if try writer.delete(object) { counts.deleted += 1 }
    }

    // MARK: Links

    /// Hands the objects that waited for a row to `linkLater`.
    private func hasArrived(_ key: [Value], _ table: RowTable) {
        guard let slots = table.key?.slots else { return }
        unlinked += waiting.take(for: WaitingRows.Name(entity: table.entityNumber, slots: slots, values: key))
    }

    /// Hands the objects that refer to an object to `linkLater`, because the object loses its key and another row may
    /// take the key. O(k + log n) for k referring objects.
    func releaseHolders(of object: RecordKey, _ table: RowTable) throws {
        for links in table.entity.links?.incoming ?? [] {
            try writer.forEachLink(links.name, to: object) { holder, _ in
                unlinked.append(holder)
                return true
            }
        }
    }

    /// Links the objects whose foreign keys named missing, new or changed objects. Called at the end of a commit,
    /// because rows may refer to later rows. An object whose foreign key still names a missing object waits. `tables`
    /// returns the tables that fill an entity; an object that belongs to no table isn't linked. O(log n) for each object.
    package func linkLater(_ tables: (_ entity: Int) throws -> [RowTable]) throws {
        let objects = unlinked
        unlinked = []
        for object in objects {
            let tables = try tables(object.entity)
            try withPublicErrors { try link(object, tables) }
        }
    }

    private func link(_ object: RecordKey, _ tables: [RowTable]) throws {
        guard let old = try writer.copy(of: object), let table = try Self.table(of: old.span.bytes, tables) else {
            return
        }
        let (record, missing) = try rows(of: table).linked(old)
        for name in missing { waiting.add(object, for: name) }
        try writer.update(object, record.span.bytes)
    }

    /// The table that a record belongs to.
    private static func table(of record: RawSpan, _ tables: [RowTable]) throws -> RowTable? {
        for table in tables where try table.part?.contains(record, of: table.entity) ?? true { return table }
        return nil
    }

    /// Links the objects of tables of one entity that have a foreign key but no reference for it. If the named object is
    /// missing, the object with the foreign key waits. O(n), and O(log n) for each linked object.
    package func linkAll(_ tables: [RowTable]) throws {
        guard let entity = tables.first?.entityNumber, tables.contains(where: \.hasForeignKeys) else { return }
        try withPublicErrors {
            var objects: [RecordKey] = []
            try writer.scan(entity) { object, record in
                if let table = try Self.table(of: record, tables), try rows(of: table).isUnlinked(record) {
                    objects.append(object)
                }
                return true
            }
            for object in objects { try link(object, tables) }
        }
    }
}

/// Thrown for a row that can't be written.
package enum RefusedRow: Error {
    /// An object of another source has the row's key.
    case heldKey(by: Value)
    /// The values of another key than the table's are too long together.
    case tooLong(attribute: String)
}

extension RowBatch {
    /// Sorts the rows' keys, if the table has a key, so that the writer needn't sort them. Call this after the last row
    /// was added, on any thread.
    package mutating func sortKeys(of table: RowTable) throws {
        guard let key = table.key else { return }
        try withPublicErrors { try records.sortKeys(table.entityNumber, table.entity, key) }
    }
}
