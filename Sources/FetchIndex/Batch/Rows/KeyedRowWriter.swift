package import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords
package import FetchIndexValues

/// Writes rows of keyed tables in one transaction. Every row is found by its key, so that rows may come twice, and objects are related by
/// the keys that their rows have of others.
///
/// For sources that name rows by keys and send changes of several tables in one transaction. Users write with ``BatchWriter``.
package final class KeyedRowWriter {
    private let container: PersistentContainer
    private let writer: StoreWriter
    package private(set) var counts = BatchWriter.Counts()
    /// Objects that name others which were not there when they were written, or are gone.
    private var unlinked: [RecordKey] = []
    private let waiting: WaitingRows

    /// Waits for other writers. Throws `StoreError`.
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

    /// Commits the transaction, and brings some caches and all that every writer keeps up to date with it. O(k log n) for k changes. Throws
    /// `StoreError`.
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

    /// What is stored beside the records changes with them.
    func setBeside(_ change: (StoreWriter) throws -> Void) throws { try withPublicErrors { try change(writer) } }

    // MARK: One row

    /// The number of the object that has a key; nil when no object has it. O(log n).
    package func object(_ table: KeyedTable, key: Value) throws -> UInt64? {
        try withPublicErrors { try found(table, key)?.number }
    }

    private func found(_ table: KeyedTable, _ key: Value) throws -> RecordKey? {
        let object = try writer.object(table.entityNumber, table.constraint, equalTo: [key])
        // An object of another entity of the hierarchy may have the key.
        return object.flatMap { $0.entity == table.entityNumber ? $0 : nil }
    }

    /// Inserts a row, which is whole, or changes the one that has its key. O(log n).
    package func insert(_ row: KeyedRow, _ table: KeyedTable) throws {
        try withPublicErrors {
            if let object = try found(table, row.key) { return try update(object, row, table) }
            try add(row, table)
        }
    }

    /// Changes a row that had another key, or the same. False for a partial row that no object has the old key of; `isCatchingUp` says that
    /// an object with the old key may be of a later row, so that a partial row which changes its key is not written either. O(log n).
    package func update(
        _ row: KeyedRow, oldKey: Value, isCatchingUp: Bool, _ table: KeyedTable
    ) throws -> Bool {
        try withPublicErrors {
            var object = try found(table, oldKey)
            // Zeros of two signs are one key.
            if oldKey != row.key, let holder = try found(table, row.key), holder != object {
                // Only while what was copied is newer than what is streamed: in a state of the source, no row had the key.
                if let object { try delete(object, table) }
                object = holder
            }
            if isCatchingUp, oldKey != row.key, row.isPartial {
                // What has the old key may be a later row, whose values are not this one's.
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

    /// Deletes the rows whose objects' numbers a condition holds for. O(n), and O(log n) for each of them.
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

    /// What waited for a row is linked to it at the commit's end.
    private func hasArrived(_ key: Value, _ table: KeyedTable) {
        unlinked += waiting.take(for: WaitingRows.Name(entity: table.entityNumber, key: key))
    }

    /// What refers to an object by its key is linked anew at the commit's end, or waits: another row may take the key.
    /// O(k log n) for k of these.
    private func releaseHolders(of object: RecordKey, _ table: KeyedTable) throws {
        for links in table.entity.links?.incoming ?? [] {
            try writer.forEachLink(links.name, to: object) { holder, _ in
                unlinked.append(holder)
                return true
            }
        }
    }

    /// Links the objects that named others which were not there yet: rows of a commit may refer to later ones. The others wait. `table`
    /// gets an entity's number, and returns nil for one whose objects are not to be linked. O(log n) for each.
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

    /// Links all objects whose foreign keys name objects that they do not refer to; the others wait. O(n).
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

    /// Writes many rows, whose stored objects keep the values of some slots. Objects of tables that come later are linked by `linkAll`.
    /// `done` gets the number of each row's object. O(k log n) for k rows.
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
    /// Sorts the rows' keys, which the writer would do otherwise: on any thread, after the last row.
    package mutating func sortKeys(of table: KeyedTable) throws {
        try withPublicErrors { try records.sortKeys(table.entityNumber, table.entity, table.constraint) }
    }
}
