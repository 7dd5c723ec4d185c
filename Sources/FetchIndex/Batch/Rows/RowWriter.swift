internal import FetchIndexModels
internal import FetchIndexRecords
internal import FetchIndexValues

/// Writes rows of a table into an open transaction. A row becomes the record of an object, with references and links to
/// the objects that it names:
///
/// - A row of a file names related objects beside its record, by values or numbers. If a related object is missing, the
///   row is refused, the object is inserted, or the link is made after the object's row has arrived.
/// - A row of a source names related objects by foreign keys in its record. If a related object is missing, the row's
///   object waits for it.
///
/// The callers count the outcomes, keep the links that wait, and end the transaction: `ImportTransaction` for files,
/// and `KeyedRowWriter` for sources.
struct RowWriter {
    let table: RowTable
    let transaction: StoreWriter
    /// What rows of a file say about relationships that are their own inverses; nil for rows of a source.
    let mutual: MutualRows?

    var entity: Entity { table.entity }

    init(_ table: RowTable, _ transaction: StoreWriter, _ mutual: MutualRows? = nil) {
        (self.table, self.transaction, self.mutual) = (table, transaction, mutual)
    }

    // MARK: One row

    /// Finds the object that has a key; nil if no object of the table's entity has it. O(log n).
    func object(key: [Value]) throws -> RecordKey? {
        try table.key.flatMap { own(try transaction.object(table.entityNumber, $0, equalTo: key)) }
    }

    /// Returns an object that was found by its key; nil if it's of another entity of the hierarchy.
    func own(_ object: RecordKey?) -> RecordKey? {
        object.flatMap { $0.entity == table.entityNumber ? $0 : nil }
    }

    /// Inserts a row with foreign keys, or updates the object `stored` with it. Returns the outcome, and whether
    /// objects that the foreign keys name are missing. O(log n).
    func write(_ row: KeyedRow, as stored: RecordKey?) throws -> (outcome: WriteOutcome, hasMissing: Bool) {
        guard let stored else {
            let (record, missing) = try linked(row.record)
            return (.inserted(try transaction.insert(table.entityNumber, record.span.bytes)), !missing.isEmpty)
        }
        var record = row.record
        if !row.kept.isEmpty, let old = try transaction.copy(of: stored) {
            record = try entity.record(from: record.span.bytes, keeping: row.kept, of: old.span.bytes)
        }
        let (changed, missing) = try linked(record)
        return (try update(stored, changed), !missing.isEmpty)
    }

    func update(_ object: RecordKey, _ record: [UInt8]) throws -> WriteOutcome {
        try transaction.update(object, record.span.bytes) ? .updated(object) : .unchanged(object)
    }

    // MARK: References by values

    /// Sets a record's references to the objects that its foreign keys, or the row's other columns, name by values.
    /// Returns the record, and the names of the missing objects that foreign keys name. For the other columns,
    /// `RelatedColumn.object(named:for:in:)` finds or inserts the objects, or throws. O(log n) for each named object;
    /// usually O(1) if one of the other columns named the object in an earlier row of the transaction.
    func linked(
        _ record: [UInt8], naming related: [RelatedObject] = []
    ) throws -> (record: [UInt8], missing: [WaitingRows.Name]) {
        let entity = entity
        var values: [Int: Value] = [:]
        var missing: [WaitingRows.Name] = []
        for (place, column) in table.columns.enumerated() {
            if column.isForeignKey {
                let key = try column.foreignKey(in: record.span.bytes, of: entity)
                let object = try key.flatMap { try column.stored($0, in: transaction) }
                if object == nil, let key, let slots = column.key?.constraint.slots {
                    missing.append(WaitingRows.Name(entity: column.destination, slots: slots, values: key))
                }
                values[column.reference.slot] = object?.reference ?? .null
            } else if case .named(let value) = related[place] {
                values[column.reference.slot] = try column.object(named: value, for: entity, in: transaction)?.reference
            }
        }
        return (values.isEmpty ? record : try entity.record(record.span.bytes, setting: values), missing)
    }

    /// Whether a record has a foreign key that isn't null, but no reference to the object that it names.
    func isUnlinked(_ record: RawSpan) throws -> Bool {
        let entity = entity
        for column in table.columns {
            guard column.isForeignKey, try column.foreignKey(in: record, of: entity) != nil else { continue }
            if try RecordView(record, of: entity).integer(at: column.reference.slot) == nil { return true }
        }
        return false
    }

    // MARK: Many rows

    /// Returns the rows of a batch with references to the objects that their foreign keys name, if these exist.
    func linked(_ batch: borrowing RecordBatch) throws -> RecordBatch {
        var result = RecordBatch()
        for index in 0..<batch.count {
            let record = try linked(batch.copy(at: index)).record
            result.append(record.span.bytes)
        }
        return result
    }
}

extension WriteRule {
    /// The rule by which records update the objects that have their keys. Stored objects keep their values in the slots
    /// `kept`, and in the slots that a record leaves out. If `kept` is nil, no record leaves out a slot, and stored
    /// objects keep only the references that a record lacks.
    static func update(_ entity: Entity, by key: UniqueConstraint, keeping kept: Set<Int>?) -> WriteRule {
        guard let kept else { return .update(by: [key]) }
        return .update(by: [key]) { old, new, own in
            try entity.record(
                from: new, keeping: own.map { kept.isEmpty ? $0.slots : $0.slots.union(kept) } ?? kept, of: old)
        }
    }
}
