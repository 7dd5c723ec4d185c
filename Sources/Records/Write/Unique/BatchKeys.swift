internal import FetchIndexPlatform
internal import FetchIndexLMDB
internal import FetchIndexModels

/// For each record of a batch, the object that its unique key leads to.
struct BatchKeys {
    enum Row {
        /// No stored object has the record's unique value, a value is null, or no constraint was given.
        case new
        /// An earlier record of the batch has the same unique value.
        case same(as: Int)
        case stored(RecordKey)
        case tooLong
        case inserted(RecordKey)
        /// The stored object has the record's bytes already, and no other record of the batch changes it.
        case unchanged(RecordKey)

        var object: RecordKey? {
            switch self {
            case .stored(let object), .inserted(let object), .unchanged(let object): object
            case .new, .same, .tooLong: nil
            }
        }

        var isUnchanged: Bool { if case .unchanged = self { true } else { false } }
    }

    private(set) var rows: [Row]
    private var hasInserted = false
    private let keys: RecordBatch.UniqueKeys?

    /// Looks up the unique keys in ascending order, except those of records that `unchanged` has found.
    init(
        _ batch: borrowing RecordBatch, _ entity: Int, _ constraint: UniqueConstraint?, _ unchanged: UnchangedRows?,
        in writer: StoreWriter
    ) throws {
        var rows = [Row](repeating: .new, count: batch.count)
        if let unchanged, unchanged.count > 0 {
            for (row, number) in unchanged.numbers.enumerated() {
                if let number { rows[row] = .unchanged(RecordKey(entity: entity, number: number)) }
            }
        }
        if let constraint {
            let prepared = batch.keys?.constraint == constraint ? batch.keys : nil
            let keys =
                try prepared
                ?? RecordBatch.UniqueKeys(of: batch, entity, writer.model.entities[entity], constraint) {
                    !rows[$0].isUnchanged
                }
            for row in keys.tooLong { rows[row] = .tooLong }
            try Self.find(keys, &rows, in: writer)
            if let unchanged, unchanged.count > 0 { Self.giveUpChanged(&rows) }
            self.keys = keys
        } else {
            keys = nil
        }
        self.rows = rows
    }

    /// Treats an unchanged record as stored if another record, which may differ from the stored one, has the same
    /// unique key. So each of these records is compared when it's written.
    private static func giveUpChanged(_ rows: inout [Row]) {
        var found: Set<RecordKey> = []
        for case .stored(let object) in rows { found.insert(object) }
        if found.isEmpty { return }
        for (row, place) in rows.enumerated() {
            if case .unchanged(let object) = place, found.contains(object) { rows[row] = .stored(object) }
        }
    }

    /// Looks up the keys in ascending order.
    private static func find(_ keys: RecordBatch.UniqueKeys, _ rows: inout [Row], in writer: StoreWriter) throws {
        var last: [UInt8] = []
        var first = -1
        try writer.view.withCursor(on: writer.tables.unique) { cursor in
            var (isAtKey, hasMore) = (false, true)
            try keys.forEach { key, row in
                if rows[row].isUnchanged { return }
                if first >= 0 && key.isEqual(to: last.span.bytes) {
                    rows[row] = .same(as: first)
                    return
                }
                first = row
                last.removeAll(keepingCapacity: true)
                last.appendBytes(key)
                // The cursor is at the first stored key that isn't less than an earlier key of the batch, so it needn't
                // seek if that stored key isn't less than this key either.
                if hasMore, !isAtKey || cursor.key.compare(key) < 0 { hasMore = try cursor.seek(toKeyFrom: key) }
                isAtKey = true
                if hasMore && cursor.key.isEqual(to: key) {
                    rows[row] = .stored(try writer.object(unique: last, value: cursor.value))
                }
            }
        }
    }

    mutating func note(_ object: RecordKey, insertedFor row: Int) {
        rows[row] = .inserted(object)
        hasInserted = true
    }

    /// Notes the object of a later record of the batch, which was inserted because the first record with the same
    /// unique value was refused.
    mutating func note(_ object: RecordKey, insteadOf first: Int) { rows[first] = .stored(object) }

    /// Writes the unique keys of the inserted records, in ascending order. Keys are appended as long as they can be.
    func write(in writer: StoreWriter) throws {
        guard hasInserted else { return }
        try writer.view.withCursor(on: writer.tables.unique) { cursor in
            try keys?.forEach { key, row in
                guard case .inserted(let object) = rows[row] else { return }
                try StoreWriter.withUniqueValue(of: object, under: key) { value in
                    if try !writer.appendUniqueKey(key, value) { try cursor.put(value, for: key) }
                }
            }
        }
    }
}
