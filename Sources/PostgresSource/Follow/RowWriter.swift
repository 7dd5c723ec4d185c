internal import FetchIndexPlatform
internal import FetchIndexModels
internal import FetchIndexOrderCaches
internal import FetchIndexRecords
internal import FetchIndexValues

/// How many rows were changed.
package struct RowCounts: Equatable, Sendable {
    package var inserted = 0
    package var updated = 0
    package var unchanged = 0
    package var deleted = 0

    package var changed: Int { inserted + updated + deleted }

    func since(_ before: RowCounts) -> RowCounts {
        RowCounts(
            inserted: inserted - before.inserted, updated: updated - before.updated,
            unchanged: unchanged - before.unchanged, deleted: deleted - before.deleted)
    }

    mutating func add(_ other: RowCounts) {
        inserted += other.inserted
        updated += other.updated
        unchanged += other.unchanged
        deleted += other.deleted
    }
}

/// Writes rows of a source into a store, in one transaction. Every row is found by its key, so that rows may come twice.
final class RowWriter {
    let writer: StoreWriter
    private(set) var counts = RowCounts()
    /// Keys of rows of which values were not sent, and that the store does not have: these must be read again.
    private var incomplete: [(table: UInt32, key: Value)] = []

    /// Objects that name others which were not there when they were written, or are gone.
    private var unlinked: [RecordKey] = []
    private let waiting: WaitingRows

    /// Whether rows may be of a later time than the changes that are written.
    var isCatchingUp: Bool

    init(_ writer: StoreWriter, isCatchingUp: Bool = false, waiting: WaitingRows = WaitingRows()) {
        (self.writer, self.isCatchingUp, self.waiting) = (writer, isCatchingUp, waiting)
    }

    func object(_ reader: borrowing RowReader, _ key: Value) throws -> RecordKey? {
        let object = try writer.object(reader.entityNumber, reader.constraint, equalTo: [key])
        return object.flatMap { $0.entity == reader.entityNumber ? $0 : nil }
    }

    func takeIncomplete() -> [(table: UInt32, key: Value)] {
        defer { incomplete = [] }
        return incomplete
    }

    func note(_ outcome: WriteOutcome) {
        switch outcome {
        case .inserted: counts.inserted += 1
        case .updated: counts.updated += 1
        case .unchanged: counts.unchanged += 1
        }
    }

    /// Inserts a row, or changes the one that has its key. O(log n).
    func insert(
        _ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, of table: UInt32, _ reader: inout RowReader
    ) throws {
        let key = try reader.key(row, bytes)
        // A row that enters a condition by a change of its key.
        if row.contains(.unchanged) { return incomplete.append((table, key)) }
        let record = try reader.record(row, bytes)
        if let object = try object(reader, key) { return try update(object, record, row, reader) }
        try insert(key, record, reader)
    }

    private func insert(_ key: Value, _ record: [UInt8], _ reader: borrowing RowReader) throws {
        let (record, missing) = try linked(record, reader)
        let object = try writer.insert(reader.entityNumber, record.span.bytes)
        if !missing.isEmpty { unlinked.append(object) }
        counts.inserted += 1
        hasArrived(key, reader)
    }

    /// What waited for a row is linked to it at the transaction's end.
    private func hasArrived(_ key: Value, _ reader: borrowing RowReader) {
        unlinked += waiting.take(for: WaitingRows.Name(entity: reader.entityNumber, key: key))
    }

    private func update(
        _ object: RecordKey, _ record: [UInt8], _ row: [StreamedValue], _ reader: borrowing RowReader
    ) throws {
        let kept = reader.keptSlots(row)
        var record = record
        if !kept.isEmpty, let old = try writer.copy(of: object) {
            record = try reader.entity.record(from: record.span.bytes, keeping: kept, of: old.span.bytes)
        }
        let (linked, missing) = try linked(record, reader)
        if !missing.isEmpty { unlinked.append(object) }
        note(try writer.update(object, linked.span.bytes) ? .updated(object) : .unchanged(object))
    }

    /// A record that refers to the objects that its foreign keys name, and those of them that are not there.
    private func linked(
        _ record: [UInt8], _ reader: borrowing RowReader
    ) throws -> ([UInt8], missing: [WaitingRows.Name]) {
        if reader.foreignKeys.isEmpty { return (record, []) }
        var values: [Int: Value] = [:]
        var missing: [WaitingRows.Name] = []
        for key in reader.foreignKeys {
            let value = try key.value(in: record.span.bytes, of: reader.entity)
            var object: RecordKey?
            if !value.isNull {
                object = try writer.object(key.destination, key.constraint, equalTo: [value])
                if object == nil { missing.append(WaitingRows.Name(entity: key.destination, key: value)) }
            }
            values[key.reference] = object.map { .integer(Int64(bitPattern: $0.rawValue)) } ?? .null
        }
        return (try reader.entity.record(record.span.bytes, setting: values), missing)
    }

    /// Links the objects that named others which were not there yet: rows of a transaction may refer to later ones. The others wait.
    /// `reader` gets an entity's number.
    func linkLater(_ reader: (Int) throws -> RowReader?) throws {
        let objects = unlinked
        unlinked = []
        for object in objects { if let reader = try reader(object.entity) { try link(object, reader) } }
    }

