package import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords
package import FetchIndexValues

/// Writes rows of several tables in one transaction. A row is found by its key, so it may arrive twice. Objects are
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
    package func object(_ table: RowTable, key: Value) throws -> UInt64? {
        try withPublicErrors { try found(table, key)?.number }
    }

    /// The writer of a table's rows.
    private func rows(of table: RowTable) -> RowWriter { RowWriter(table, writer) }

    private func found(_ table: RowTable, _ key: Value) throws -> RecordKey? { try rows(of: table).object(key: key) }

    /// Inserts a complete row, or updates the object that has its key. O(log n).
    package func insert(_ row: KeyedRow, _ table: RowTable) throws {
        try withPublicErrors {
            let stored = try found(table, row.key)
            try write(row, as: stored, table)
            if stored == nil { hasArrived(row.key, table) }
        }
    }

    /// Updates the object that has a row's old key, which may be the new key. Returns false for a partial row that
    /// isn't written, because no object has its old key, or because it changes its key while `isCatchingUp`: the object
    /// with the old key may then belong to a later row. O(log n).
    package func update(
        _ row: KeyedRow, oldKey: Value, isCatchingUp: Bool, _ table: RowTable
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
            if object == nil && row.isPartial { return false }
            if let object, oldKey != row.key { try releaseHolders(of: object, table) }
            try write(row, as: object, table)
            if object == nil || oldKey != row.key { hasArrived(row.key, table) }
            return true
        }
    }

    private func write(_ row: KeyedRow, as stored: RecordKey?, _ table: RowTable) throws {
        let (outcome, hasMissing) = try rows(of: table).write(row, as: stored)
        if hasMissing { unlinked.append(outcome.object) }
        counts.add(outcome)
    }

    /// Deletes the row that has a key, if any. O(log n).
    package func delete(key: Value, _ table: RowTable) throws {
        try withPublicErrors { if let object = try found(table, key) { try delete(object, table) } }
    }

    /// Deletes the objects whose numbers fulfil a condition. O(n), and O(log n) for each deleted object.
    package func deleteAll(of table: RowTable, where isMember: (UInt64) -> Bool) throws {
        try withPublicErrors {
            var objects: [RecordKey] = []
            try writer.scan(table.entityNumber) { object, _ in
                if isMember(object.number) { objects.append(object) }
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

    /// Lets `linkLater` link the objects that waited for a row.
    private func hasArrived(_ key: Value, _ table: RowTable) {
        unlinked += waiting.take(for: WaitingRows.Name(entity: table.entityNumber, key: key))
    }

    /// Lets `linkLater` link the objects that refer to an object again, or let them wait: another row may take its key.
    /// O(k log n) for k of these.
    private func releaseHolders(of object: RecordKey, _ table: RowTable) throws {
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
    package func linkLater(_ table: (_ entity: Int) throws -> RowTable?) throws {
        let objects = unlinked
        unlinked = []
        for object in objects {
            guard let table = try table(object.entity) else { continue }
            try withPublicErrors { try link(object, table) }
        }
    }

    private func link(_ object: RecordKey, _ table: RowTable) throws {
        guard let old = try writer.copy(of: object) else { return }
        let (record, missing) = try rows(of: table).linked(old)
        for name in missing { waiting.add(object, for: name) }
        try writer.update(object, record.span.bytes)
    }

    /// Links all objects that have a foreign key but no reference for it; if the named object is missing, they wait.
    /// O(n).
    package func linkAll(_ table: RowTable) throws {
        try withPublicErrors {
            var objects: [RecordKey] = []
            let rows = rows(of: table)
            try writer.scan(table.entityNumber) { object, record in
                if try rows.isUnlinked(record) { objects.append(object) }
                return true
            }
            for object in objects { try link(object, table) }
        }
    }

    // MARK: Many rows

    /// Writes many rows; stored objects keep their values in the slots `kept`. References to objects of tables that are
    /// copied later are left to `linkAll`. `done` gets the number of each row's object. O(k log n) for k rows.
    package func put(
        _ rows: RowBatch, keeping kept: Set<Int>, _ table: RowTable, done: (UInt64) -> Void
    ) throws {
        let kept = kept.subtracting(table.referenceSlots)
        let rule =
            table.key.map { WriteRule.update(table.entity, by: $0, keeping: kept.isEmpty ? nil : kept) } ?? .insert
        try withPublicErrors {
            if table.columns.isEmpty { return try put(rows.records, table, rule, done) }
            try put(self.rows(of: table).linked(rows.records), table, rule, done)
        }
    }

    private func put(
        _ batch: borrowing RecordBatch, _ table: RowTable, _ rule: WriteRule, _ done: (UInt64) -> Void
    ) throws {
        try writer.write(table.entityNumber, batch, rule) { _, outcome in
            counts.add(outcome)
            done(outcome.object.number)
        }
    }
}

extension RowBatch {
    /// Sorts the rows' keys, if any, so that the writer need not. Call it after the last row, on any thread.
    package mutating func sortKeys(of table: RowTable) throws {
        guard let key = table.key else { return }
        try withPublicErrors { try records.sortKeys(table.entityNumber, table.entity, key) }
    }
}
