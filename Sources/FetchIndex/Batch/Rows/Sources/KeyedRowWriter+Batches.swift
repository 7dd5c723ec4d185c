internal import FetchIndexModels
internal import FetchIndexPlatform
internal import FetchIndexRecords
internal import FetchIndexValues

// Batches of rows, and unique values besides the key.
extension KeyedRowWriter {
    // MARK: Other keys

    /// Prepares the write of a row that gets other values of the table's other keys: hands the objects that refer to its
    /// stored object to `linkLater`, and takes the values from objects that have them, whose rows change or are deleted
    /// later, because the source's values are unique. Returns the names that the row gets.
    func takeOtherKeys(
        of row: KeyedRow, as stored: RecordKey?, _ table: RowTable
    ) throws -> [WaitingRows.Name] {
        if table.otherKeys.isEmpty { return [] }
        let old = try stored.flatMap { try writer.copy(of: $0) }
        var names: [WaitingRows.Name] = []
        for key in table.otherKeys where row.kept.isDisjoint(with: key.slots) {
            let values = try Self.values(of: key, row.record.span.bytes, table.entity)
            if let old, try Self.values(of: key, old.span.bytes, table.entity) == values { continue }
            if let stored { try releaseHolders(of: stored, table) }
            guard let values else { continue }
            if let holder = try holder(of: key, row, table), holder != stored { try release(key, of: holder, table) }
            names.append(WaitingRows.Name(entity: table.entityNumber, slots: key.slots, values: values))
        }
        return names
    }

    private func holder(of key: UniqueConstraint, _ row: KeyedRow, _ table: RowTable) throws -> RecordKey? {
        do { return try writer.object(table.entityNumber, key, inRecord: row.record.span.bytes) } catch let error
            as StoreError where error.isOfValues
        { throw RefusedRow.tooLong(attribute: table.entity.name(of: key)) }
    }

    /// Makes an object's values of a constraint null, except those that are in the table's key.
    private func release(_ key: UniqueConstraint, of object: RecordKey, _ table: RowTable) throws {
        guard let old = try writer.copy(of: object) else { return }
        try releaseHolders(of: object, table)
        let slots = Set(key.slots).subtracting(table.keySlots)
        let record = try table.entity.record(
            old.span.bytes, setting: Dictionary(uniqueKeysWithValues: slots.map { ($0, Value.null) }))
        try writer.update(object, record.span.bytes)
    }

    /// A record's values of a constraint; nil if one of them is null.
    private static func values(of key: UniqueConstraint, _ record: RawSpan, _ entity: Entity) throws -> [Value]? {
        let view = try RecordView(record, of: entity)
        let values = try key.slots.map { try view.value(at: $0, as: entity.type(at: $0)) }
        return values.contains(where: \.isNull) ? nil : values
    }

    // MARK: Many rows

    /// Writes a batch of rows. Stored objects keep their values in the slots `kept`. References to objects that are
    /// missing, for example because their table is copied later, are left to `linkAll`. `done` gets the number of each
    /// row's object, and `refused` the index of each row that can't be written. O(k log n) for k rows.
    package func put(
        _ rows: RowBatch, keeping kept: Set<Int>, _ table: RowTable, refused: (Int, RefusedRow) -> Void = { _, _ in },
        done: (UInt64) -> Void
    ) throws {
        try withPublicErrors {
            if table.columns.isEmpty { return try put(rows.records, kept, table, refused, done) }
            try put(self.rows(of: table).linked(rows.records), kept, table, refused, done)
        }
    }

    private func put(
        _ batch: borrowing RecordBatch, _ kept: Set<Int>, _ table: RowTable, _ refused: (Int, RefusedRow) -> Void,
        _ done: (UInt64) -> Void
    ) throws {
        let notLinked = kept.subtracting(table.referenceSlots)
        let rule =
            table.key.map { WriteRule.update(table.entity, by: $0, keeping: notLinked.isEmpty ? nil : notLinked) }
            ?? .insert
        guard let key = table.key, !table.otherKeys.isEmpty || !(table.part?.isInKey ?? true) else {
            try writer.write(table.entityNumber, batch, rule) { take($1, done) }
            return
        }
        // An object keeps its record for now if it isn't the table's, or if the row has other values of other keys.
        let entity = table.entity
        var isPutOff = false
        let careful = WriteRule.update(by: [key]) { old, new, own in
            let record = try entity.record(
                from: new, keeping: own.map { $0.slots.union(notLinked) } ?? notLinked, of: old)
            isPutOff =
                try !(table.part?.contains(old, of: entity) ?? true)
                || table.otherKeys.contains {
                    try Self.values(of: $0, old, entity) != Self.values(of: $0, record.span.bytes, entity)
                }
            return isPutOff ? [UInt8](copying: old) : record
        }
        var later: [Int] = []
        try writer.write(
            table.entityNumber, batch, careful,
            refused: { index, error in
                if table.otherKeys.isEmpty { throw error }
                later.append(index)
            },
            done: { index, outcome in
                if isPutOff { later.append(index) } else { take(outcome, done) }
                isPutOff = false
            })
        for index in later {
            let record = batch.copy(at: index)
            guard let values = try Self.values(of: key, record.span.bytes, entity) else { continue }
            let row = KeyedRow(key: values, record: record, keeping: kept, isPartial: false)
            do {
                try insert(row, table)
                if let number = try found(table, values)?.number { done(number) }
            } catch let error as RefusedRow { refused(index, error) }
        }
    }

    private func take(_ outcome: WriteOutcome, _ done: (UInt64) -> Void) {
        counts.add(outcome)
        done(outcome.object.number)
    }
}
