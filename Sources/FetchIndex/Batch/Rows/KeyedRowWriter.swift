package import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords
package import FetchIndexValues

/// Writes rows of keyed tables in one transaction. A row is found by its key, so it may arrive twice. Objects are
/// related by foreign keys, which are the keys of other rows.
///
/// For sources that name rows by keys and send changes of several tables in one transaction. Users write with
/// ``BatchWriter``.
package final class KeyedRowWriter {
    private let container: PersistentContainer
    private let writer: StoreWriter
    package private(set) var counts = BatchWriter.Counts()
    /// Objects that `linkLater` links again, because an object that their foreign keys name was missing, has arrived,
    /// was deleted, or got another key.
    private var unlinked: [RecordKey] = []
    private let waiting: WaitingRows

    /// Begins the transaction; waits for other writers. Throws `StoreError`.
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

    /// Commits the transaction, in which it catches up the given caches and all maintained ones. O(k log n) for k
    /// changes. Throws `StoreError`.
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

    /// Changes what is stored beside the records, in the same transaction.
    func setBeside(_ change: (StoreWriter) throws -> Void) throws { try withPublicErrors { try change(writer) } }

    // MARK: One row

    /// Finds the number of the object that has a key; nil if no object has it. O(log n).
    package func object(_ table: KeyedTable, key: Value) throws -> UInt64? {
        try withPublicErrors { try found(table, key)?.number }
    }

    private func found(_ table: KeyedTable, _ key: Value) throws -> RecordKey? {
        let object = try writer.object(table.entityNumber, table.constraint, equalTo: [key])
        // An object of another entity of the hierarchy may have the key.
        return object.flatMap { $0.entity == table.entityNumber ? $0 : nil }
    }

    /// Inserts a complete row, or updates the object that has its key. O(log n).
    package func insert(_ row: KeyedRow, _ table: KeyedTable) throws {
        try withPublicErrors {
            if let object = try found(table, row.key) { return try update(object, row, table) }
            try add(row, table)
        }
    }

    /// Updates the object that has a row's old key, which may be the new key. Returns false for a partial row that
    /// isn't written, because no object has its old key, or because it changes its key while `isCatchingUp`: the object
    /// with the old key may then belong to a later row. O(log n).
    package func update(
        _ row: KeyedRow, oldKey: Value, isCatchingUp: Bool, _ table: KeyedTable
    ) throws -> Bool {
        try withPublicErrors {
            var object = try found(table, oldKey)
            // Both objects may be the same, because zeros of either sign are the same key.
            if oldKey != row.key, let holder = try found(table, row.key), holder != object {
                // This happens only while the copied rows are newer than the streamed ones: in one state of the source,
                // keys are unique.
                if let object { try delete(object, table) }
                object = holder
            }
            if isCatchingUp, oldKey != row.key, row.isPartial {
                // The object with the old key may belong to a later row, which has other values.
                if let object { try delete(object, table) }
                return false
            }
            if let object {
                if oldKey != row.key { try releaseHolders(of: object, table) }
                try update(object, row, table)
                if oldKey != row.key { hasArrived(row.key, table) }
                return true
            }
            if row.isPartial { return false }
            try add(row, table)
            return true
        }
    }

    private func add(_ row: KeyedRow, _ table: KeyedTable) throws {
        let (record, missing) = try linked(row.record, table)
        let object = try writer.insert(table.entityNumber, record.span.bytes)
        if !missing.isEmpty { unlinked.append(object) }
        counts.inserted += 1
        hasArrived(row.key, table)
    }

    private func update(_ object: RecordKey, _ row: KeyedRow, _ table: KeyedTable) throws {
        var record = row.record
        if !row.kept.isEmpty, let old = try writer.copy(of: object) {
            record = try table.entity.record(from: record.span.bytes, keeping: row.kept, of: old.span.bytes)
        }
        let (linked, missing) = try linked(record, table)
        if !missing.isEmpty { unlinked.append(object) }
        counts.add(try writer.update(object, linked.span.bytes) ? .updated(object) : .unchanged(object))
    }

    /// Deletes the row that has a key, if any. O(log n).
    package func delete(key: Value, _ table: KeyedTable) throws {
        try withPublicErrors { if let object = try found(table, key) { try delete(object, table) } }
    }

    /// Deletes the objects whose numbers fulfil a condition. O(n), and O(log n) for each deleted object.
    package func deleteAll(of table: KeyedTable, where isMember: (UInt64) -> Bool) throws {
        try withPublicErrors {
            var objects: [RecordKey] = []
            try writer.scan(table.entityNumber) { object, _ in
                if isMember(object.number) { objects.append(object) }
                return true
            }
            for object in objects { try delete(object, table) }
        }
    }

    private func delete(_ object: RecordKey, _ table: KeyedTable) throws {
        try releaseHolders(of: object, table)
        if try writer.delete(object) { counts.deleted += 1 }
    }

    // MARK: Links

    /// Returns a record with references to the objects that its foreign keys name, and the names of missing ones.
    private func linked(
        _ record: [UInt8], _ table: KeyedTable
    ) throws -> (record: [UInt8], missing: [WaitingRows.Name]) {
        if table.foreignKeys.isEmpty { return (record, []) }
        var values: [Int: Value] = [:]
        var missing: [WaitingRows.Name] = []
        for key in table.foreignKeys {
            let value = try key.value(in: record.span.bytes, of: table.entity)
            let object = try key.column.stored(value, in: writer)
            if object == nil, !value.isNull {
                missing.append(WaitingRows.Name(entity: key.column.destination, key: value))
            }
            values[key.column.reference.slot] = object?.reference ?? .null
        }
        return (try table.entity.record(record.span.bytes, setting: values), missing)
    }

    /// Lets `linkLater` link the objects that waited for a row.
    private func hasArrived(_ key: Value, _ table: KeyedTable) {
        unlinked += waiting.take(for: WaitingRows.Name(entity: table.entityNumber, key: key))
    }

    /// Lets `linkLater` link the objects that refer to an object again, or let them wait: another row may take its key.
    /// O(k log n) for k of these.
    private func releaseHolders(of object: RecordKey, _ table: KeyedTable) throws {
        for links in table.entity.links?.incoming ?? [] {
            try writer.forEachLink(links.name, to: object) { holder, _ in
                unlinked.append(holder)
                return true
            }
        }
    }

    /// Links objects whose foreign keys named missing objects, since rows of a commit may refer to later ones. Objects
    /// for which one is still missing wait. `table` returns the table of an entity; nil if its objects aren't linked.
    /// O(log n) for each.
    package func linkLater(_ table: (_ entity: Int) throws -> KeyedTable?) throws {
        let objects = unlinked
        unlinked = []
        for object in objects {
            guard let table = try table(object.entity) else { continue }
            try withPublicErrors { try link(object, table) }
        }
    }

    private func link(_ object: RecordKey, _ table: KeyedTable) throws {
        guard let old = try writer.copy(of: object) else { return }
        let (record, missing) = try linked(old, table)
        for name in missing { waiting.add(object, for: name) }
        try writer.update(object, record.span.bytes)
    }

    /// Links all objects that have a foreign key but no reference for it; if the named object is missing, they wait.
    /// O(n).
    package func linkAll(_ table: KeyedTable) throws {
        try withPublicErrors {
            var objects: [RecordKey] = []
            let (entity, keys) = (table.entity, table.foreignKeys)
            try writer.scan(table.entityNumber) { object, record in
                for key in keys where try !key.value(in: record, of: entity).isNull {
                    if try RecordView(record, of: entity).integer(at: key.column.reference.slot) == nil {
                        objects.append(object)
                        break
                    }
                }
                return true
            }
            for object in objects { try link(object, table) }
        }
    }

    // MARK: Many rows

    /// Writes many rows; stored objects keep their values in the slots `kept`. References to objects of tables that are
    /// copied later are left to `linkAll`. `done` gets the number of each row's object. O(k log n) for k rows.
    package func put(
        _ rows: RowBatch, keeping kept: Set<Int>, _ table: KeyedTable, done: (UInt64) -> Void
    ) throws {
        let kept = kept.subtracting(table.foreignKeys.map(\.column.reference.slot))
        let entity = table.entity
        let merge: RecordMerge? =
            kept.isEmpty ? nil : { old, new, _ in try entity.record(from: new, keeping: kept, of: old) }
        try withPublicErrors {
            if !table.foreignKeys.isEmpty {
                return try put(linked(rows.records, table), table.entityNumber, table.constraint, merge, done)
            }
            try put(rows.records, table.entityNumber, table.constraint, merge, done)
        }
    }

    private func linked(_ batch: borrowing RecordBatch, _ table: KeyedTable) throws -> RecordBatch {
        var result = RecordBatch()
        for index in 0..<batch.count {
            let record = try linked(batch.copy(at: index), table).record
            result.append(record.span.bytes)
        }
        return result
    }

    private func put(
        _ batch: borrowing RecordBatch, _ entity: Int, _ constraint: UniqueConstraint, _ merge: RecordMerge?,
        _ done: (UInt64) -> Void
    ) throws {
        try writer.write(entity, batch, .update(by: [constraint], merge: merge)) { _, outcome in
            counts.add(outcome)
            done(outcome.object.number)
        }
    }
}

extension RowBatch {
    /// Sorts the rows' keys, so that the writer need not. Call it after the last row, on any thread.
    package mutating func sortKeys(of table: KeyedTable) throws {
        try withPublicErrors { try records.sortKeys(table.entityNumber, table.entity, table.constraint) }
    }
}