    private func link(_ object: RecordKey, _ reader: borrowing RowReader) throws {
        guard let old = try writer.copy(of: object) else { return }
        let (record, missing) = try linked(old, reader)
        for name in missing { waiting.add(object, for: name) }
        try writer.update(object, record.span.bytes)
    }

    /// Links all objects whose foreign keys name objects that they do not refer to; the others wait. O(n).
    func linkAll(_ reader: borrowing RowReader) throws {
        var objects: [RecordKey] = []
        let (entity, keys) = (reader.entity, reader.foreignKeys)
        try writer.scan(reader.entityNumber) { object, record in
            for key in keys where try !key.value(in: record, of: entity).isNull {
                if try RecordView(record, of: entity).integer(at: key.reference) == nil {
                    objects.append(object)
                    break
                }
            }
            return true
        }
        for object in objects { try link(object, reader) }
    }

    /// Changes a row; `old` has the key that it had, where that is sent. O(log n).
    func update(
        _ old: [StreamedValue]?, _ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, of table: UInt32,
        _ reader: inout RowReader
    ) throws {
        let key = try reader.key(row, bytes)
        let oldKey = try old.map { try reader.key($0, bytes) } ?? key
        var found = try object(reader, oldKey)
        // Zeros of two signs are one key.
        if oldKey != key, let holder = try object(reader, key), holder != found {
            // Only while what was copied is newer than what is streamed: in a state of the source, no row had the key.
            if let found { try delete(found, reader) }
            found = holder
        }
        if isCatchingUp, oldKey != key, row.contains(.unchanged) {
            // What has the old key may be a later row, whose values are not this one's.
            if let found { try delete(found, reader) }
            return incomplete.append((table, key))
        }
        let record = try reader.record(row, bytes)
        if let found {
            if oldKey != key { try releaseHolders(of: found, reader) }
            try update(found, record, row, reader)
            if oldKey != key { hasArrived(key, reader) }
            return
        }
        if row.contains(.unchanged) { return incomplete.append((table, key)) }
        try insert(key, record, reader)
    }

    func delete(_ row: [StreamedValue], _ bytes: UnsafeRawBufferPointer, _ reader: borrowing RowReader) throws {
        try delete(key: reader.key(row, bytes), reader)
    }

    func delete(key: Value, _ reader: borrowing RowReader) throws {
        if let object = try object(reader, key) { try delete(object, reader) }
    }

    private func delete(_ object: RecordKey, _ reader: borrowing RowReader) throws {
        try releaseHolders(of: object, reader)
        if try writer.delete(object) { counts.deleted += 1 }
    }

    /// What refers to an object by its key is linked anew at the transaction's end, or waits: another row may take the key.
    /// O(k log n) for k of these.
    private func releaseHolders(of object: RecordKey, _ reader: borrowing RowReader) throws {
        for links in reader.entity.links?.incoming ?? [] {
            try writer.forEachLink(links.name, to: object) { holder, _ in
                unlinked.append(holder)
                return true
            }
        }
    }

    /// Deletes all rows. O(n log n).
    func truncate(_ reader: borrowing RowReader) throws { try deleteAll(of: reader) { _ in true } }

    /// Deletes the rows whose objects' numbers a condition holds for.
    func deleteAll(of reader: borrowing RowReader, where isMember: (UInt64) -> Bool) throws {
        var objects: [RecordKey] = []
        try writer.scan(reader.entityNumber) { object, _ in
            if isMember(object.number) { objects.append(object) }
            return true
        }
        for object in objects { try delete(object, reader) }
    }

    /// Writes many copied rows. `done` gets the number of each row's object.
    func put(_ batch: borrowing RecordBatch, _ reader: borrowing RowReader, done: (UInt64) -> Void) throws {
        let kept = reader.keptSlots([]).subtracting(reader.foreignKeys.map(\.reference))
        let entity = reader.entity
        let merge: RecordMerge? =
            kept.isEmpty ? nil : { old, new, _ in try entity.record(from: new, keeping: kept, of: old) }
        if !reader.foreignKeys.isEmpty { return try put(linked(batch, reader), entity, merge, reader, done) }
        try put(batch, entity, merge, reader, done)
    }

    /// Objects of tables that are copied later are linked at the end of all copies.
    private func linked(_ batch: borrowing RecordBatch, _ reader: borrowing RowReader) throws -> RecordBatch {
        var result = RecordBatch()
        for index in 0..<batch.count {
            let record = try linked(batch.copy(at: index), reader).0
            result.append(record.span.bytes)
        }
        return result
    }

    private func put(
        _ batch: borrowing RecordBatch, _ entity: Entity, _ merge: RecordMerge?,
        _ reader: borrowing RowReader, _ done: (UInt64) -> Void
    ) throws {
        try writer.write(reader.entityNumber, batch, .update(by: [reader.constraint], merge: merge)) { _, outcome in
            note(outcome)
            done(outcome.object.number)
        }
    }
}
